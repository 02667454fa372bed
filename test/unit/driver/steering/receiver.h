// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../../support/failing_allocation.h"
#include "base/array.h"
#include "failing_device.h"
#include "hca/device.h"
#include "hca/queues.h"
#include "hca/receive_path.h"
#include "hca/runtime.h"

/// @file
/// A looped software HCA, stepped by the test, with a send queue and several receive queues and no steering:
/// that is what is tested.

namespace chime::test {

/// What a Result says, for EXPECT_TRUE(x) << why(x).
template <class T>
std::string why(const Result<T>& result) {
  return result ? "no error" : result.error().text;
}

using Frame = std::vector<std::uint8_t>;

/// Where a frame arrived.
struct Arrival {
  unsigned queue;
  std::uint32_t flow_tag;
  std::uint32_t hash;
  std::uint8_t hash_type;
};

/// Live objects of the card by kind.
using Objects = std::map<std::string, std::uint32_t>;

class Receiver : public ::testing::Test {
 protected:
  static constexpr unsigned queues = 8;
  static constexpr int nowhere = -1;
  static constexpr int several = -2;

  Receiver();
  ~Receiver() override;
  void SetUp() override;
  /// Wants all that the test made to be gone.
  void TearDown() override;

  /// Sends the frame through the loop. @return everything that arrived
  std::vector<Arrival> send(const Frame& frame);
  /// The one queue that a frame arrives in, `nowhere` or `several`.
  int queue_of(const Frame& frame);

  Objects objects() const;
  /// Fails the n-th command from now, for every n until `action` succeeds, and checks after each failure that
  /// `same` still holds and that no object is left.
  template <class Action, class Check>
  void fail_every_command(Action&& action, Check&& same);
  template <class Action, class Check>
  void fail_every_allocation(Action&& action, Check&& same);

  Owned<hca::Runtime> runtime;
  Owned<hca::Device> device;
  Owned<FailingDevice> failing;  ///< the same device
  hca::Object transport_domain;
  std::vector<std::uint32_t> rqns;
  Objects objects_at_start;

 private:
  struct Queue;
  struct State;
  Owned<State> state_;
};

template <class Action, class Check>
void Receiver::fail_every_command(Action&& action, Check&& same) {
  for (unsigned n = 1; n < 1000; ++n) {
    const Objects before = objects();
    failing->fail_command(n);
    const bool done = action();
    failing->fail_command(0);
    if (done) return;
    EXPECT_EQ(objects(), before) << "left behind when command " << n << " failed";
    same();
    if (HasFailure()) return;
  }
  FAIL() << "never worked";
}

template <class Action, class Check>
void Receiver::fail_every_allocation(Action&& action, Check&& same) {
  for (unsigned n = 1; n < 10000; ++n) {
    const Objects before = objects();
    bool done = false;
    {
      const FailingAllocation fault(n, FailingAllocation::Of::process);
      done = action();
      if (!fault.failed()) {
        EXPECT_TRUE(done);
        return;
      }
    }
    // Some do without what they could not get.
    if (!done) {
      EXPECT_EQ(objects(), before) << "left behind when allocation " << n << " failed";
      same();
    }
    if (done || HasFailure()) return;
  }
  FAIL() << "never worked";
}

}  // namespace chime::test
