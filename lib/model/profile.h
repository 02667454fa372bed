// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/error.h"
#include "model/capabilities.h"
#include "model/roce/atomic.h"

namespace chime::model {

/// What the manual leaves open, or no source settles; a card of either kind can be had.
struct Behaviour {
  /// DESTROY_UCTX with objects left: refused (RES_BUSY), or they go with it.
  bool context_with_objects_goes = false;
  /// Status of a command that names another context's object: BAD_RES_ERR, or BAD_PARAM_ERR.
  bool foreign_object_is_bad_param = false;
  /// Pages that the card asks of the host at boot and at INIT_HCA (QUERY_PAGES); none in process.
  std::uint32_t boot_pages = 0;
  std::uint32_t init_pages = 0;
  /// How values lie in the memory that an atomic changes: of 4 bytes; of 8 bytes where
  /// atomic_req_8B_endianness_mode is 0, or 1; of 16 and more.
  AtomicOrder atomic_memory_4 = AtomicOrder::host;
  AtomicOrder atomic_memory_8_mode_0 = AtomicOrder::host;
  AtomicOrder atomic_memory_8_mode_1 = AtomicOrder::host;
  AtomicOrder atomic_memory_wide = AtomicOrder::big;
};

/// What the card says of itself.
struct Identity {
  std::uint16_t device_id = 0;
  std::uint16_t vendor_id = 0x15b3;
  std::uint16_t firmware_major = 0;
  std::uint16_t firmware_minor = 0;
  std::uint16_t firmware_subminor = 0;
  char psid[17] = {};  ///< board identification, NUL-terminated
  /// Permanent MAC address, as a 48-bit number. Locally administered; several cards of one process must be
  /// given different ones (MODIFY_NIC_VPORT_CONTEXT, permanent_address).
  std::uint64_t base_mac = 0x0200c0ffee00;
};

/// The port's limits.
struct PortLimits {
  std::uint16_t max_mtu = 10000;          ///< bytes of a frame without FCS: PMTU.max_mtu
  std::uint32_t ethernet_speeds = 0;      ///< PTYS.eth_proto_capability
  std::uint32_t ext_ethernet_speeds = 0;  ///< PTYS.ext_eth_proto_capability
  std::uint8_t lanes = 4;
};

/// A kind of card: capabilities and limits. Compiled in from lib/model/profiles/*.toml, or read from a file.
class Profile {
 public:
  /// Names of the compiled-in profiles; the first is the default.
  static std::span<const char* const> names() noexcept;

  /// ENOENT lists the names there are.
  static Result<Profile> named(std::string_view name) noexcept;
  /// A file that states what differs from the profile it names in `base`. EINVAL names file, line and reason.
  static Result<Profile> load(const char* path) noexcept;
  /// The same for text in memory. @param name what errors call it
  static Result<Profile> parse(std::string_view text, const char* name) noexcept;

  const char* name() const noexcept { return name_; }

  Capabilities capabilities;
  Identity identity;
  PortLimits port;
  Behaviour behaviour;

 private:
  char name_[64] = {};
};

}  // namespace chime::model
