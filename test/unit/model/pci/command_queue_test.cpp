// SPDX-License-Identifier: BSD-3-Clause
// The command queue: entries, chains of mailboxes, and what is said of those that can't be read.
#include "machine.h"

namespace chime::test {
namespace {

using Entry = prm::cmd_queue_entry;
using Box = prm::cmd_if_box;
using Caps = prm::cmd_hca_cap;

/// A card that takes commands, one of which is laid out: its output needs nine mailboxes.
class CommandQueue : public ::testing::Test {
 protected:
  CommandQueue() {
    Call<prm::enable_hca> enable;
    EXPECT_EQ(machine.run(enable), prm::cmd_status::ok);
  }
  Laid query() { return machine.lay(caps.in.bytes(), caps.out.bytes().size()); }
  Laid set() {
    set_caps.in.set(prm::set_hca_cap_in::opcode, prm::cmd_opcode::set_hca_cap);
    return machine.lay(set_caps.in.bytes(), 16);
  }
  /// Rings for it. @return how it was delivered; what was said in words matches
  Delivery ring(const Laid& laid) {
    machine.rules.clear();
    machine.ring(1);
    EXPECT_TRUE(machine.done(laid)) << "it is always given back";
    const Delivery delivery = machine.delivery(laid);
    EXPECT_EQ(delivery != Delivery::ok, machine.has("command-queue.delivery"));
    if (delivery != Delivery::ok) {
      EXPECT_NE(machine.words.find(model::pci::name(delivery)), std::string::npos);
    }
    return delivery;
  }

  Machine machine;
  Call<prm::query_hca_cap> caps;
  Call<prm::set_hca_cap> set_caps;
};

TEST_F(CommandQueue, ExecutesWhatFitsIntoTheEntry) {
  const Laid laid = machine.lay(prm::Box<prm::nop_in>().bytes(), 16);
  EXPECT_TRUE(laid.in_boxes.empty() && laid.out_boxes.empty());
  EXPECT_EQ(ring(laid), Delivery::ok);
  EXPECT_EQ(prm::ConstView<prm::nop_out>(machine.output(laid)).get(prm::nop_out::status),
            prm::cmd_status::ok);
}

TEST_F(CommandQueue, ScattersTheOutputOverMailboxes) {
  const Laid laid = query();
  ASSERT_EQ(laid.out_boxes.size(), 8u);
  ASSERT_EQ(ring(laid), Delivery::ok);
  const auto over = machine.output(laid);
  std::vector<std::byte> direct(over.size());
  machine.function().hca()->command(caps.in.bytes(), direct);
  EXPECT_EQ(over, direct);
}

TEST_F(CommandQueue, GathersTheInputFromMailboxes) {
  caps.in.set(prm::query_hca_cap_in::op_mod, 1);
  ASSERT_EQ(machine.run(caps), prm::cmd_status::ok);
  const auto from = caps.out.bytes().subspan(16);
  std::copy(from.begin(), from.end(), set_caps.in.bytes().begin() + 16);
  prm::View<Caps>(set_caps.in.bytes().subspan(16)).set(Caps::log_max_cq, 7);
  ASSERT_EQ(machine.run(set_caps), prm::cmd_status::ok) << machine.words;
  ASSERT_EQ(machine.run(caps), prm::cmd_status::ok);
  EXPECT_EQ(prm::ConstView<Caps>(caps.out.bytes().subspan(16)).get(Caps::log_max_cq), 7u);
}

TEST_F(CommandQueue, AnswersAreSigned) {
  const Laid laid = query();
  ASSERT_EQ(ring(laid), Delivery::ok);
  const auto sum = [&](std::uint64_t from, std::size_t bytes) {
    std::byte all{0};
    for (std::size_t i = 0; i < bytes; ++i) all ^= *machine.at(from + i);
    return all;
  };
  EXPECT_EQ(sum(laid.entry, 64), std::byte{0xff});
  for (const std::uint64_t box : laid.out_boxes) {
    EXPECT_EQ(sum(box, Box::size), std::byte{0xff});
    EXPECT_EQ(sum(box + 512, 0x23f - 512), std::byte{0xff}) << "the control bytes alone";
  }
}

TEST_F(CommandQueue, CutsTheOutputToWhatThereIsRoomFor) {
  const Laid laid = machine.lay(caps.in.bytes(), 8);
  std::fill_n(machine.at(laid.entry + 0x20), 16, std::byte{0xee});
  EXPECT_EQ(ring(laid), Delivery::ok);
}

TEST_F(CommandQueue, RefusesTypes) {
  const Laid laid = query();
  machine.view<Entry>(laid.entry).set(Entry::type, 6);
  EXPECT_EQ(ring(laid), Delivery::command_type);
}

TEST_F(CommandQueue, RefusesInputLengths) {
  for (std::uint32_t length : {0u, 15u, 0x100001u, 0xffffffffu}) {
    const Laid laid = query();
    machine.view<Entry>(laid.entry).set(Entry::input_length, length);
    EXPECT_EQ(ring(laid), Delivery::input_length) << length;
  }
}

TEST_F(CommandQueue, RefusesOutputLengths) {
  for (std::uint32_t length : {0u, 7u, 0x100001u, 0xffffffffu}) {
    const Laid laid = query();
    machine.view<Entry>(laid.entry).set(Entry::output_length, length);
    EXPECT_EQ(ring(laid), Delivery::output_length) << length;
  }
}

TEST_F(CommandQueue, RefusesTokens) {
  Laid laid = query();
  machine.view<Box>(laid.out_boxes[2]).set(Box::token, Machine::token + 1);
  EXPECT_EQ(ring(laid), Delivery::token);
  laid = set();
  machine.view<Entry>(laid.entry).set(Entry::token, 0);
  EXPECT_EQ(ring(laid), Delivery::token);
}

TEST_F(CommandQueue, RefusesBlockNumbers) {
  Laid laid = query();
  machine.view<Box>(laid.out_boxes[7]).set(Box::block_number, 6);
  EXPECT_EQ(ring(laid), Delivery::block_number);
  laid = set();
  machine.view<Box>(laid.in_boxes[0]).set(Box::block_number, 1);
  EXPECT_EQ(ring(laid), Delivery::block_number);
}

TEST_F(CommandQueue, RefusesPointers) {
  const std::uint64_t nowhere = 0x7fff'0000'0000;
  for (std::uint64_t pointer : {std::uint64_t{0}, nowhere, ~std::uint64_t{0} & ~std::uint64_t{511}}) {
    Laid laid = query();
    machine.view<Entry>(laid.entry).set(Entry::output_mailbox_pointer, pointer);
    EXPECT_EQ(ring(laid), Delivery::output_pointer) << std::hex << pointer;
    laid = query();
    machine.view<Box>(laid.out_boxes[3]).set(Box::next_pointer, pointer);
    EXPECT_EQ(ring(laid), Delivery::output_pointer) << std::hex << pointer;
    laid = set();
    machine.view<Entry>(laid.entry).set(Entry::input_mailbox_pointer, pointer);
    EXPECT_EQ(ring(laid), Delivery::input_pointer) << std::hex << pointer;
    laid = set();
    machine.view<Box>(laid.in_boxes[3]).set(Box::next_pointer, pointer);
    EXPECT_EQ(ring(laid), Delivery::input_pointer) << std::hex << pointer;
  }
  const Laid laid = query();
  machine.view<Entry>(laid.entry).set(Entry::output_mailbox_pointer, laid.out_boxes[0] + 64);
  EXPECT_EQ(ring(laid), Delivery::output_pointer) << "not aligned";
}

/// An object that software could not know of would never be destroyed.
TEST_F(CommandQueue, ExecutesNothingWhoseAnswerCannotBeTold) {
  Call<prm::init_hca> init;
  ASSERT_EQ(machine.run(init), prm::cmd_status::ok);
  Call<prm::alloc_pd> pd;
  const Laid laid = machine.lay(pd.in.bytes(), 600);
  machine.view<Box>(laid.out_boxes[1]).set(Box::token, 0);
  EXPECT_EQ(ring(laid), Delivery::token);
  model::ObjectCount counts[32];
  const std::size_t kinds = machine.function().hca()->count_objects(counts);
  for (std::size_t i = 0; i < kinds; ++i) EXPECT_EQ(counts[i].live, 0u) << counts[i].kind;
}

TEST_F(CommandQueue, AChainMayBiteItsTail) {
  const Laid laid = query();
  machine.view<Box>(laid.out_boxes[7]).set(Box::next_pointer, laid.out_boxes[0]);
  EXPECT_EQ(ring(laid), Delivery::ok) << "what lies behind the last mailbox is not read";
}

TEST_F(CommandQueue, UnknownCommandsAreDeliveredAndRefused) {
  prm::Box<prm::nop_in> in;
  prm::set_bits(in.bytes().data(), 0, 16, 0xfff);
  const Laid laid = machine.lay(in.bytes(), 16);
  EXPECT_EQ(ring(laid), Delivery::ok);
  EXPECT_EQ(prm::ConstView<prm::nop_out>(machine.output(laid)).get(prm::nop_out::status),
            prm::cmd_status::bad_op);
}

TEST_F(CommandQueue, LeavesSoftwaresEntriesAlone) {
  const Laid laid = query();
  machine.view<Entry>(laid.entry).set(Entry::ownership, 0);
  const std::vector<std::byte> before(machine.at(laid.entry), machine.at(laid.entry) + 64);
  machine.ring(1);
  EXPECT_TRUE(machine.has("command-queue.ownership"));
  EXPECT_EQ(before, std::vector<std::byte>(machine.at(laid.entry), machine.at(laid.entry) + 64));
}

TEST_F(CommandQueue, ExecutesOnlyWhatTheDoorbellNames) {
  const Laid first = machine.lay(prm::Box<prm::nop_in>().bytes(), 16, 0);
  const Laid second = machine.lay(prm::Box<prm::nop_in>().bytes(), 16, 9);
  machine.ring(1u << 9);
  EXPECT_FALSE(machine.done(first));
  EXPECT_TRUE(machine.done(second));
  machine.ring(0);
  EXPECT_FALSE(machine.done(first));
}

TEST_F(CommandQueue, NeedsAQueue) {
  machine.set_segment(0x10, 0);
  machine.set_segment(0x14, 0);
  machine.ring(1);
  EXPECT_TRUE(machine.has("command-queue.memory"));
  machine.rules.clear();
  machine.set_segment(0x10, 0xffffffff);
  machine.set_segment(0x14, 0xfffff000);
  machine.ring(0xffffffff);
  EXPECT_EQ(machine.rules.size(), 32u) << "each entry";
}

/// Signatures count once SET_HCA_CAP turned them on.
class SignedCommands : public ::testing::Test {
 protected:
  SignedCommands() {
    Call<prm::enable_hca> enable;
    EXPECT_EQ(machine.run(enable), prm::cmd_status::ok);
    Call<prm::query_hca_cap> get;
    get.in.set(prm::query_hca_cap_in::op_mod, 1);
    EXPECT_EQ(machine.run(get), prm::cmd_status::ok);
    Call<prm::set_hca_cap> set;
    const auto from = get.out.bytes().subspan(16);
    std::copy(from.begin(), from.end(), set.in.bytes().begin() + 16);
    prm::View<Caps>(set.in.bytes().subspan(16)).set(Caps::cmdif_checksum, 3);
    EXPECT_EQ(machine.run(set), prm::cmd_status::ok) << machine.words;
  }
  void sign(std::uint64_t from, std::size_t bytes, std::size_t at) {
    *machine.at(from + at) = std::byte{0xff};
    for (std::size_t i = 0; i < bytes; ++i) {
      if (i != at) *machine.at(from + at) ^= *machine.at(from + i);
    }
  }
  void sign(const Laid& laid) {
    for (const std::uint64_t box : laid.in_boxes) {
      sign(box + 512, 0x23f - 512, 0x23e - 512);
      sign(box, Box::size, 0x23f);
    }
    sign(laid.entry, 64, 0x3d);
  }

  Machine machine{"connectx4lx-14.12"};
};

TEST_F(SignedCommands, AreExecuted) {
  const Laid laid = machine.lay(prm::Box<prm::set_hca_cap_in>().bytes(), 16);
  sign(laid);
  machine.ring(1);
  EXPECT_EQ(machine.delivery(laid), Delivery::ok);
}

TEST_F(SignedCommands, TheEntryMustBe) {
  const Laid laid = machine.lay(prm::Box<prm::nop_in>().bytes(), 16);
  sign(laid);
  *machine.at(laid.entry + 0x3d) ^= std::byte{1};
  machine.ring(1);
  EXPECT_EQ(machine.delivery(laid), Delivery::signature);
}

TEST_F(SignedCommands, EachMailboxMustBe) {
  for (const std::size_t wrong : {std::size_t{5}, std::size_t{0x23e}, std::size_t{0x23f}}) {
    const Laid laid = machine.lay(prm::Box<prm::set_hca_cap_in>().bytes(), 16);
    sign(laid);
    *machine.at(laid.in_boxes[4] + wrong) ^= std::byte{0x80};
    machine.ring(1);
    EXPECT_EQ(machine.delivery(laid), Delivery::signature) << wrong;
  }
}

}  // namespace
}  // namespace chime::test
