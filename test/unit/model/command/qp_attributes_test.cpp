// SPDX-License-Identifier: BSD-3-Clause
// What transitions refuse of a context's fields.
#include "../support/queue_pair.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using prm::qpc_st;
using Q = prm::qpc;
using A = prm::ads;

class QpAttributes : public ::testing::Test {
 protected:
  std::uint32_t in_init(qpc_st service = qpc_st::rc) {
    const std::uint32_t qpn = bench.make(service);
    EXPECT_TRUE(bench.go<prm::rst2init_qp>(qpn).ok()) << host.words;
    return qpn;
  }
  /// A transition with a good context but for what `change` does.
  template <class C, class F>
  Answer with(std::uint32_t qpn, F&& change) {
    auto call = QpBench::transition<C>(qpn);
    change(call.in.at(C::in::qpc));
    return bench.user.run(call);
  }
  template <class F>
  Answer to_rtr(F&& change, qpc_st service = qpc_st::rc) {
    return with<prm::init2rtr_qp>(in_init(service), change);
  }

  Host host;
  QpBench bench{host};
};

TEST_F(QpAttributes, PortAndPartitionKey) {
  const std::uint32_t qpn = bench.make();
  auto path = [&](auto field, std::uint32_t value) {
    return with<prm::rst2init_qp>(qpn, [&](auto c) { c.at(Q::primary_address_path).set(field, value); });
  };
  EXPECT_TRUE(path(A::vhca_port_num, 0).is(Rule::qp_port));
  EXPECT_TRUE(path(A::vhca_port_num, 2).is(Rule::qp_port));
  EXPECT_TRUE(path(A::pkey_index, 1).is(Rule::qp_pkey));
  EXPECT_EQ(bench.state(qpn), prm::qpc_state::rst);
}

TEST_F(QpAttributes, AtomicModesFollowTheSizes) {
  using Mode = prm::atomic_mode;
  struct {
    const char* sizes;
    unsigned largest;
  } const cards[] = {{"0x1fc", 8}, {"0x3c", 5}, {"0x8", 3}};
  for (const auto& card : cards) {
    auto profile = model::Profile::parse(
        "base = \"connectx6dx\"\n[atomic]\natomic_size_qp = " + std::string(card.sizes) + "\n", "sizes");
    ASSERT_TRUE(profile) << profile.error().text;
    Host other(*profile);
    QpBench qps(other);
    for (unsigned mode = 0; mode < 16; ++mode) {
      const std::uint32_t qpn = qps.make();
      auto call = QpBench::transition<prm::rst2init_qp>(qpn);
      call.in.at(prm::rst2init_qp_in::qpc).set(Q::atomic_mode, static_cast<Mode>(mode));
      const Answer answer = qps.user.run(call);
      if (mode <= card.largest) {
        EXPECT_TRUE(answer.ok()) << card.sizes << " mode " << mode << ": " << answer.words;
      } else {
        EXPECT_TRUE(answer.is(Rule::qp_atomic_mode)) << card.sizes << " mode " << mode;
      }
    }
  }
}

TEST_F(QpAttributes, ACardWithoutAtomicsAnswersNone) {
  auto profile = model::Profile::parse("base = \"connectx6dx\"\n[general]\natomic = 0\n", "plain");
  ASSERT_TRUE(profile) << profile.error().text;
  Host other(*profile);
  QpBench qps(other);
  const std::uint32_t qpn = qps.make();
  EXPECT_TRUE(qps.go<prm::rst2init_qp>(qpn).is(Rule::qp_atomic_mode));
  auto none = QpBench::transition<prm::rst2init_qp>(qpn);
  none.in.at(prm::rst2init_qp_in::qpc).set(Q::atomic_mode, prm::atomic_mode::none);
  EXPECT_TRUE(qps.user.run(none).ok());
}

TEST_F(QpAttributes, PathMtu) {
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu{0}); }).is(Rule::qp_mtu));
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu{6}); }).is(Rule::qp_mtu));
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::raw_ethernet_qp); }).is(Rule::qp_mtu));
  // With an MTU of 1500 the headers leave room for 1024.
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_1k); }).ok());
  const Answer larger = to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_2k); });
  EXPECT_TRUE(larger.is(Rule::qp_mtu));
  EXPECT_NE(larger.words.find("1024"), std::string::npos) << larger.words;
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_2k); }, qpc_st::uc).is(Rule::qp_mtu));
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_2k); }, qpc_st::ud).ok());
  host.hca().card().port.admin_mtu = 4096 + 96 + 18;
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_4k); }).ok());
  --host.hca().card().port.admin_mtu;
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::mtu, prm::qpc_mtu::bytes_4k); }).is(Rule::qp_mtu));
}

TEST_F(QpAttributes, Depths) {
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::log_rra_max, 4); }).ok());
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::log_rra_max, 5); }).is(Rule::qp_depth));
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::log_rra_max, 5); }, qpc_st::uc).ok()) << "has none";
  EXPECT_TRUE(to_rtr([](auto c) { c.set(Q::log_msg_max, 31); }).is(Rule::qp_message));
  const std::uint32_t qpn = in_init();
  ASSERT_TRUE(bench.go<prm::init2rtr_qp>(qpn).ok());
  EXPECT_TRUE(with<prm::rtr2rts_qp>(qpn, [](auto c) { c.set(Q::log_sra_max, 5); }).is(Rule::qp_depth));
  EXPECT_TRUE(with<prm::rtr2rts_qp>(qpn, [](auto c) { c.set(Q::log_sra_max, 4); }).ok());
}

TEST_F(QpAttributes, OwnAddress) {
  auto own = [&](std::uint32_t index, qpc_st service = qpc_st::rc) {
    return to_rtr([=](auto c) { c.at(Q::primary_address_path).set(A::src_addr_index, index); }, service);
  };
  EXPECT_TRUE(own(2).is(Rule::qp_gid)) << "empty";
  EXPECT_TRUE(own(255, qpc_st::uc).is(Rule::qp_gid)) << "empty";
  EXPECT_TRUE(own(2, qpc_st::ud).ok()) << "each request names its own";
  EXPECT_TRUE(own(1).is(Rule::qp_remote_gid)) << "IPv4 to IPv6";
  EXPECT_TRUE(to_rtr([](auto c) { QpBench::fill(c, peer_ipv4, 1); }).ok()) << host.words;
  EXPECT_TRUE(to_rtr([](auto c) { QpBench::fill(c, peer_ipv4, 0); }).is(Rule::qp_remote_gid));
  EXPECT_TRUE(to_rtr([](auto c) { QpBench::fill(c, Gid{}, 0); }).is(Rule::qp_remote_gid));

  auto profile =
      model::Profile::parse("base = \"connectx6dx\"\n[roce]\nroce_address_table_size = 4\n", "few");
  ASSERT_TRUE(profile) << profile.error().text;
  Host other(*profile);
  QpBench qps(other);
  const std::uint32_t qpn = qps.make();
  ASSERT_TRUE(qps.go<prm::rst2init_qp>(qpn).ok());
  auto call = QpBench::transition<prm::init2rtr_qp>(qpn);
  call.in.at(prm::init2rtr_qp_in::qpc).at(Q::primary_address_path).set(A::src_addr_index, 4);
  EXPECT_TRUE(qps.user.run(call).is(Rule::qp_gid)) << "outside";
}

TEST_F(QpAttributes, UdpSourcePort) {
  auto port = [&](std::uint32_t number) {
    return to_rtr([=](auto c) { c.at(Q::primary_address_path).set(A::udp_sport, number); });
  };
  EXPECT_TRUE(port(0xbfff).is(Rule::qp_udp_port));
  EXPECT_TRUE(port(0xc000).ok());
  EXPECT_TRUE(port(0xffff).ok());
  const std::uint32_t qpn = in_init();
  ASSERT_TRUE(
      with<prm::init2rtr_qp>(qpn, [](auto c) { c.at(Q::primary_address_path).set(A::udp_sport, 0); }).ok());
  const auto query = bench.query(qpn);
  EXPECT_EQ(query.out.at(prm::query_qp_out::qpc).at(Q::primary_address_path).get(A::udp_sport), 0xc000u)
      << "the card chose";
}

TEST_F(QpAttributes, FeaturesOfThePath) {
  auto path = [&](auto field) {
    return to_rtr([=](auto c) { c.at(Q::primary_address_path).set(field, 1); });
  };
  EXPECT_TRUE(path(A::fl).is(Rule::qp_feature));
  EXPECT_TRUE(path(A::free_ar).is(Rule::qp_feature));
  EXPECT_TRUE(path(A::stat_rate).is(Rule::qp_feature));
}

TEST_F(QpAttributes, WithoutRoceNothingIsReceived) {
  const std::uint32_t reliable = in_init();
  const std::uint32_t datagram = in_init(qpc_st::ud);
  host.hca().card().vport.roce_enabled = false;
  EXPECT_TRUE(bench.go<prm::init2rtr_qp>(reliable).is(Rule::roce_disabled));
  EXPECT_TRUE(bench.go<prm::init2rtr_qp>(datagram).is(Rule::roce_disabled));
}

}  // namespace
}  // namespace chime::test
