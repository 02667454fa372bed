// SPDX-License-Identifier: BSD-3-Clause
// What holds for all commands: opcode, lengths, state of the device, who may issue what.
#include "../support/host.h"

namespace chime::test {
namespace {

using model::Rule;

TEST(Dispatch, RefusesOpcodesThatItDoesNotKnow) {
  Host host;
  Call<prm::nop> call;
  prm::set_bits(call.in.bytes().data(), 0, 16, 0xfff);
  EXPECT_TRUE(host.run(call).is(Rule::unknown_opcode));
  prm::set_bits(call.in.bytes().data(), 0, 16, 0xffff);
  EXPECT_TRUE(host.run(call).is(Rule::unknown_opcode));
  prm::set_bits(call.in.bytes().data(), 0, 16, static_cast<unsigned>(prm::cmd_opcode::create_psv));
  EXPECT_EQ(host.run(call).status, prm::cmd_status::bad_op);
}

TEST(Dispatch, NamesTheCommandThatItRefuses) {
  Host host;
  Call<prm::dealloc_pd> call;
  call.in.set(prm::dealloc_pd_in::pd, 0x123);
  const Answer answer = host.run(call);
  EXPECT_TRUE(answer.is(Rule::unknown_object));
  EXPECT_EQ(answer.words, "DEALLOC_PD: there is no PD 0x123");
  EXPECT_EQ(host.rules.back(), "object.unknown");
}

TEST(Dispatch, ChecksLengths) {
  Host host;
  std::vector<std::byte> in(prm::create_cq_in::size - 1), out(16, std::byte{0xff});
  prm::set_bits(in.data(), 0, 16, static_cast<unsigned>(prm::cmd_opcode::create_cq));
  EXPECT_TRUE(host.execute(in, out).is(Rule::input_length));

  in.assign(prm::query_hca_cap_in::size, std::byte{0});
  prm::set_bits(in.data(), 0, 16, static_cast<unsigned>(prm::cmd_opcode::query_hca_cap));
  EXPECT_TRUE(host.execute(in, out).is(Rule::output_length));
}

TEST(Dispatch, WritesTheWholeOutput) {
  Host host;
  Call<prm::nop> call;
  std::vector<std::byte> out(64, std::byte{0xff});
  EXPECT_TRUE(host.execute(call.in.bytes(), out).ok());
  for (std::byte b : out) EXPECT_EQ(b, std::byte{0});
}

TEST(Dispatch, WantsTheDeviceBroughtUpInOrder) {
  Host host("connectx6dx", false);
  Call<prm::alloc_pd> pd;
  Call<prm::init_hca> init;
  Call<prm::enable_hca> enable;
  Call<prm::disable_hca> disable;
  Call<prm::teardown_hca> teardown;
  EXPECT_TRUE(host.run(init).is(Rule::device_state));
  EXPECT_TRUE(host.run(enable).ok());
  const Answer early = host.run(pd);
  EXPECT_TRUE(early.is(Rule::device_state));
  EXPECT_NE(early.words.find("INIT_HCA comes first"), std::string::npos) << early.words;
  EXPECT_TRUE(host.run(teardown).is(Rule::device_state));
  EXPECT_TRUE(host.run(init).ok());
  EXPECT_TRUE(host.run(init).is(Rule::device_state));
  EXPECT_TRUE(host.run(pd).ok());
  EXPECT_TRUE(host.run(disable).is(Rule::device_state));
  EXPECT_TRUE(host.run(teardown).ok());
  EXPECT_TRUE(host.objects().empty());
  EXPECT_TRUE(host.run(disable).ok());
}

TEST(Dispatch, OldDriversSendAShortInitHca) {
  Host host("connectx6dx", false);
  Call<prm::enable_hca> enable;
  ASSERT_TRUE(host.run(enable).ok());
  std::vector<std::byte> in(16), out(16);
  prm::set_bits(in.data(), 0, 16, static_cast<unsigned>(prm::cmd_opcode::init_hca));
  EXPECT_TRUE(host.execute(in, out).ok());
}

TEST(Dispatch, UserContextsMayNotChangeTheDevice) {
  Host host;
  const std::uint16_t uid = host.context();
  Call<prm::set_flow_table_root> root;
  EXPECT_TRUE(host.run(root, uid).is(Rule::kernel_only));
  Call<prm::access_reg> reg;
  EXPECT_TRUE(host.run(reg, uid).is(Rule::kernel_only));
  Call<prm::modify_nic_vport_context> vport;
  EXPECT_TRUE(host.run(vport, uid).is(Rule::kernel_only));
  Call<prm::modify_vport_state> state;
  EXPECT_TRUE(host.run(state, uid).is(Rule::kernel_only));
  Call<prm::set_hca_cap> caps;
  EXPECT_TRUE(host.run(caps, uid).is(Rule::kernel_only));
  Call<prm::teardown_hca> teardown;
  EXPECT_TRUE(host.run(teardown, uid).is(Rule::kernel_only));
  Call<prm::query_nic_vport_context> query;
  EXPECT_TRUE(host.run(query, uid).ok());
}

TEST(Dispatch, TheUidMustBeOfAContext) {
  Host host;
  Call<prm::alloc_pd> pd;
  EXPECT_TRUE(host.run(pd, 77).is(Rule::unknown_context));
}

}  // namespace
}  // namespace chime::test
