// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/object/memory.h"
#include "model/object/object.h"

/// @file
/// Who may reach what: user contexts, UAR pages, protection domains, memory keys.

namespace chime::model {

/// CREATE_UCTX; its number is the uid.
struct UserContext final : Object {
  UserContext() noexcept : Object(Kind::user_context) {}
  std::uint32_t capabilities = 0;  ///< uctx_cap_* bits that the kernel granted
  std::uint32_t objects = 0;       ///< live objects of this uid
};

struct Uar final : Object {
  Uar() noexcept : Object(Kind::uar) {}
};

struct Pd final : Object {
  Pd() noexcept : Object(Kind::pd) {}
};

struct TransportDomain final : Object {
  TransportDomain() noexcept : Object(Kind::transport_domain) {}
};

/// Access rights of a memory key.
enum Rights : std::uint8_t {
  local_read = 1,
  local_write = 2,
  remote_read = 4,
  remote_write = 8,
  remote_atomic = 16,
};

/// Why a key did not give access; names for the diagnostics.
enum class AccessError : std::uint8_t { none, key, pd, rights, bounds, memory, free };
const char* name(AccessError error) noexcept;

/// An lkey or rkey is number << 8 | key_byte.
struct Mkey final : Object {
  Mkey() noexcept : Object(Kind::mkey) {}

  enum class Mode : std::uint8_t {
    physical,      ///< addresses are bus addresses
    umem,          ///< pages of a umem
    translations,  ///< pages of a list in the command
  };

  /// @return none, or why `length` bytes (not 0) at `va` may not be accessed
  AccessError check(const Pd* of, std::uint64_t va, std::uint64_t bytes, std::uint8_t wanted) const noexcept {
    if (is_free) return AccessError::free;
    if (pd.get() != of) return AccessError::pd;
    if ((rights & wanted) != wanted) return AccessError::rights;
    if (whole_space) return AccessError::none;
    if (va < start || va - start > length || bytes > length - (va - start)) return AccessError::bounds;
    return AccessError::none;
  }

  /// The host memory at `va`, after check(): at most `bytes`, fewer where it is broken; the caller asks again
  /// for the rest. None when the memory is gone (AccessError::memory).
  Chunk translate(HostView& host, std::uint64_t va, std::size_t bytes) noexcept {
    if (mode == Mode::physical) return {host.map(va, bytes), bytes};
    PageList& pages = mode == Mode::umem ? umem->pages : own;
    return pages.chunk(host, va - start + page_start, bytes);
  }

  std::uint64_t start = 0;
  std::uint64_t length = 0;      ///< bytes
  std::uint64_t page_start = 0;  ///< where `start` lies in the pages, bytes
  bool whole_space = false;      ///< "length64": no bounds
  bool is_free = false;          ///< the manual's free state: usable after a UMR only
  Mode mode = Mode::physical;
  std::uint8_t rights = 0;
  std::uint8_t key_byte = 0;
  std::uint32_t qpn = 0xffffff;
  Ref<Pd> pd;
  Ref<Umem> umem;
  PageList own;
};

}  // namespace chime::model
