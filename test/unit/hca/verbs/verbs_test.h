// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "fake_rdma_core.h"
#include "hca/verbs/handles.h"
#include "hca/verbs/rdma_core.h"

/// @file
/// An open context of the fake rdma-core. Every test ends with nothing alive.

namespace chime::test {

class VerbsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rdma.add_device("mlx5_0", "/nowhere");
    mlx5dv_context_attr attributes{};
    context.reset(mlx5dv_open_device(rdma.devices[0], &attributes));
    ASSERT_TRUE(context);
  }
  void TearDown() override {
    context.reset();
    EXPECT_EQ(rdma.alive(), 0);
  }

  template <class R>
  static ::testing::AssertionResult says(const R& result, int errnum, const char* words) {
    if (result) return ::testing::AssertionFailure() << "it succeeded";
    const Error& error = result.error();
    if (error.errnum == errnum && std::strstr(error.text, words)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "errno " << error.errnum << ": " << error.text;
  }

  FakeRdmaCore rdma;
  hca::verbs::Context context;
};

}  // namespace chime::test
