// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <rte_thash.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

/// @file
/// DPDK's own Toeplitz hash, for tests in Python. A line in, a line out:
///
///     KEY SOURCE DESTINATION [SOURCE_PORT DESTINATION_PORT]
///
/// KEY is hexadecimal, the addresses are IPv4 or IPv6; the answer is the hash in hexadecimal.

namespace {

std::array<std::uint8_t, 52> key_of(const std::string& text) {
  std::array<std::uint8_t, 52> key{};
  for (std::size_t i = 0; 2 * i + 1 < text.size() && i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return key;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string key_text, source, destination;
    unsigned source_port = 0, destination_port = 0;
    words >> key_text >> source >> destination;
    const bool ports = static_cast<bool>(words >> source_port >> destination_port);
    const std::array<std::uint8_t, 52> key = key_of(key_text);

    // rte_softrss takes 32-bit words in host order.
    rte_thash_tuple tuple{};
    std::uint32_t length;
    in_addr from4, to4;
    rte_ipv6_hdr header{};
    if (inet_pton(AF_INET, source.c_str(), &from4) == 1 &&
        inet_pton(AF_INET, destination.c_str(), &to4) == 1) {
      tuple.v4.src_addr = ntohl(from4.s_addr);
      tuple.v4.dst_addr = ntohl(to4.s_addr);
      tuple.v4.sport = static_cast<std::uint16_t>(source_port);
      tuple.v4.dport = static_cast<std::uint16_t>(destination_port);
      length = ports ? RTE_THASH_V4_L4_LEN : RTE_THASH_V4_L3_LEN;
    } else if (inet_pton(AF_INET6, source.c_str(), header.src_addr) == 1 &&
               inet_pton(AF_INET6, destination.c_str(), header.dst_addr) == 1) {
      rte_thash_load_v6_addrs(&header, &tuple);
      tuple.v6.sport = static_cast<std::uint16_t>(source_port);
      tuple.v6.dport = static_cast<std::uint16_t>(destination_port);
      length = ports ? RTE_THASH_V6_L4_LEN : RTE_THASH_V6_L3_LEN;
    } else {
      std::fprintf(stderr, "not two addresses of a kind: %s\n", line.c_str());
      return 1;
    }
    std::array<std::uint32_t, sizeof tuple / 4> input;
    std::memcpy(input.data(), &tuple, sizeof tuple);
    std::printf("%08x\n", rte_softrss(input.data(), length, key.data()));
  }
  return 0;
}
