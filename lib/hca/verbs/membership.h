// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "hca/port.h"

namespace chime::hca::verbs {

/// What a netdev lets in beside its own needs: memberships of a packet socket that receives nothing. The
/// kernel counts them and takes them back when the socket goes, however the process ends; the netdev's own
/// settings are not touched.
class Membership {
 public:
  /// @param netdev its index
  Result<> open(unsigned netdev) noexcept;
  void close() noexcept { socket_ = {}; }

  Result<> add(const MacAddress& mac) noexcept { return change(true, kind_of(mac), &mac); }
  void drop(const MacAddress& mac) noexcept { (void)change(false, kind_of(mac), &mac); }
  Result<> set_promiscuous(bool on) noexcept;
  Result<> set_all_multicast(bool on) noexcept;

 private:
  static int kind_of(const MacAddress& mac) noexcept;
  Result<> change(bool add, int kind, const MacAddress* mac) noexcept;

  unsigned netdev_ = 0;
  FileDescriptor socket_;
};

}  // namespace chime::hca::verbs
