// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "path.h"

/// @file
/// A user context beside the kernel's driver: general commands, objects, events, and packets that rules of
/// the kernel's bypass namespace lead to it.

namespace chime::test {
namespace {

using Mac = std::array<std::uint8_t, 6>;
constexpr Mac ours{0x02, 0, 0, 0, 0xaa, 0x01}, others{0x02, 0, 0, 0, 0xbb, 0x02};

std::vector<std::byte> frame_to(const Mac& mac, std::uint8_t fill) {
  std::vector<std::byte> frame(100, std::byte{fill});
  std::memcpy(frame.data(), mac.data(), 6);
  std::memcpy(frame.data() + 6, others.data(), 6);
  frame[12] = std::byte{0x88};
  frame[13] = std::byte{0xb5};  // local experimental Ethertype
  return frame;
}

/// Match parameters as mlx5dv wants them: their length in front.
struct Match {
  std::size_t size = prm::fte_match_param::size;
  std::byte bytes[prm::fte_match_param::size]{};

  prm::View<prm::fte_match_set_lyr_2_4> outer() {
    return prm::View<prm::fte_match_param>(std::span(bytes)).at(prm::fte_match_param::outer_headers);
  }
  auto* parameters() { return reinterpret_cast<mlx5dv_flow_match_parameters*>(this); }
};

void set_mac(Match& match, std::uint64_t mac) {
  match.outer()
      .set(prm::fte_match_set_lyr_2_4::dmac_47_16, static_cast<std::uint32_t>(mac >> 16))
      .set(prm::fte_match_set_lyr_2_4::dmac_15_0, static_cast<std::uint32_t>(mac & 0xffff));
}

std::uint64_t number(const Mac& mac) {
  std::uint64_t value = 0;
  for (std::uint8_t byte : mac) value = value << 8 | byte;
  return value;
}

class User : public testing::Test {
 protected:
  void SetUp() override {
    context = open_device();
    ASSERT_TRUE(context);
  }

  /// A rule for frames to a MAC (for all frames when there is none).
  Handle<ibv_flow> rule(const Mac* mac, std::uint16_t priority,
                        std::vector<mlx5dv_flow_action_attr> actions) {
    Match mask, value;
    if (mac) {
      set_mac(mask, 0xffffffffffff);
      set_mac(value, number(*mac));
    }
    mlx5dv_flow_matcher_attr attributes{};
    attributes.type = IBV_FLOW_ATTR_NORMAL;
    attributes.priority = priority;
    attributes.match_criteria_enable = mac ? 1 : 0;
    attributes.match_mask = mask.parameters();
    matchers.emplace_back(mlx5dv_create_flow_matcher(context.get(), &attributes));
    EXPECT_TRUE(matchers.back()) << "matcher: errno " << errno;
    if (!matchers.back()) return nullptr;
    Handle<ibv_flow> flow(
        mlx5dv_create_flow(matchers.back().get(), value.parameters(), actions.size(), actions.data()));
    EXPECT_TRUE(flow) << "rule at priority " << priority << ": errno " << errno;
    return flow;
  }
  static mlx5dv_flow_action_attr to(mlx5dv_devx_obj* object) {
    mlx5dv_flow_action_attr action{};
    action.type = MLX5DV_FLOW_ACTION_DEST_DEVX;
    action.obj = object;
    return action;
  }
  static mlx5dv_flow_action_attr tag(std::uint32_t value) {
    mlx5dv_flow_action_attr action{};
    action.type = MLX5DV_FLOW_ACTION_TAG;
    action.tag_value = value;
    return action;
  }
  static mlx5dv_flow_action_attr drop() {
    mlx5dv_flow_action_attr action{};
    action.type = MLX5DV_FLOW_ACTION_DROP;
    return action;
  }

  /// Sends one frame, and expects it back.
  void expect_back(Path& path, const Mac& mac, std::uint8_t fill) {
    const auto frame = frame_to(mac, fill);
    path.post_receive();
    path.send(frame);
    const auto back = path.receive();
    ASSERT_EQ(back.size(), frame.size());
    EXPECT_TRUE(std::ranges::equal(back, frame));
  }

  Handle<ibv_context> context;
  std::vector<Handle<mlx5dv_flow_matcher>> matchers;
};

TEST_F(User, QueriesWithoutAnObject) {
  Command<prm::query_hca_cap> caps;
  caps.in.set(prm::query_hca_cap_in::op_mod, 1);  // general, current
  EXPECT_EQ(caps.general(context.get()), "");
  const auto general = caps.out.at(prm::query_hca_cap_out::capability);
  const prm::ConstView<prm::cmd_hca_cap> view(general.bytes());
  EXPECT_GT(view.get(prm::cmd_hca_cap::log_max_uctx), 0u);
  EXPECT_NE(view.get(prm::cmd_hca_cap::uctx_cap) & 1, 0u) << "raw Tx";
  EXPECT_EQ(view.get(prm::cmd_hca_cap::event_cap), 1u);

  EXPECT_EQ(Command<prm::query_vport_state>().general(context.get()), "");
  EXPECT_EQ(Command<prm::query_vport_counter>().general(context.get()), "");
  EXPECT_EQ(Command<prm::query_nic_vport_context>().general(context.get()), "");
  EXPECT_EQ(Command<prm::query_vnic_env>().general(context.get()), "");
  EXPECT_EQ(Command<prm::query_adapter>().general(context.get()), "");
  EXPECT_EQ(Command<prm::query_issi>().general(context.get()), "");
  EXPECT_EQ(Command<prm::nop>().general(context.get()), "");
}

TEST_F(User, PacketsOfARule) {
  Path path(context.get());
  auto flow = rule(&ours, 0, {to(path.tir()), tag(0xabcde)});
  expect_back(path, ours, 1);
  EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, 0xabcdeu);
}

TEST_F(User, PrioritiesInOrder) {
  Path path(context.get());
  auto low = rule(&ours, 9, {to(path.tir()), tag(9)});
  expect_back(path, ours, 2);
  EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, 9u);
  auto high = rule(nullptr, 3, {to(path.tir()), tag(3)});
  expect_back(path, ours, 3);
  EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, 3u);
  high.reset();
  expect_back(path, ours, 4);
  EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, 9u);
}

TEST_F(User, ManyRulesOfOnePriority) {
  Path path(context.get());
  std::vector<Handle<ibv_flow>> flows;
  for (std::uint8_t i = 0; i < 200; ++i) {
    const Mac mac{0x02, 0, 0, 0, 0xcc, i};
    flows.push_back(rule(&mac, 1, {to(path.tir()), tag(i)}));
    ASSERT_TRUE(flows.back());
  }
  for (const std::uint8_t i : std::initializer_list<std::uint8_t>{0, 1, 100, 199}) {
    expect_back(path, {0x02, 0, 0, 0, 0xcc, i}, i);
    EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, i);
  }
}

/// A root rule leads to a table of the context's own, above the levels of the kernel's.
TEST_F(User, OwnTable) {
  Path path(context.get());
  Command<prm::create_flow_table> table;
  table.in.set(prm::create_flow_table_in::table_type, prm::flow_table_type::nic_rx)
      .at(prm::create_flow_table_in::flow_table_context)
      .set(prm::flow_table_context::level, 64)
      .set(prm::flow_table_context::log_size, 4);
  auto own = table.create(context.get());
  const auto table_id = table.out.get(prm::create_flow_table_out::table_id);
  Command<prm::create_flow_group> group;
  group.in.set(prm::create_flow_group_in::table_type, prm::flow_table_type::nic_rx)
      .set(prm::create_flow_group_in::table_id, table_id)
      .set(prm::create_flow_group_in::end_flow_index, 15);
  auto all = group.create(context.get());

  prm::Box<prm::set_fte_in, prm::dest_format_struct::size> in;
  prm::Box<prm::set_fte_out> out;
  in.set(prm::set_fte_in::table_type, prm::flow_table_type::nic_rx)
      .set(prm::set_fte_in::table_id, table_id)
      .set(prm::set_fte_in::flow_index, 5);
  auto entry = in.at(prm::set_fte_in::flow_context);
  entry.set(prm::flow_context::group_id, group.out.get(prm::create_flow_group_out::group_id))
      .set(prm::flow_context::flow_tag, 0x55)
      .set(prm::flow_context::action, prm::flow_action::fwd_dest)
      .set(prm::flow_context::destination_list_size, 1)
      .at(prm::flow_context::destination, 0)
      .set(prm::dest_format_struct::destination_type, prm::flow_destination_type::tir)
      .set(prm::dest_format_struct::destination_id, path.tirn());
  Handle<mlx5dv_devx_obj> leaf(mlx5dv_devx_obj_create(context.get(), in.bytes().data(), in.bytes().size(),
                                                      out.bytes().data(), out.bytes().size()));
  ASSERT_TRUE(leaf) << "entry: errno " << errno;
  auto flow = rule(&ours, 0, {to(own.get())});
  ASSERT_TRUE(flow);
  expect_back(path, ours, 6);
  EXPECT_EQ(path.last().sop_drop_qpn & 0xffffff, 0x55u);
}

TEST_F(User, DropsByRule) {
  Path path(context.get());
  auto flow = rule(&others, 0, {to(path.tir())});
  auto dropped = rule(&ours, 0, {drop()});
  path.post_receive();
  path.send(frame_to(ours, 7));
  expect_back(path, others, 8);  // overtook nothing: what was dropped would have come first
}

TEST_F(User, CompletionEvent) {
  Path path(context.get());
  auto flow = rule(&ours, 0, {to(path.tir())});
  Handle<mlx5dv_devx_event_channel> channel(mlx5dv_devx_create_event_channel(
      context.get(), static_cast<mlx5dv_devx_create_event_channel_flags>(0)));
  ASSERT_TRUE(channel) << "event channel: errno " << errno;
  std::uint16_t completion = 0;
  ASSERT_EQ(mlx5dv_devx_subscribe_devx_event(channel.get(), path.receive_cq(), sizeof completion, &completion,
                                             0x77),
            0)
      << "subscription: errno " << errno;

  pollfd ready{channel->fd, POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0) << "no event before the CQ is armed";
  path.arm_receive();
  path.post_receive();
  path.send(frame_to(ours, 9));
  ASSERT_EQ(poll(&ready, 1, 5000), 1) << "no event";
  alignas(8) std::byte data[sizeof(mlx5dv_devx_async_event_hdr) + 64];
  ASSERT_GT(
      mlx5dv_devx_get_event(channel.get(), reinterpret_cast<mlx5dv_devx_async_event_hdr*>(data), sizeof data),
      0);
  EXPECT_EQ(reinterpret_cast<mlx5dv_devx_async_event_hdr*>(data)->cookie, 0x77u);
  EXPECT_FALSE(path.receive().empty());
}

/// The kernel takes back what a context leaves behind when it ends.
TEST_F(User, LeavesNothing) {
  Command<prm::alloc_pd>().create(context.get()).release();
  Command<prm::alloc_transport_domain>().create(context.get()).release();
}

}  // namespace
}  // namespace chime::test
