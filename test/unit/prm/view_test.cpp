// SPDX-License-Identifier: BSD-3-Clause
// Views against a loop over single bits: every width at every offset.
#include "prm/view.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <utility>

#include "prm/layouts.h"

namespace chime::prm {
namespace {

using Buffer = std::array<std::byte, 24>;

/// The oracle: one bit at a time, bit 0 being the most significant of byte 0.
bool bit(const Buffer& buffer, unsigned at) {
  return (std::to_integer<unsigned>(buffer[at / 8]) >> (7 - at % 8) & 1) != 0;
}

std::uint64_t naive_get(const Buffer& buffer, unsigned at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) value = value << 1 | (bit(buffer, at + i) ? 1u : 0u);
  return value;
}

void naive_set(Buffer& buffer, unsigned at, unsigned width, std::uint64_t value) {
  for (unsigned i = 0; i < width; ++i) {
    const auto mask = static_cast<std::byte>(0x80u >> (at + i) % 8);
    std::byte& byte = buffer[(at + i) / 8];
    byte = (value >> (width - 1 - i) & 1) != 0 ? byte | mask : byte & ~mask;
  }
}

Buffer noise(std::mt19937_64& random) {
  Buffer buffer;
  for (std::byte& byte : buffer) byte = static_cast<std::byte>(random() & 0xff);
  return buffer;
}

struct Any {
  static constexpr std::size_t size = sizeof(Buffer);
};

/// Views of one place, behind plain functions: a template each, but the test is written once.
struct Access {
  unsigned at;
  unsigned width;
  std::uint64_t (*get)(const Buffer&);
  void (*set)(Buffer&, std::uint64_t);
};

template <unsigned At, unsigned Width>
using Whole = Field<Any, At, Width, std::conditional_t<(Width <= 32), std::uint32_t, std::uint64_t>>;

template <unsigned At, unsigned Width>
constexpr Access access_to() {
  if constexpr (At % 8 + Width > 64) {
    return {At, Width, nullptr, nullptr};  // no field spans nine bytes
  } else {
    return {
        At, Width,
        [](const Buffer& buffer) -> std::uint64_t { return ConstView<Any>(buffer).get(Whole<At, Width>{}); },
        [](Buffer& buffer, std::uint64_t value) {
          using Value = std::conditional_t<(Width <= 32), std::uint32_t, std::uint64_t>;
          View<Any>(buffer).set(Whole<At, Width>{}, static_cast<Value>(value));
        }};
  }
}

/// Every width at every bit of the third byte.
template <unsigned... I>
constexpr std::array<Access, sizeof...(I)> every_access(std::integer_sequence<unsigned, I...>) {
  return {access_to<24 + I / 64, I % 64 + 1>()...};
}

TEST(View, EveryWidthAtEveryBitIsWhatTheBitsSay) {
  static constexpr auto all = every_access(std::make_integer_sequence<unsigned, 8 * 64>{});
  std::mt19937_64 random(1);
  for (const Access& access : all) {
    const Buffer before = noise(random);
    const std::uint64_t value = random();
    Buffer expected = before;
    naive_set(expected, access.at, access.width, value);
    const std::uint64_t old = naive_get(before, access.at, access.width);
    SCOPED_TRACE(std::to_string(access.width) + " bits at " + std::to_string(access.at));

    EXPECT_EQ(get_bits(before.data(), access.at, access.width), old);
    Buffer by_loop = before;
    set_bits(by_loop.data(), access.at, access.width, value);
    EXPECT_EQ(by_loop, expected);
    if (access.get == nullptr) continue;
    EXPECT_EQ(access.get(before), old);
    Buffer by_view = before;
    access.set(by_view, value);
    EXPECT_EQ(by_view, expected);
    EXPECT_EQ(access.get(by_view), value & detail::mask(access.width));
  }
}

TEST(View, ArraysStepByTheirStride) {
  std::mt19937_64 random(2);
  constexpr FieldArray<Any, 4, 4, 12, std::uint32_t, 12> nibbles{};
  constexpr FieldArray<Any, 16, 16, 5, std::uint32_t, 32> halves{};
  Buffer buffer = noise(random);
  const View<Any> view(buffer);
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(view.get(nibbles, i), naive_get(buffer, 4 + 12 * i, 4));
  for (unsigned i = 0; i < 5; ++i) {
    Buffer expected = buffer;
    naive_set(expected, 16 + 32 * i, 16, 0xabcd + i);
    view.set(halves, i, 0xabcd + i);
    EXPECT_EQ(buffer, expected);
    EXPECT_EQ(view.get(halves, i), 0xabcd + i);
  }
  EXPECT_EQ(view.count(nibbles), 12u);
}

TEST(View, SetDropsBitsThatDoNotFit) {
  Box<cqc> box;
  box.set(cqc::log_cq_size, 0xffffffff);
  EXPECT_EQ(box.get(cqc::log_cq_size), 0x1fu);
  EXPECT_EQ(box.get(cqc::uar_page), 0u);
}

TEST(Box, IsZeroButForTheOpcode) {
  Box<create_cq_in> box;
  EXPECT_EQ(box.get(create_cq_in::opcode), cmd_opcode::create_cq);
  EXPECT_EQ(box.bytes().size(), create_cq_in::size);
  for (const std::byte byte : box.bytes().subspan(2)) EXPECT_EQ(byte, std::byte{});
  EXPECT_EQ(box.bytes()[0], std::byte{0x04});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(box.bytes().data()) % 8, 0u);
}

TEST(Box, ChainsAndConverts) {
  Box<create_cq_in> box;
  box.at(create_cq_in::cq_context).set(cqc::log_cq_size, 9).set(cqc::uar_page, 77);
  const View<create_cq_in> view = box;
  const ConstView<create_cq_in> reading = view;
  EXPECT_EQ(reading.at(create_cq_in::cq_context).get(cqc::log_cq_size), 9u);
  EXPECT_EQ(std::to_integer<unsigned>(box.bytes()[0x10 + 0x0f]), 77u);
}

TEST(View, TailsHoldWhatTheBufferHolds) {
  Box<manage_pages_in, 3 * 8> pages;
  EXPECT_EQ(pages.count(manage_pages_in::pas), 3u);
  pages.set(manage_pages_in::pas, 2, 0x123456789000);
  EXPECT_EQ(std::to_integer<unsigned>(pages.bytes()[0x10 + 2 * 8 + 6]), 0x90u);
  Box<manage_pages_in> none;
  EXPECT_EQ(none.count(manage_pages_in::pas), 0u);
}

TEST(View, TheLastNestedStructSharesTheTail) {
  Box<create_rqt_in, 4 * rq_num::size> box;
  const auto context = box.at(create_rqt_in::rqt_context);
  ASSERT_EQ(context.count(rqtc::rq_num), 4u);
  context.at(rqtc::rq_num, 3).set(rq_num::rq_num_, 0xabcdef);
  EXPECT_EQ(std::to_integer<unsigned>(box.bytes().back()), 0xefu);
  // One that is not the last has its own bytes alone.
  Box<query_qp_out, 64> query;
  EXPECT_EQ(query.at(query_qp_out::qpc).bytes().size(), std::size_t{qpc::size});
}

TEST(View, RegistersFollowTheCommand) {
  Box<access_register_in, paos_reg::size> box;
  box.set(access_register_in::register_id, paos_reg::register_value);
  box.at(access_register_in::register_data)
      .at(access_register_data::paos_reg)
      .set(paos_reg::admin_status, port_status::down);
  EXPECT_EQ(std::to_integer<unsigned>(box.bytes()[0x12]), 2u);
}

constexpr std::uint64_t at_compile_time() {
  Box<alloc_pd_in> box;
  box.set(alloc_pd_in::uid, 0x1234);
  return box.get(alloc_pd_in::uid);
}
static_assert(at_compile_time() == 0x1234);

// A field of another struct does not compile.
template <class Owner, class FieldType>
concept Readable = requires(ConstView<Owner> view, FieldType field) {
  view.get(field);
};
static_assert(Readable<cqc, decltype(cqc::log_cq_size)>);
static_assert(!Readable<eqc, decltype(cqc::log_cq_size)>);
static_assert(!Readable<create_cq_in, decltype(create_cq_in::cq_context)>);

}  // namespace
}  // namespace chime::prm
