// SPDX-License-Identifier: BSD-3-Clause
// BAR 0: initialization segment, doorbells, and what resets leave.
#include <linux/pci_regs.h>

#include "machine.h"
#include "model/card.h"
#include "model/pci/init_segment.h"
#include "prm/doorbell.h"
#include "prm/eqe.h"

namespace chime::test {
namespace {

using model::pci::Function;
using model::pci::Health;

constexpr std::uint64_t message = 0xfee00000;

TEST(InitSegment, TellsFirmwareAndCommandQueue) {
  Machine machine("connectx6dx", false);
  EXPECT_EQ(machine.segment(0x00), 35u << 16 | 22u) << "minor and major revision";
  EXPECT_EQ(machine.segment(0x04), 5u << 16 | 1012u) << "command interface 5, subminor";
  EXPECT_EQ(machine.segment(0x14), 0x56u) << "32 entries of 64 bytes, no queue yet";
  EXPECT_EQ(machine.segment(0x18), 0u);
  EXPECT_EQ(machine.segment(0x1fc) >> 31, 0u) << "not initializing";
  EXPECT_EQ(machine.segment(0xffc), 0u);
  EXPECT_EQ(machine.segment(0x200 + 0x30), 22u << 24 | 35u << 16 | 1012u);
  EXPECT_EQ(machine.segment(0x200 + 0x34), 0x101du);
}

TEST(InitSegment, KeepsTheQueueAddress) {
  Machine machine;
  machine.set_segment(0x10, 0x12);
  machine.set_segment(0x14, 0x34567fff & ~0x700u);
  EXPECT_EQ(machine.segment(0x10), 0x12u);
  EXPECT_EQ(machine.segment(0x14), 0x34567056u) << "size and stride are the device's";
  machine.set_segment(0x00, 0xffffffff);
  EXPECT_EQ(machine.segment(0x00), 35u << 16 | 22u);
}

TEST(InitSegment, TimeRuns) {
  Machine machine;
  machine.now = 0x12'3456'789a;
  EXPECT_EQ(machine.segment(0x1000), 0x12u);
  EXPECT_EQ(machine.segment(0x1004), 0x3456789au);
  machine.now = 1'700'000'000'123'456'789;
  EXPECT_EQ(machine.segment(0x1040), 1'700'000'000u) << "seconds";
  EXPECT_EQ(machine.segment(0x1044), 123'456'789u);
  const std::uint32_t beat = machine.segment(0x1010);
  machine.now += 100'000'000;
  EXPECT_NE(machine.segment(0x1010), beat) << "the health counter lives";
}

TEST(InitSegment, ReadsOfAllSizesSeeTheSameBytes) {
  Machine machine;
  const std::uint64_t eight = machine.function().read_bar(0, 8);
  EXPECT_EQ(machine.function().read_bar(0, 4), eight & 0xffffffff);
  EXPECT_EQ(machine.function().read_bar(4, 4), eight >> 32);
  EXPECT_EQ(machine.function().read_bar(2, 2), eight >> 16 & 0xffff);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(machine.function().read_bar(i, 1), eight >> i * 8 & 0xff) << i;
}

TEST(Bar, BadAccessesAreFound) {
  Machine machine;
  EXPECT_EQ(machine.function().read_bar(Function::bar_size, 4), ~std::uint64_t{0});
  EXPECT_EQ(machine.function().read_bar(0, 9), ~std::uint64_t{0});
  EXPECT_EQ(machine.function().read_bar(0, 0), ~std::uint64_t{0});
  EXPECT_EQ(machine.function().read_bar(0xa000, 4), 0u) << "nothing is there";
  EXPECT_EQ(machine.function().read_bar(Function::bar_size - 4, 8), 0u);
  EXPECT_TRUE(machine.rules.empty());
  const std::vector<std::pair<std::uint64_t, unsigned>> bad = {
      {0x10, 1}, {0x10, 2}, {0x12, 4}, {0x14, 8}, {Function::bar_size, 4}, {~std::uint64_t{0}, 1}};
  for (const auto& [offset, size] : bad) {
    machine.rules.clear();
    machine.function().write_bar(offset, ~std::uint64_t{0}, size);
    EXPECT_EQ(machine.rules, std::vector<std::string>{"bar.access"}) << std::hex << offset;
  }
  EXPECT_EQ(machine.segment(0x14) & 0xfffff000, machine.queue);
  machine.rules.clear();
  machine.function().write_bar(0xa000, 1, 4);
  EXPECT_TRUE(machine.rules.empty());
}

/// Doorbells of a card that is up, with an EQ for commands at vector 4.
class Doorbells : public ::testing::Test {
 protected:
  Doorbells() {
    machine.set_vector(4, message, 44);
    eq = machine.bring_up(std::uint64_t{1} << static_cast<unsigned>(prm::event_type::command_completion), 4);
    page = std::uint64_t{machine.uar} * prm::uar_page_size;
    machine.rules.clear();
  }
  void nop() {
    Call<prm::nop> call;
    EXPECT_EQ(machine.run(call), prm::cmd_status::ok);
  }
  std::uint32_t arm_word(std::uint32_t consumer) const { return __builtin_bswap32(eq << 24 | consumer); }

  Machine machine;
  std::uint32_t eq = 0;
  std::uint64_t page = 0;
};

TEST_F(Doorbells, AnEventQueueIsArmedByFourBytes) {
  nop();
  const auto* eqe = reinterpret_cast<const prm::Eqe*>(machine.at(machine.events));
  EXPECT_EQ(eqe->type, static_cast<std::uint8_t>(prm::event_type::command_completion));
  EXPECT_EQ(static_cast<std::uint32_t>(eqe->data[0]), 1u) << "bit of the slot";
  EXPECT_EQ(eqe->owner, 0u);
  EXPECT_TRUE(machine.messages.empty()) << "it was not armed";
  machine.function().write_bar(page + prm::uar_eq_update, arm_word(1), 4);
  nop();
  EXPECT_TRUE(machine.messages.empty()) << "an update does not arm";
  machine.function().write_bar(page + prm::uar_eq_arm, arm_word(2), 4);
  nop();
  EXPECT_EQ(machine.messages.size(), 1u);
  nop();
  EXPECT_EQ(machine.messages.size(), 1u) << "once";
  machine.function().write_bar(page + prm::uar_eq_arm, arm_word(3), 4);
  EXPECT_EQ(machine.messages.size(), 2u) << "armed behind what is there: at once";
  EXPECT_TRUE(machine.rules.empty()) << machine.words;
}

TEST_F(Doorbells, AnEventQueueIsArmedByEightBytes) {
  machine.function().write_bar(page + prm::uar_eq_arm, arm_word(0), 8);
  nop();
  EXPECT_EQ(machine.messages.size(), 1u);
}

TEST_F(Doorbells, ACommandBringsTheEventOfItsSlot) {
  Call<prm::nop> call;
  const Laid third = machine.lay(call.in.bytes(), 16, 3);
  const Laid last = machine.lay(call.in.bytes(), 16, 31);
  machine.ring(1u << 31 | 1u << 3);
  EXPECT_TRUE(machine.done(third) && machine.done(last));
  const auto* eqe = reinterpret_cast<const prm::Eqe*>(machine.at(machine.events));
  EXPECT_EQ(static_cast<std::uint32_t>(eqe[0].data[0]), 1u << 3);
  EXPECT_EQ(static_cast<std::uint32_t>(eqe[1].data[0]), 1u << 31);
}

/// The number of the queue that a send doorbell names, if the card heard it: there is none such.
TEST_F(Doorbells, TwoHalvesMakeOne) {
  const std::uint64_t value = std::uint64_t{__builtin_bswap32(0x123400)} << 32;
  auto& card = machine.function();
  card.write_bar(page + 0x800, value, 8);
  ASSERT_EQ(machine.rules, std::vector<std::string>{"doorbell.unknown-queue"});
  EXPECT_NE(machine.words.find("1234"), std::string::npos) << machine.words;
  machine.rules.clear();
  card.write_bar(page + 0x900, 0, 4);
  EXPECT_TRUE(machine.rules.empty()) << "half a doorbell";
  card.write_bar(page + 0x904, value >> 32, 4);
  EXPECT_EQ(machine.rules, std::vector<std::string>{"doorbell.unknown-queue"});
  machine.rules.clear();
  card.write_bar(page + 0x904, value >> 32, 4);
  EXPECT_TRUE(machine.rules.empty()) << "a second half alone";
  card.write_bar(page + 0x800, 0, 4);
  card.write_bar(page + 0x904, value >> 32, 4);
  EXPECT_TRUE(machine.rules.empty()) << "halves of two";
}

TEST_F(Doorbells, OtherPagesAndOffsetsAreFound) {
  machine.function().write_bar(Function::bar_size - 4096 + 0x800, 1, 8);
  EXPECT_TRUE(machine.has("doorbell.unknown-uar"));
  machine.function().write_bar(page + 0x100, 1, 8);
  EXPECT_TRUE(machine.has("doorbell.offset"));
}

TEST_F(Doorbells, ReachNoMemoryWithoutBusMaster) {
  machine.set_config(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
  Call<prm::nop> call;
  const Laid laid = machine.lay(call.in.bytes(), 16);
  machine.ring(1);
  EXPECT_FALSE(machine.done(laid));
  EXPECT_EQ(machine.rules, std::vector<std::string>{"command-queue.memory"});
  machine.set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
  machine.ring(1);
  EXPECT_TRUE(machine.done(laid));
}

unsigned objects(Machine& machine) {
  model::ObjectCount counts[32];
  unsigned live = 0;
  const std::size_t kinds = machine.function().hca()->count_objects(counts);
  for (std::size_t i = 0; i < kinds; ++i) live += counts[i].live;
  return live;
}

TEST(Reset, TheBusResetForgetsEverything) {
  Machine machine;
  machine.bring_up(0, 1);
  EXPECT_NE(objects(machine), 0u);
  machine.function().set_health(Health::internal_error, true);
  machine.function().reset();
  EXPECT_EQ(objects(machine), 0u);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0), 0u);
  EXPECT_EQ(machine.segment(0x23c), 0u) << "healthy again";
  machine.set_up();
  machine.set_up_commands();
  machine.bring_up(0, 1);
}

/// MLX5_INITIAL_SEG_NIC_INTERFACE_DISABLED ends a fast teardown: objects go, and configuration space stays.
TEST(Reset, AFastTeardownEndsWithTheInterface) {
  Machine machine;
  machine.bring_up(0, 1);
  machine.set_segment(0x14, static_cast<std::uint32_t>(machine.queue) | 1 << 8);
  EXPECT_EQ(machine.segment(0x14) >> 8 & 7, 1u);
  EXPECT_EQ(objects(machine), 0u);
  EXPECT_EQ(machine.function().bar_address(), Machine::bar);
  machine.set_up_commands();
  EXPECT_EQ(machine.segment(0x14) >> 8 & 7, 0u);
  machine.bring_up(0, 1);
}

TEST(Reset, SoftwareMendsAFailedFirmware) {
  Machine machine;
  machine.bring_up(0, 1);
  machine.function().set_health(Health::firmware_assert, true);
  EXPECT_EQ(machine.segment(0x23c) >> 16 & 0xff, 1u);
  EXPECT_EQ(machine.segment(0x238) >> 31, 1u) << "only a reset helps";
  EXPECT_EQ(machine.segment(0x1010) & 0xffffff, 0u) << "no heart beats";
  Call<prm::nop> call;
  const Laid laid = machine.lay(call.in.bytes(), 16);
  machine.ring(1);
  EXPECT_FALSE(machine.done(laid)) << "and nobody answers";
  EXPECT_EQ(machine.function().step(), 0u);
  EXPECT_EQ(machine.segment(0x1fc) >> 30 & 1, 1u) << "a reset by software is offered";
  machine.set_segment(0x14, static_cast<std::uint32_t>(machine.queue) | 7 << 8);
  EXPECT_EQ(machine.segment(0x14) >> 8 & 7, 1u) << "disabled";
  EXPECT_EQ(machine.segment(0x23c) >> 16 & 0xff, 0u);
  EXPECT_NE(machine.segment(0x1010), 0u);
  EXPECT_EQ(objects(machine), 0u);
  machine.set_up_commands();
  machine.bring_up(0, 1);
}

TEST(Reset, AWarningLeavesTheCardAtWork) {
  Machine machine;
  machine.function().set_health(Health::high_temperature, false);
  EXPECT_EQ(machine.segment(0x23c) >> 16 & 0xff, 0x10u);
  EXPECT_EQ(machine.segment(0x238) >> 31, 0u);
  EXPECT_NE(machine.segment(0x1010), 0u);
  machine.bring_up(0, 1);
}

}  // namespace
}  // namespace chime::test
