// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "hca/port.h"
#include "hca/runtime.h"

namespace chime::net {

/// The text after `--vdev net_chime0,`, checked. Owns its strings.
struct DevArgs {
  /// What messages list.
  static constexpr const char known[] =
      "wire, profile, ibdev, mac, model_thread, model_cpu, loss, duplicate, reorder, corrupt, delay, "
      "fault_seed, link_speed, responder";

  char wire[64] = "loop";
  char profile[256] = "";  ///< empty: the default
  char ibdev[64] = "";     ///< empty: the embedded software HCA
  char model_thread[16] = "shared";
  int model_cpu = -1;
  std::optional<hca::MacAddress> mac;
  std::uint32_t loss_ppm = 0, duplicate_ppm = 0, reorder_ppm = 0, corrupt_ppm = 0;
  std::uint32_t delay_us = 0;
  std::uint64_t fault_seed = 1;
  std::uint32_t link_mbps = 0;  ///< 0: the wire's
  std::uint8_t responder = 0;   ///< 1: the wire answers ARP and ND for the port's GIDs

  /// @param text "key=value,key=value", or empty
  static Result<DevArgs> parse(std::string_view text) noexcept;

  /// Points into this object.
  hca::OpenOptions options(const char* name, std::uint32_t mac_seed) const noexcept;
};

}  // namespace chime::net
