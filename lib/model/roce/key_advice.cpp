// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/key_advice.h"

#include <cstdio>

#include "prm/be.h"

namespace chime::model {
namespace {

constexpr std::uint32_t key_byte_mask = 0xff;

const Mkey* find(const Hca::Card& card, std::uint32_t key) noexcept {
  const Mkey* const mkey = card.mkeys.find(key >> 8);
  return mkey && mkey->key_byte == (key & key_byte_mask) ? mkey : nullptr;
}

bool within(const Mkey& mkey, std::uint64_t address) noexcept {
  return !mkey.whole_space && address - mkey.start < mkey.length;
}

}  // namespace

KeyAdvice key_advice(const Hca::Card& card, Fault fault, std::uint32_t key, std::uint64_t address) noexcept {
  KeyAdvice advice;
  const auto say = [&](const char* format, auto... values) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    std::snprintf(advice.text, sizeof advice.text, format, values...);
#pragma GCC diagnostic pop
  };
  if (fault == Fault::key_unknown) {
    const Mkey* const same_number = card.mkeys.find(key >> 8);
    const std::uint32_t swapped = prm::swap_bytes(key);
    if (same_number) {
      say("; it is stale: key 0x%x has the variant 0x%02x now", same_number->number, same_number->key_byte);
    } else if (find(card, swapped)) {
      say("; there is 0x%08x: the byte order is wrong", swapped);
    } else {
      say("; it was destroyed, or it is not a key of this card");
    }
    return advice;
  }
  const Mkey* const mkey = find(card, key);
  if (!mkey) return advice;
  if (fault == Fault::key_bounds) {
    if (within(*mkey, prm::swap_bytes(address))) {
      say("; the address is within it when its byte order is changed");
    } else {
      say("; it reaches from 0x%llx for 0x%llx bytes", static_cast<unsigned long long>(mkey->start),
          static_cast<unsigned long long>(mkey->length));
    }
  } else if (fault == Fault::key_rights) {
    say("; it has%s%s%s%s", (mkey->rights & local_write) != 0 ? " lw" : " no lw",
        (mkey->rights & remote_read) != 0 ? ", rr" : ", no rr",
        (mkey->rights & remote_write) != 0 ? ", rw" : ", no rw",
        (mkey->rights & remote_atomic) != 0 ? ", a" : ", no a");
  }
  return advice;
}

}  // namespace chime::model
