// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/keys.h"

namespace chime::model {

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
