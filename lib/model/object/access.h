// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
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

/// A piece of an indirect key: memory of another key (KLM, KSM). The first of a KLM key may be a header
/// instead, by which the others repeat ("interleaved"):
///
///     +-----------------------------------+        +-----------------------------------+
///  00 | bytes of one round                |     00 | stride          | bytes           |
///  04 | 0x400                             |     04 | key                               |
///  08 | rounds                            |     08 | address                           |
///  0c | 0               | pieces          |        +-----------------------------------+
///     +-----------------------------------+
struct KeyPiece {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;  ///< bytes, 0: 2 GB; of KLM alone

  static constexpr std::uint32_t repeats = 0x400;  ///< in place of a key: a header
};

/// An lkey or rkey is number << 8 | key_byte.
struct Mkey final : Object {
  Mkey() noexcept : Object(Kind::mkey) {}

  enum class Mode : std::uint8_t {
    physical,      ///< addresses are bus addresses
    umem,          ///< pages of a umem
    translations,  ///< pages of a list in the command, or in UMR work requests
    pieces,        ///< KLM: pieces of other keys, each of its length
    equal_pieces,  ///< KSM: pieces of other keys, all of 1 << log_page_size bytes
  };
  bool indirect() const noexcept { return mode == Mode::pieces || mode == Mode::equal_pieces; }

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
    return pages().chunk(host, va - start + page_start, bytes);
  }
  /// Host memory of `start` when all of the key lies there in one piece, else nullptr.
  std::byte* whole(HostView& host) noexcept {
    if (whole_space || length == 0) return nullptr;
    if (mode == Mode::physical) return host.map(start, length);
    std::byte* const base = pages().whole(host);
    return base && pages().length() >= page_start + length ? base + page_start : nullptr;
  }

  /// Where `va` of an indirect key leads to; `length` is what the piece has from there on.
  /// @return false when no piece is there
  bool locate(std::uint64_t va, KeyPiece& found) const noexcept;

  PageList& pages() noexcept { return mode == Mode::umem ? umem->pages : own; }

  std::uint64_t start = 0;
  std::uint64_t length = 0;        ///< bytes
  std::uint64_t page_start = 0;    ///< where `start` lies in the pages, bytes
  bool whole_space = false;        ///< "length64": no bounds
  bool is_free = false;            ///< the manual's free state: usable after a UMR only
  bool umr_enabled = false;        ///< "umr_en"
  bool remote_invalidate = false;  ///< "en_rinval": the other end may free it
  std::uint8_t log_page_size = 0;  ///< of translations and equal pieces
  std::uint32_t octwords = 0;      ///< room for translations, units of 16 bytes
  Mode mode = Mode::physical;
  std::uint8_t rights = 0;
  std::uint8_t key_byte = 0;
  static constexpr std::uint32_t any_qpn = 0xffffff;
  std::uint32_t qpn = any_qpn;  ///< the only queue pair that may use it
  Ref<Pd> pd;
  Ref<Umem> umem;
  PageList own;
  Array<KeyPiece> table;  ///< of an indirect key

 private:
  bool locate_equal(std::uint64_t offset, KeyPiece& found) const noexcept;
  bool locate_repeated(std::uint64_t offset, KeyPiece& found) const noexcept;
};

}  // namespace chime::model
