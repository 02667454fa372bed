// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "../owners.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// What a process does through rdma-core's DevX calls, and no code of Chime's but the layouts.

namespace chime::test {

/// A command and its answer.
template <class C>
struct Command {
  prm::Box<typename C::in> in;
  prm::Box<typename C::out> out;

  /// "" or what went wrong.
  std::string general(ibv_context* context) {
    return result(mlx5dv_devx_general_cmd(context, in.bytes().data(), in.bytes().size(), out.bytes().data(),
                                          out.bytes().size()));
  }
  std::string query(mlx5dv_devx_obj* object) {
    return result(mlx5dv_devx_obj_query(object, in.bytes().data(), in.bytes().size(), out.bytes().data(),
                                        out.bytes().size()));
  }
  std::string modify(mlx5dv_devx_obj* object) {
    return result(mlx5dv_devx_obj_modify(object, in.bytes().data(), in.bytes().size(), out.bytes().data(),
                                         out.bytes().size()));
  }
  /// An object, or none and a test failure.
  Handle<mlx5dv_devx_obj> create(ibv_context* context) {
    Handle<mlx5dv_devx_obj> object(mlx5dv_devx_obj_create(context, in.bytes().data(), in.bytes().size(),
                                                          out.bytes().data(), out.bytes().size()));
    EXPECT_TRUE(object) << C::in::name << result(errno);
    return object;
  }

 private:
  std::string result(int error) const {
    if (error == 0) return "";
    const prm::ConstView<prm::nop_out> answer(out.bytes());
    char text[120];
    std::snprintf(text, sizeof text, ": errno %d, status %#x, syndrome %#x", error,
                  static_cast<unsigned>(answer.get(prm::nop_out::status)),
                  static_cast<unsigned>(answer.get(prm::nop_out::syndrome)));
    return text;
  }
};

/// The RDMA device that the program's first argument names, opened with DevX.
Handle<ibv_context> open_device();

}  // namespace chime::test
