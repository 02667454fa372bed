// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/keys.h"

namespace chime::model {

Chunk Keys::reach(std::uint32_t key, const Pd* pd, bool reserved, std::uint64_t va, std::size_t bytes,
                  Rights right, Fault& fault) noexcept {
  if (reserved && key == card_.reserved_lkey) return reserved_key(va, bytes, fault);
  Mkey* const mkey = card_.mkeys.find(key >> 8);
  if (!mkey || mkey->key_byte != (key & 0xff)) {
    fault = Fault::key_unknown;
    return {};
  }
  if (const AccessError error = mkey->check(pd, va, bytes, right); error != AccessError::none) {
    fault = fault_of(error);
    return {};
  }
  if (!mkey->whole_space && mkey->length != 0) {
    const Chunk all = mkey->translate(card_.host, mkey->start, mkey->length);
    if (all.data && all.length == mkey->length) {
      recent_[slot(key)] = {key, mkey->rights, pd, mkey->start, mkey->length, all.data};
    }
  }
  const Chunk chunk = mkey->translate(card_.host, va, bytes);
  if (!chunk.data) fault = Fault::key_memory;
  return chunk;
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
