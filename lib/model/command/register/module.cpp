// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string_view>

#include "model/command/register/register.h"

/// @file
/// The module in the port's cage, and temperatures. A wire of the model has no module: the copper cable of
/// 100GBASE-CR4, which PTYS tells of, stands in for it, so that software that reads modules has one to read.
///
///     SFF-8636, memory at two-wire address 0x50, all in page 0
///     0x00 identifier, revision, status
///     0x80 identifier, connector, rates, length | 0x94 vendor, part, serial, date (0xbf, 0xdf: sums before
///     them)

namespace chime::model {
namespace {

constexpr unsigned two_wire_address = 0x50;
constexpr unsigned page_bytes = 256;
constexpr std::uint32_t chip_degrees = 45;
constexpr std::uint32_t degree = 8;  // MTMP counts 0.125 C

// MCIA.status as in mstflint's register database.
constexpr std::uint32_t no_module = 1;
constexpr std::uint32_t not_connected_at_address = 9;

using Memory = std::array<std::uint8_t, page_bytes>;

constexpr void put(Memory& memory, std::size_t at, std::string_view text, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    memory[at + i] = static_cast<std::uint8_t>(i < text.size() ? text[i] : ' ');
  }
}

constexpr std::uint8_t sum(const Memory& memory, std::size_t first, std::size_t end) {
  std::uint32_t total = 0;
  for (std::size_t i = first; i < end; ++i) total += memory[i];
  return static_cast<std::uint8_t>(total);
}

constexpr Memory make_memory() {
  Memory m{};
  m[0x00] = m[0x80] = 0x11;  // QSFP28
  m[0x01] = 7;               // SFF-8636 revision 2.5 to 2.7
  m[0x02] = 1 << 2;          // flat memory: no page but 0
  m[0x82] = 0x23;            // no separable connector
  m[0x83] = 0x80;            // the code is at 0xc0
  m[0x8c] = 0xff;            // the rate is at 0xde
  m[0x92] = 1;               // m of copper
  m[0x93] = 0xa0;            // copper, not equalised
  put(m, 0x94, "Chime", 16);
  put(m, 0xa8, "SOFTWARE-HCA", 16);
  put(m, 0xb8, "1", 2);
  m[0xc0] = 0x0b;  // 100GBASE-CR4
  put(m, 0xc4, "0", 16);
  put(m, 0xd4, "260101", 8);
  m[0xde] = 103;  // 250 MBd
  m[0xbf] = sum(m, 0x80, 0xbf);
  m[0xdf] = sum(m, 0xc0, 0xdf);
  return m;
}

constexpr Memory cable = make_memory();

}  // namespace

void mcia(const RegisterAccess<prm::mcia_reg>& a) noexcept {
  using R = prm::mcia_reg;
  const std::uint32_t first = a.in.get(R::device_address);
  const std::uint32_t bytes = a.in.get(R::size_);
  constexpr std::uint32_t most = 32 * 4;  // dwords
  if (bytes > most || first + bytes > page_bytes) {
    return a.c.refuse(Rule::register_value, bytes,
                      "device_address %u, size %u; at most %u of the page's %u bytes", first, bytes, most,
                      page_bytes);
  }
  const auto data = a.out.bytes().subspan(R::size - most);
  std::fill(data.begin(), data.end(), std::byte{});
  if (a.in.get(R::module) != 0) {
    a.out.set(R::status, no_module);
  } else if (a.in.get(R::i2c_device_address) != two_wire_address || a.in.get(R::page_number) != 0) {
    a.out.set(R::status, not_connected_at_address);
  } else {
    a.out.set(R::status, 0);
    for (std::uint32_t i = 0; i < bytes; ++i) data[i] = std::byte{cable[first + i]};
  }
}

void mtcap(const RegisterAccess<prm::mtcap_reg>& a) noexcept {
  using R = prm::mtcap_reg;
  a.out.set(R::sensor_count, 1).set(R::internal_sensor_count, 1).set(R::sensor_map, 1);
}

void mtmp(const RegisterAccess<prm::mtmp_reg>& a) noexcept {
  using R = prm::mtmp_reg;
  const std::uint32_t sensor = a.in.get(R::sensor_index);
  if (sensor != 0) {
    return a.c.refuse(Rule::register_value, sensor, "sensor_index %u; there is 0, the chip", sensor);
  }
  a.out.set(R::temperature, chip_degrees * degree).set(R::max_temperature, chip_degrees * degree);
  a.out.set(R::sensor_name, 0x6173696330000000);  // "asic0"
}

}  // namespace chime::model
