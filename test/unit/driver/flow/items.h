// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_byteorder.h>
#include <rte_flow.h>

#include <cstring>
#include <initializer_list>
#include <vector>

namespace chime::test {

constexpr std::uint16_t be16(unsigned value) {
  return static_cast<std::uint16_t>(value << 8 | (value >> 8 & 0xff));
}
constexpr std::uint32_t be32(std::uint32_t value) {
  return __builtin_bswap32(value);
}

inline rte_ether_addr mac(std::initializer_list<unsigned> bytes) {
  rte_ether_addr address{};
  std::size_t i = 0;
  for (unsigned byte : bytes) address.addr_bytes[i++] = static_cast<std::uint8_t>(byte);
  return address;
}

/// One pattern item; spec, last and mask of the caller's.
template <class T>
rte_flow_item item(rte_flow_item_type type, const T* spec, const T* mask = nullptr, const T* last = nullptr) {
  return {.type = type, .spec = spec, .last = last, .mask = mask};
}
inline rte_flow_item item(rte_flow_item_type type) {
  return {.type = type, .spec = nullptr, .last = nullptr, .mask = nullptr};
}

inline std::vector<rte_flow_item> pattern(std::initializer_list<rte_flow_item> items) {
  std::vector<rte_flow_item> list(items);
  list.push_back(item(RTE_FLOW_ITEM_TYPE_END));
  return list;
}

inline rte_flow_action action(rte_flow_action_type type, const void* conf = nullptr) {
  return {.type = type, .conf = conf};
}
inline std::vector<rte_flow_action> actions(std::initializer_list<rte_flow_action> list) {
  std::vector<rte_flow_action> all(list);
  all.push_back(action(RTE_FLOW_ACTION_TYPE_END));
  return all;
}

}  // namespace chime::test
