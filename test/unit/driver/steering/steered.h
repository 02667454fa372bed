// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "frames.h"
#include "receiver.h"
#include "rx_steering.h"

namespace chime::test {

inline constexpr hca::MacAddress own_mac = {0x02, 0, 0, 0, 0, 1};

/// A receiver with the driver's steering.
class Steered : public Receiver {
 protected:
  void SetUp() override {
    Receiver::SetUp();
    rss.types = 0;
    rss.key = net::default_rss_key;
    rss.reta_size = 64;
    for (unsigned i = 0; i < rss.reta_size; ++i) rss.reta[i] = static_cast<std::uint16_t>(i % queues);
    filter.unicast = {&own_mac, 1};
  }
  void TearDown() override {
    steering.reset();
    Receiver::TearDown();
  }

  Result<> start() {
    auto made = net::RxSteering::create(*failing, transport_domain.number(), rqns, rss, filter);
    if (!made) return fail(made.error());
    steering = std::move(*made);
    return {};
  }

  net::RssSettings rss{};
  net::ReceiveFilter filter{};
  Owned<net::RxSteering> steering;
};

}  // namespace chime::test
