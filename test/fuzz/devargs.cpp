// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

/// Device arguments: any text is taken or refused in words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chime;
  const Result<net::DevArgs> args = net::DevArgs::parse({reinterpret_cast<const char*>(data), size});
  if (!args) {
    if (args.error().text[0] == '\0' || args.error().errnum != EINVAL) std::abort();
    return 0;
  }
  const hca::OpenOptions options = args->options("net_chime0", 0);
  if (options.loss_ppm > 1'000'000 || options.corrupt_ppm > 1'000'000) std::abort();
  return 0;
}
