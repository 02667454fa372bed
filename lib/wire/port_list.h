// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

namespace chime::wire {

/// The ethdevs there are, for the errors that ask for another one: "net_tap0, net_pcap0 (has owner X)". As
/// many as fit.
class PortList {
 public:
  /// @param except the port that asks
  explicit PortList(const char* except) noexcept;
  const char* text() const noexcept { return text_.data(); }

 private:
  std::array<char, 128> text_{};
};

}  // namespace chime::wire
