// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>

#include "user.h"

namespace chime::test {
namespace {
const char* wanted = nullptr;
}

Handle<ibv_context> open_device() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  Handle<ibv_context> context;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(ibv_get_device_name(list[i]), wanted) != 0) continue;
    mlx5dv_context_attr attributes{};
    attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
    context.reset(mlx5dv_open_device(list[i], &attributes));
  }
  if (list) ibv_free_device_list(list);
  EXPECT_TRUE(context) << wanted << " does not open: errno " << errno;
  return context;
}

}  // namespace chime::test

/// Usage: test-devx [GoogleTest's options] DEVICE
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DEVICE, such as mlx5_0; it and its netdev are up, its wire is a loop\n",
                 argv[0]);
    return 2;
  }
  chime::test::wanted = argv[1];
  return RUN_ALL_TESTS();
}
