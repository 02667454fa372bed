// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <net/if.h>

#include <cstdint>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "hca/port.h"

/// @file
/// The kernel's network device behind a port, by rtnetlink. It is known by its index: its name may change.

namespace chime::hca::verbs {

struct NetdevState {
  char name[IF_NAMESIZE];
  unsigned flags;  ///< IFF_UP, IFF_RUNNING, ...
  std::uint32_t mtu;
  std::uint32_t max_mtu;  ///< 0: unknown
  MacAddress mac;
};

/// A netdev of this process's network namespace. Thread-safe.
class Netdev {
 public:
  Netdev() noexcept = default;
  explicit Netdev(unsigned index) noexcept : index_(index) {}
  unsigned index() const noexcept { return index_; }

  Result<NetdevState> state() const noexcept;
  Result<> set_mtu(std::uint32_t mtu) const noexcept;
  Result<> set_up(bool up) const noexcept;

  /// A descriptor that polls readable when some netdev changed.
  static Result<FileDescriptor> watch() noexcept;
  /// Makes it unreadable again.
  static void drain(const FileDescriptor& watch) noexcept;

 private:
  unsigned index_ = 0;
};

}  // namespace chime::hca::verbs
