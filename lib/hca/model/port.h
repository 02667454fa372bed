// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/model/kernel.h"
#include "hca/port.h"
#include "model/loop.h"
#include "model/profile.h"
#include "wire/factory.h"

namespace chime::hca::embedded {

/// The port as the kernel's netdev would offer it: by registers and the vport context, as the kernel.
class EmbeddedPort final : public Port {
 public:
  /// @param mac that the card was brought up with
  static Result<Owned<EmbeddedPort>> make(Kernel& kernel, model::Loop& loop, wire::Port& wire,
                                          const model::Identity& identity, const MacAddress& mac) noexcept;
  EmbeddedPort(Kernel& kernel, model::Loop& loop, wire::Port& wire, const model::Identity& identity,
               const MacAddress& mac) noexcept
      : kernel_(kernel), loop_(loop), wire_(wire), identity_(identity), mac_(mac) {}
  ~EmbeddedPort() override;

  Result<> prepare() noexcept override { return wire_.ready(); }
  Result<LinkState> link() noexcept override;
  Result<> set_link(bool up) noexcept override;
  Result<std::uint32_t> mtu() noexcept override;
  Result<std::uint32_t> max_mtu() noexcept override;
  Result<> set_mtu(std::uint32_t mtu) noexcept override;
  Result<MacAddress> mac() noexcept override;
  Result<> set_mac(const MacAddress& mac) noexcept override;
  Result<> set_unicast_list(std::span<const MacAddress> list) noexcept override;
  Result<> set_multicast_list(std::span<const MacAddress> list) noexcept override;
  Result<> set_promiscuous(bool on) noexcept override;
  Result<> set_all_multicast(bool on) noexcept override;
  unsigned gid_count() noexcept override;
  Result<GidEntry> gid(unsigned index) noexcept override;
  Result<unsigned> add_address(std::span<const std::uint8_t> address) noexcept override;
  Result<PortCounters> counters() noexcept override;
  Result<> firmware_version(std::span<char> text) noexcept override;
  int change_fd() const noexcept override { return change_fd_; }
  void acknowledge_change() noexcept override;

  /// The card said that the port changed. On the thread that steps the HCA.
  void changed() noexcept;

 private:
  Result<> open() noexcept;
  Result<> read_physical(PortCounters& counters) noexcept;
  Result<> answer_for_gids() noexcept;
  void begin_wire() noexcept override { wire_.begin(); }
  void end_wire() noexcept override { wire_.end(); }

  Kernel& kernel_;
  model::Loop& loop_;
  wire::Port& wire_;
  const model::Identity& identity_;
  int change_fd_ = -1;

  std::mutex mutex_;  ///< of what follows, and of a change as a whole
  MacAddress mac_;
  Array<MacAddress> unicast_;
  Array<wire::OwnAddress> answered_;  ///< a place for each GID; empty ones are zero
  bool promiscuous_ = false;
  bool all_multicast_ = false;
};

}  // namespace chime::hca::embedded
