// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/keys.h"

#include <algorithm>

namespace chime::model {

Chunk Keys::reach(std::uint32_t key, const Pd* pd, std::uint32_t queue, bool reserved, std::uint64_t va,
                  std::size_t bytes, Rights right, Fault& fault) noexcept {
  if (reserved && key == card_.reserved_lkey) return reserved_key(va, bytes, fault);
  Mkey* const mkey = find(key);
  if (!mkey) {
    fault = Fault::key_unknown;
    return {};
  }
  if (const AccessError error = mkey->check(pd, va, bytes, right); error != AccessError::none) {
    fault = fault_of(error);
    return {};
  }
  const bool everybodys = mkey->qpn == Mkey::any_qpn;
  if (!everybodys && mkey->qpn != queue) {
    fault = Fault::key_queue;
    return {};
  }
  if (mkey->indirect()) return through(*mkey, va, bytes, right, fault);
  if (std::byte* const base = everybodys ? mkey->whole(card_.host) : nullptr) {
    recent_[slot(key)] = {key, mkey->rights, pd, mkey->start, mkey->length, base};
    return {base + (va - mkey->start), bytes};
  }
  if (mkey->whole_space) {
    const Chunk chunk = mkey->translate(card_.host, va, bytes);
    if (!chunk.data) fault = Fault::key_memory;
    return chunk;
  }
  const std::uint64_t left = mkey->length - (va - mkey->start);
  Chunk chunk = mkey->translate(
      card_.host, va, static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(bytes, window))));
  if (!chunk.data) {
    fault = Fault::key_memory;
    return {};
  }
  if (everybodys) recent_[slot(key)] = {key, mkey->rights, pd, va, chunk.length, chunk.data};
  chunk.length = std::min(chunk.length, bytes);
  return chunk;
}

Mkey* Keys::find(std::uint32_t key) const noexcept {
  Mkey* const mkey = card_.mkeys.find(key >> 8);
  return mkey && mkey->key_byte == (key & 0xff) ? mkey : nullptr;
}

/// The keys below must be of the same PD, and give the right locally: what the other end may do, the outer
/// key says.
Chunk Keys::through(const Mkey& outer, std::uint64_t va, std::size_t bytes, Rights right,
                    Fault& fault) noexcept {
  const bool reads = right == local_read || right == remote_read;
  const Mkey* from = &outer;
  for (unsigned level = 0; level < most_levels; ++level) {
    KeyPiece piece;
    if (!from->locate(va, piece)) {
      fault = Fault::key_bounds;
      return {};
    }
    bytes = std::min<std::size_t>(bytes, piece.length);
    va = piece.address;
    Mkey* const next = find(piece.key);
    if (!next) {
      fault = Fault::key_unknown;
      return {};
    }
    const AccessError error = next->check(outer.pd.get(), va, bytes, reads ? local_read : local_write);
    if (error != AccessError::none) {
      fault = fault_of(error);
      return {};
    }
    if (!next->indirect()) {
      const Chunk chunk = next->translate(card_.host, va, bytes);
      if (!chunk.data) fault = Fault::key_memory;
      return chunk;
    }
    from = next;
  }
  fault = Fault::key_levels;
  return {};
}

Chunk Keys::reserved_key(std::uint64_t va, std::size_t bytes, Fault& fault) noexcept {
  std::byte* data = card_.host.map(va, bytes);
  if (!data) {
    fault = Fault::key_memory;
    return {};
  }
  return {data, bytes};
}

Fault Keys::fault_of(AccessError error) noexcept {
  switch (error) {
    case AccessError::none:
      return Fault::none;
    case AccessError::key:
      return Fault::key_unknown;
    case AccessError::pd:
      return Fault::key_pd;
    case AccessError::rights:
      return Fault::key_rights;
    case AccessError::bounds:
      return Fault::key_bounds;
    case AccessError::memory:
      return Fault::key_memory;
    case AccessError::free:
      return Fault::key_free;
  }
  return Fault::key_unknown;
}

}  // namespace chime::model
