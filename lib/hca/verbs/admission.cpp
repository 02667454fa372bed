// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/admission.h"

#include <algorithm>

namespace chime::hca::verbs {
namespace {

std::uint64_t number_of(const MacAddress& mac) noexcept {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : mac) number = number << 8 | byte;
  return number;
}

}  // namespace

Result<Array<AddressMatch>> matches_of(const Admitted& admitted) noexcept {
  constexpr const char* what = "the addresses that a port lets in";
  if (admitted.promiscuous) return Array<AddressMatch>::make(1, what);
  const std::size_t groups = admitted.all_multicast ? 1 : 1 + admitted.multicast.size();
  auto all = Array<AddressMatch>::make(1 + admitted.unicast.size() + groups, what);
  if (!all) return all;
  AddressMatch* at = all->begin();
  *at++ = {number_of(admitted.mac), exact_address};
  for (const MacAddress& mac : admitted.unicast) *at++ = {number_of(mac), exact_address};
  if (admitted.all_multicast) {
    *at++ = {group_bit, group_bit};
  } else {
    *at++ = {exact_address, exact_address};  // broadcast
    for (const MacAddress& mac : admitted.multicast) *at++ = {number_of(mac), exact_address};
  }
  std::sort(all->begin(), all->end());
  const AddressMatch* end = std::unique(all->begin(), all->end());
  const auto count = static_cast<std::size_t>(end - all->begin());
  if (count == all->size()) return all;
  auto once = Array<AddressMatch>::make(count, what);
  if (once) std::copy_n(all->begin(), count, once->begin());
  return once;
}

}  // namespace chime::hca::verbs
