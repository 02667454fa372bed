// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>

#include "card.h"
#include "hca/command.h"
#include "hca/receive_path.h"
#include "hca/user_commands.h"

/// @file
/// What a user context may do beside a bound kernel driver, as doc/prm/user-context states it: numbers, so
/// that a slip in a name shows.

namespace chime::test {
namespace {

using namespace hca;
using Opcodes = std::set<unsigned>;

template <class List, class Get>
Opcodes opcodes(const List& list, Get get) {
  Opcodes set;
  for (const auto& item : list) set.insert(static_cast<unsigned>(get(item)));
  return set;
}

// PD, transport domain, mkey, CQ, SQ, RQ, RMP, RQT, TIR, TIS, QP, SRQ, XRC SRQ, XRQ, DCT, Q counter, flow
// table, flow group, flow entry, flow counter, packet reformat, modify header, scheduling element, L2 table
// entry, general objects; XRC domain, multicast group, UDP port of VXLAN.
const Opcodes documented_creators = {0x800, 0x816, 0x200, 0x400, 0x904, 0x908, 0x90c, 0x916, 0x900, 0x912,
                                     0x500, 0x700, 0x705, 0x717, 0x710, 0x771, 0x930, 0x933, 0x936, 0x939,
                                     0x93d, 0x940, 0x782, 0x829, 0xa00, 0x80e, 0x806, 0x827};

// CQ, SQ, RQ, RMP, RQT, TIR, TIS, flow table, flow entry, scheduling element, general objects; the QP's
// transitions; arming of receive queues; L2 table entry.
const Opcodes documented_modifiers = {0x403, 0x905, 0x909, 0x90d, 0x917, 0x901, 0x913, 0x93c,
                                      0x936, 0x785, 0xa01, 0x502, 0x50e, 0x503, 0x504, 0x505,
                                      0x506, 0x507, 0x50a, 0x703, 0x708, 0x71a, 0x829};

const Opcodes documented_queries = {0x201, 0x402, 0x907, 0x90b, 0x90f, 0x919, 0x903, 0x915,
                                    0x50b, 0x702, 0x707, 0x719, 0x713, 0x773, 0x932, 0x935,
                                    0x937, 0x93b, 0x93f, 0x942, 0x784, 0x82a, 0xa02};

// HCA capabilities, adapter, ISSI, NOP, vport state, NIC vport context, vport counter, VNIC environment, RoCE
// address, E-Switch functions and vport context, LAG, HCA vport context, log of dropped packets, congestion;
// and 0xb00 to 0xcff.
const Opcodes documented_generals = {0x100, 0x101, 0x10a, 0x80d, 0x750, 0x754, 0x770, 0x76f, 0x760,
                                     0x740, 0x752, 0x842, 0x762, 0x80a, 0x822, 0x824, 0x826};

// ACCESS_REG, MODIFY_NIC_VPORT_CONTEXT, MODIFY_VPORT_STATE, SET_FLOW_TABLE_ROOT, SET_ROCE_ADDRESS,
// SET_HCA_CAP; what has calls of its own: UAR, EQ, umem; the kernel's: contexts, bringing up and down, pages;
// and every destroy.
const Opcodes documented_refusals = {0x805, 0x755, 0x751, 0x92f, 0x761, 0x109, 0x802, 0x803, 0x301,
                                     0x302, 0xa08, 0xa0a, 0xa04, 0xa06, 0x102, 0x103, 0x104, 0x105,
                                     0x107, 0x108, 0x801, 0x817, 0x202, 0x401, 0x906, 0x90a, 0x902,
                                     0x914, 0x918, 0x931, 0x934, 0x938, 0x93a, 0x772, 0x501};

TEST(PermittedCommands, AreTheDocumentedOnes) {
  EXPECT_EQ(opcodes(creators(), [](const Creator& c) { return c.create; }), documented_creators);
  EXPECT_EQ(opcodes(modifiers(), [](const Accessor& a) { return a.opcode; }), documented_modifiers);
  EXPECT_EQ(opcodes(queries(), [](const Accessor& a) { return a.opcode; }), documented_queries);
  EXPECT_EQ(opcodes(generals(), [](prm::cmd_opcode o) { return o; }), documented_generals);
  EXPECT_EQ(first_general, 0xb00u);
  EXPECT_EQ(last_general, 0xcffu);
}

TEST(PermittedCommands, AFlowEntryIsCreatedOrModifiedByOpMod) {
  const auto set = prm::cmd_opcode::set_flow_table_entry;
  EXPECT_NE(find_creator(set, 0), nullptr);
  EXPECT_EQ(find_creator(set, 1), nullptr);
  EXPECT_EQ(find_modifier(set, 0), nullptr);
  EXPECT_NE(find_modifier(set, 1), nullptr);
}

TEST(PermittedCommands, EveryAccessorIsOfAnObjectThatCanBeCreated) {
  for (const auto list : {modifiers(), queries()}) {
    for (const Accessor& accessor : list) {
      EXPECT_TRUE(documented_creators.contains(static_cast<unsigned>(accessor.created_by)))
          << std::hex << static_cast<unsigned>(accessor.opcode);
    }
  }
}

class Refused : public CardTest {};

TEST_F(Refused, ByEveryWayIn) {
  auto pd = hca::alloc_pd(*device);
  ASSERT_TRUE(pd) << why(pd);
  for (const unsigned opcode : documented_refusals) {
    prm::Box<prm::cmd_in, 0x200> in;
    in.set(prm::cmd_in::opcode, static_cast<prm::cmd_opcode>(opcode));
    std::array<std::byte, 0x200> out{};
    const auto general = device->command(in.bytes(), out);
    ASSERT_FALSE(general) << std::hex << opcode;
    EXPECT_EQ(general.error().errnum, EPERM) << general.error().text;
    EXPECT_NE(std::string(general.error().text).find("kernel"), std::string::npos) << general.error().text;
    const auto created = device->create(in.bytes(), out);
    ASSERT_FALSE(created) << std::hex << opcode;
    EXPECT_EQ(created.error().errnum, EPERM);
    const auto modified = pd->modify(in.bytes(), out);
    ASSERT_FALSE(modified) << std::hex << opcode;
    EXPECT_EQ(modified.error().errnum, EPERM);
    const auto queried = pd->query(in.bytes(), out);
    ASSERT_FALSE(queried) << std::hex << opcode;
    EXPECT_EQ(queried.error().errnum, EPERM);
  }
}

TEST_F(Refused, CreatorsAreNoGeneralCommands) {
  for (const unsigned opcode : documented_creators) {
    prm::Box<prm::cmd_in, 0x200> in;
    in.set(prm::cmd_in::opcode, static_cast<prm::cmd_opcode>(opcode));
    std::array<std::byte, 0x200> out{};
    const auto done = device->command(in.bytes(), out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().errnum, EPERM);
  }
}

TEST_F(Refused, ThroughTheHandleOfAnotherObject) {
  auto one = hca::alloc_transport_domain(*device);
  auto tis = hca::create_tis(*device, one->number());
  auto other = hca::create_tis(*device, one->number());
  ASSERT_TRUE(tis && other);
  hca::Command<prm::query_tis> query;
  query.in.set(prm::query_tis_in::tisn, other->number());
  auto done = query.query(*tis);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, EINVAL);
  done = query.query(*one);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, EINVAL);
  EXPECT_TRUE(query.query(*other));
}

TEST_F(Refused, TooShortACommand) {
  std::array<std::byte, 8> shorter{};
  const auto done = device->command(shorter, shorter);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, EINVAL);
}

}  // namespace
}  // namespace chime::test
