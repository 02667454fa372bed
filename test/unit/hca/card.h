// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "hca/device.h"
#include "hca/model/testing.h"
#include "hca/runtime.h"

namespace chime::test {

/// What a Result says, for EXPECT_TRUE(x) << why(x).
template <class T>
std::string why(const Result<T>& result) {
  return result ? "no error" : result.error().text;
}

/// Number of live objects by kind; kinds without any are left out.
using Objects = std::map<std::string, std::uint32_t>;
Objects objects(hca::Device& device);

/// One looped software HCA that the test steps.
class CardTest : public ::testing::Test {
 protected:
  void SetUp() override;
  /// Wants all that the test made to be gone.
  void TearDown() override;

  /// Steps until there is nothing to do.
  void settle();

  Owned<hca::Runtime> runtime;
  Owned<hca::Device> device;
  Objects objects_at_start;
};

}  // namespace chime::test
