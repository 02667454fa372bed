// SPDX-License-Identifier: BSD-3-Clause
#include "prm/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "prm/layouts.h"

namespace chime::prm {
namespace {

std::string text_of(std::string_view layout, std::span<const std::byte> bytes,
                    const PrintOptions& options = {}) {
  std::string text;
  EXPECT_TRUE(print(
      layout, bytes, [&](std::string_view part) { text += part; }, options));
  return text;
}

std::string input_text(std::span<const std::byte> bytes) {
  std::string text;
  print_input(bytes, [&](std::string_view part) { text += part; });
  return text;
}

TEST(Text, NamesValuesAndNesting) {
  Box<create_cq_in> box;
  box.at(create_cq_in::cq_context).set(cqc::log_cq_size, 10).set(cqc::cqe_sz, cqc_cqe_sz::bytes_128);
  const std::string text = input_text(box.bytes());
  EXPECT_NE(text.find("create_cq_in"), std::string::npos);
  EXPECT_NE(text.find("\n  opcode = 0x400 (create_cq)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  cq_context\n    cqe_sz = 0x1 (bytes_128)\n    log_cq_size = 0xa\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("uar_page"), std::string::npos) << "zeros are left out";
}

TEST(Text, ZerosMeaningsAndIndentOnRequest) {
  Box<alloc_pd_out> box;
  const std::string text =
      text_of("alloc_pd_out", box.bytes(), {.zeros = true, .meanings = true, .indent = 4});
  EXPECT_NE(text.find("    alloc_pd_out\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      status = 0 (ok)"), std::string::npos) << text;
  EXPECT_NE(text.find("  # "), std::string::npos) << text;
}

TEST(Text, FlagsAreNamedOneByOne) {
  Box<flow_context> box;
  box.set(flow_context::action, flow_action::fwd_dest | flow_action::count);
  EXPECT_NE(text_of("flow_context", box.bytes()).find("action = 0xc (fwd_dest | count)"), std::string::npos);
}

TEST(Text, UnknownOpcodeIsPrintedAsBytes) {
  const std::array<std::byte, 16> bytes{std::byte{0x7f}, std::byte{0xff}, std::byte{}, std::byte{0x01}};
  const std::string text = input_text(bytes);
  EXPECT_NE(text.find("unknown"), std::string::npos);
  EXPECT_NE(text.find("bytes[0] = 7fff0001"), std::string::npos) << text;
  std::array<std::byte, 16> again{};
  const ParseResult result = parse(text, again);
  EXPECT_TRUE(result) << result.mistake;
  EXPECT_EQ(again, bytes);
}

TEST(Text, TrailingAndMissingBytesAreReported) {
  Box<alloc_pd_in, 8> longer;
  longer.bytes().back() = std::byte{0x5a};
  EXPECT_NE(input_text(longer.bytes()).find("bytes[0x10] = 000000000000005a"), std::string::npos);
  Box<create_cq_in> box;
  const std::string text = input_text(box.bytes().first(0x20));
  EXPECT_NE(text.find("# ends at 0x20 of 0x110 bytes"), std::string::npos) << text;
}

TEST(Text, BitsWithoutANameAreReported) {
  Box<alloc_pd_in> box;
  box.bytes()[4] = std::byte{0x80};
  EXPECT_NE(input_text(box.bytes()).find("reserved[0x4] = 0x80000000"), std::string::npos);
}

TEST(Text, OutputsThatDependOnTheInput) {
  Box<query_hca_cap_in> in;
  in.set(query_hca_cap_in::op_mod, static_cast<std::uint32_t>(hca_cap_type::atomic) << 1 | 1);
  Box<query_hca_cap_out> out;
  out.at(query_hca_cap_out::capability)
      .at(hca_cap_union::atomic_caps)
      .set(atomic_caps::atomic_operations, 15);
  std::string text;
  print_output(in.bytes(), out.bytes(), [&](std::string_view part) { text += part; });
  EXPECT_NE(text.find("    atomic_caps\n      atomic_operations = 0xf"), std::string::npos) << text;
}

TEST(Text, DestinationsAndCountersOfAFlowEntry) {
  Box<set_fte_in, 3 * 8> box;
  const auto context = box.at(set_fte_in::flow_context);
  context.set(flow_context::destination_list_size, 2).set(flow_context::flow_counter_list_size, 1);
  context.at(flow_context::destination, 1)
      .set(dest_format_struct::destination_type, flow_destination_type::tir)
      .set(dest_format_struct::destination_id, 0x123);
  context.at(flow_context::flow_counter, 2).set(flow_counter_list::flow_counter_id, 0x77);
  const std::string text = input_text(box.bytes());
  EXPECT_NE(text.find("destination[1]\n      destination_type = 0x2 (tir)\n      destination_id = 0x123"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("flow_counter[0]\n      flow_counter_id = 0x77"), std::string::npos) << text;
  std::vector<std::byte> again(box.bytes().size());
  ASSERT_TRUE(parse(text, again));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), box.bytes().begin()));
}

/// A list that counts more elements than the buffer holds leaves nothing to the list behind it, even where
/// what is left of the buffer would hold an element of that.
TEST(Text, ListThatIsCutOffKeepsItsPlace) {
  Box<set_fte_in, 16 + 8> box;
  const auto context = box.at(set_fte_in::flow_context);
  context.set(flow_context::extended_destination, 1)
      .set(flow_context::destination_list_size, 2)
      .set(flow_context::flow_counter_list_size, 1);
  context.at(flow_context::flow_counter, 2).set(flow_counter_list::flow_counter_id, 0x77);
  const std::string text = input_text(box.bytes());
  EXPECT_EQ(text.find("flow_counter[0]"), std::string::npos) << text;
  std::vector<std::byte> again(box.bytes().size());
  ASSERT_TRUE(parse(text, again)) << text;
  EXPECT_TRUE(std::equal(again.begin(), again.end(), box.bytes().begin()));
}

/// Whatever the bytes are: what print() writes, parse() reads back to the same bytes.
TEST(Text, EveryLayoutIsReadBack) {
  std::mt19937_64 random(3);
  unsigned layouts = 0;
  for (const StructInfo& layout : structs()) {
    for (const std::size_t tail : {std::size_t{0}, std::size_t{40}}) {
      std::vector<std::byte> bytes(layout.size + tail);
      for (std::byte& byte : bytes)
        byte = random() % 4 == 0 ? static_cast<std::byte>(random() & 0xff) : std::byte{};
      const std::string text = text_of(layout.name, bytes, {.zeros = layouts % 3 == 0, .meanings = true});
      std::vector<std::byte> again(bytes.size(), std::byte{0xee});
      const ParseResult result = parse(text, again);
      ASSERT_TRUE(result) << layout.name << " line " << result.line << " " << result.mistake << "\n" << text;
      ASSERT_EQ(result.layout, &layout);
      ASSERT_EQ(again, bytes) << text;
    }
    ++layouts;
  }
  EXPECT_GT(layouts, 400u);
}

TEST(Text, TruncatedBuffersAreReadBack) {
  std::mt19937_64 random(4);
  for (const StructInfo& layout : structs()) {
    std::vector<std::byte> bytes(random() % (layout.size + 1));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
    const std::string text = text_of(layout.name, bytes);
    std::vector<std::byte> again(bytes.size());
    const ParseResult result = parse(text, again);
    ASSERT_TRUE(result) << layout.name << " line " << result.line << " " << result.mistake << "\n" << text;
    ASSERT_EQ(again, bytes) << text;
  }
}

struct Mistake {
  const char* text;
  unsigned line;
  const char* mistake;
};

TEST(Parse, MistakesAreNamedWithTheirLine) {
  const Mistake mistakes[] = {
      {"", 1, "names no struct"},
      {"no_such_struct\n", 1, "names no struct that is known"},
      {"cqc\n  no_field = 1\n", 2, "is no field of its struct"},
      {"cqc\n  log_cq_size = 0x20\n", 2, "has a value that does not fit"},
      {"cqc\n  log_cq_size = ten\n", 2, "has a value that is no number"},
      {"cqc\n  log_cq_size = 1 2\n", 2, "has a value that is no number"},
      {"cqc\n\n    log_cq_size = 1\n", 3, "is not indented as its neighbours"},
      {"cqc\n  log_cq_size\n", 2, "is a field without a value"},
      {"create_cq_in\n  cq_context = 1\n", 2, "is a struct and has no value of its own"},
      {"cqc\n  log_cq_size[0] = 1\n", 2, "has a wrong index"},
      {"tirc\n  rx_hash_toeplitz_key[9] = 1 2\n", 2, "has too many values"},
      {"cqc\n  bytes[0xff] = 0102\n", 2, "is past the end of the buffer"},
      {"cqc\n  bytes[0xffffffffffffffff] = 0102\n", 2, "is past the end of the buffer"},
      {"manage_pages_in\n  pas[0x1000000000000000] = 1\n", 2, "is past the end of the buffer"},
      {"manage_pages_in\n  pas[0x400] = 1\n", 2, "is past the end of the buffer"},
      {"cqc\n  bytes[0] = 0g\n", 2, "are not pairs of hex digits"},
      {"cqc\n  reserved[0] = 0x100000000\n", 2, "is no 32-bit number"},
      {"manage_pages_in\n  pas[x] = 1\n", 2, "has an index that is no number"},
  };
  for (const Mistake& m : mistakes) {
    std::array<std::byte, 256> bytes{};
    const ParseResult result = parse(m.text, bytes);
    EXPECT_EQ(result.line, m.line) << m.text;
    EXPECT_STREQ(result.mistake, m.mistake) << m.text;
  }
}

TEST(Names, CommandsStatusesRegisters) {
  EXPECT_STREQ(command_name(cmd_opcode::create_cq), "create_cq");
  EXPECT_STREQ(command_name(0xffff), "unknown command");
  EXPECT_STREQ(status_name(cmd_status::bad_res_state), "bad_res_state");
  EXPECT_STREQ(status_name(0x77), "unknown status");
  EXPECT_NE(*status_text(cmd_status::bad_param), '\0');
  ASSERT_NE(find_register("ptys"), nullptr);
  EXPECT_EQ(find_register("ptys")->id, 0x5004);
  EXPECT_EQ(find_register(0x5004u), find_register("ptys"));
  EXPECT_EQ(find_struct("no_such_struct"), nullptr);
  ASSERT_NE(find_command("create_cq"), nullptr);
  EXPECT_STREQ(find_command("create_cq")->output->name, "create_cq_out");
}

}  // namespace
}  // namespace chime::prm
