// SPDX-License-Identifier: BSD-3-Clause
// The virtual port and the registers of the port.
#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using N = prm::nic_vport_context;

/// ACCESS_REG of one register.
template <class R>
struct Access {
  Call<prm::access_reg, R::size, R::size> call;
  Access(bool write = false) {
    call.in.set(prm::access_register_in::register_id, R::register_value)
        .set(prm::access_register_in::op_mod,
             write ? prm::access_register_op_mod::write : prm::access_register_op_mod::read);
    if constexpr (requires { R::local_port; }) in().set(R::local_port, 1);
  }
  prm::View<R> in() { return prm::View<R>(call.in.bytes().subspan(16)); }
  prm::View<R> out() { return prm::View<R>(call.out.bytes().subspan(16)); }
};

TEST(Vport, KeepsWhatItIsTold) {
  Host host;
  Call<prm::modify_nic_vport_context, 16> call;
  using Select = prm::modify_nic_vport_field_select;
  call.in.at(prm::modify_nic_vport_context_in::field_select)
      .set(Select::mtu, 1)
      .set(Select::promisc, 1)
      .set(Select::addresses_list, 1)
      .set(Select::permanent_address, 1);
  const auto context = call.in.at(prm::modify_nic_vport_context_in::nic_vport_context);
  context.set(N::mtu, 9000).set(N::promisc_mc, 1).set(N::allowed_list_type, prm::vport_list_type::mc);
  context.set(N::allowed_list_size, 2);
  context.at(N::permanent_address).set(prm::mac_address_layout::mac_addr_31_0, 0x01020304);
  const auto list = context.bytes().subspan(N::size);
  prm::View<prm::mac_address_layout>(list.subspan(0, 8)).set(prm::mac_address_layout::mac_addr_47_32, 0x3333);
  prm::View<prm::mac_address_layout>(list.subspan(8, 8)).set(prm::mac_address_layout::mac_addr_47_32, 0x0100);
  const Answer answer = host.run(call);
  ASSERT_TRUE(answer.ok()) << answer.words;

  Call<prm::query_nic_vport_context, 0, 16> query;
  query.in.set(prm::query_nic_vport_context_in::allowed_list_type, prm::vport_list_type::mc);
  ASSERT_TRUE(host.run(query).ok());
  const auto seen = query.out.at(prm::query_nic_vport_context_out::nic_vport_context);
  EXPECT_EQ(seen.get(N::mtu), 9000u);
  EXPECT_EQ(seen.get(N::promisc_mc), 1u);
  EXPECT_EQ(seen.get(N::promisc_uc), 0u);
  ASSERT_EQ(seen.get(N::allowed_list_size), 2u);
  EXPECT_EQ(seen.at(N::permanent_address).get(prm::mac_address_layout::mac_addr_31_0), 0x01020304u);
  EXPECT_EQ(prm::ConstView<prm::mac_address_layout>(seen.bytes().subspan(N::size + 8, 8))
                .get(prm::mac_address_layout::mac_addr_47_32),
            0x0100u);
  Call<prm::query_nic_vport_context, 0, 8> tight;
  tight.in.set(prm::query_nic_vport_context_in::allowed_list_type, prm::vport_list_type::mc);
  EXPECT_TRUE(host.run(tight).is(Rule::output_length));
}

TEST(Vport, RefusesWhatItCanNotKeep) {
  Host host;
  Call<prm::modify_nic_vport_context, 16> call;
  const auto select = call.in.at(prm::modify_nic_vport_context_in::field_select);
  const auto context = call.in.at(prm::modify_nic_vport_context_in::nic_vport_context);
  select.set(prm::modify_nic_vport_field_select::mtu, 1);
  EXPECT_TRUE(host.run(call).is(Rule::vport_value));
  context.set(N::mtu, 10001);
  EXPECT_TRUE(host.run(call).is(Rule::vport_value));
  context.set(N::mtu, 1500).set(N::allowed_list_size, 3);
  select.set(prm::modify_nic_vport_field_select::addresses_list, 1);
  EXPECT_TRUE(host.run(call).is(Rule::vport_list)) << "the list ends early";
  EXPECT_NE(host.hca().card().vport.mtu, 9000) << "nothing changes half";
  call.in.set(prm::modify_nic_vport_context_in::other_vport, 1);
  EXPECT_TRUE(host.run(call).is(Rule::other_vport));
}

TEST(Vport, HasAState) {
  Host host;
  Call<prm::query_vport_state> query;
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_vport_state_out::state), prm::vport_state::up);
  Call<prm::modify_vport_state> call;
  call.in.set(prm::modify_vport_state_in::admin_state, prm::vport_state::down);
  ASSERT_TRUE(host.run(call).ok());
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_vport_state_out::state), prm::vport_state::down);
  EXPECT_EQ(query.out.get(prm::query_vport_state_out::admin_state), prm::vport_state::down);
  call.in.set(prm::modify_vport_state_in::op_mod, prm::vport_state_op_mod::esw_vport);
  EXPECT_TRUE(host.run(call).is(Rule::op_mod));
}

TEST(Vport, HasCounters) {
  Host host;
  host.hca().card().vport.received.multicast = {3, 300};
  Call<prm::query_vport_counter> query;
  query.in.set(prm::query_vport_counter_in::clear, 1);
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(
      query.out.at(prm::query_vport_counter_out::received_eth_multicast).get(prm::traffic_counter::octets),
      300u);
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(
      query.out.at(prm::query_vport_counter_out::received_eth_multicast).get(prm::traffic_counter::octets),
      0u);
  Call<prm::query_vnic_env> env;
  EXPECT_TRUE(host.run(env).ok());
}

TEST(VxlanPorts, ComeAndGo) {
  Host host;
  const auto add = [&](unsigned port) {
    Call<prm::add_vxlan_udp_dport> call;
    call.in.set(prm::add_vxlan_udp_dport_in::vxlan_udp_port, port);
    return host.run(call);
  };
  const auto remove = [&](unsigned port) {
    Call<prm::delete_vxlan_udp_dport> call;
    call.in.set(prm::delete_vxlan_udp_dport_in::vxlan_udp_port, port);
    return host.run(call);
  };
  EXPECT_TRUE(add(4789).ok()) << "Linux adds IANA's, which is there";
  for (const unsigned port : {1u, 65535u, 8472u}) EXPECT_TRUE(add(port).ok());
  EXPECT_TRUE(add(2).is(Rule::vxlan_ports));
  EXPECT_TRUE(add(8472).ok()) << "no more than before";
  EXPECT_TRUE(remove(8472).ok());
  EXPECT_TRUE(remove(8472).is(Rule::vxlan_port));
  EXPECT_TRUE(add(2).ok());
  EXPECT_TRUE(add(0).is(Rule::vxlan_port));
}

TEST(L2Table, KeepsAddresses) {
  Host host;
  Call<prm::set_l2_table_entry> set;
  set.in.set(prm::set_l2_table_entry_in::table_index, 5).set(prm::set_l2_table_entry_in::vlan, 42);
  set.in.at(prm::set_l2_table_entry_in::mac_address).set(prm::mac_address_layout::mac_addr_31_0, 99);
  ASSERT_TRUE(host.run(set).ok());
  Call<prm::query_l2_table_entry> query;
  query.in.set(prm::query_l2_table_entry_in::table_index, 5);
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_l2_table_entry_out::vlan), 42u);
  Call<prm::delete_l2_table_entry> remove;
  remove.in.set(prm::delete_l2_table_entry_in::table_index, 5);
  EXPECT_TRUE(host.run(remove).ok());
  EXPECT_TRUE(host.run(remove).is(Rule::l2_index));
  EXPECT_TRUE(host.run(query).is(Rule::l2_index));
  set.in.set(prm::set_l2_table_entry_in::table_index, 0xffffff);
  EXPECT_TRUE(host.run(set).is(Rule::l2_index));
}

TEST(Registers, AreKnownOrRefused) {
  Host host;
  Access<prm::pmtu_reg> good;
  EXPECT_TRUE(host.run(good.call).ok());
  EXPECT_TRUE(host.execute(good.call.in.bytes().first(24), good.call.out.bytes()).is(Rule::input_length));
  EXPECT_TRUE(host.execute(good.call.in.bytes(), good.call.out.bytes().first(24)).is(Rule::output_length));
  good.in().set(prm::pmtu_reg::local_port, 2);
  EXPECT_TRUE(host.run(good.call).is(Rule::register_port));
  Access<prm::pmtu_reg> unknown;
  unknown.call.in.set(prm::access_register_in::register_id, static_cast<prm::register_id>(0x1234));
  EXPECT_TRUE(host.run(unknown.call).is(Rule::register_unknown));
  Access<prm::pcam_reg> read_only(true);
  EXPECT_TRUE(host.run(read_only.call).is(Rule::register_read_only));
}

TEST(Registers, PmtuIsBoundedByTheWire) {
  Host host;
  Access<prm::pmtu_reg> read;
  ASSERT_TRUE(host.run(read.call).ok());
  EXPECT_EQ(read.out().get(prm::pmtu_reg::max_mtu), 10000u);
  EXPECT_EQ(read.out().get(prm::pmtu_reg::oper_mtu), 1522u);
  Access<prm::pmtu_reg> write(true);
  write.in().set(prm::pmtu_reg::admin_mtu, 10000);
  ASSERT_TRUE(host.run(write.call).ok());
  EXPECT_EQ(write.out().get(prm::pmtu_reg::oper_mtu), 10000u);
  EXPECT_EQ(host.hca().card().port.admin_mtu, 9996);
  write.in().set(prm::pmtu_reg::admin_mtu, 10001);
  EXPECT_TRUE(host.run(write.call).is(Rule::register_value));
}

TEST(Registers, PaosPutsThePortDown) {
  Host host;
  Access<prm::paos_reg> write(true);
  write.in().set(prm::paos_reg::ase, 1).set(prm::paos_reg::admin_status, prm::port_status::down);
  ASSERT_TRUE(host.run(write.call).ok());
  EXPECT_EQ(write.out().get(prm::paos_reg::oper_status), prm::port_status::down);
  EXPECT_FALSE(host.hca().card().port.up());
  write.in().set(prm::paos_reg::admin_status, prm::port_status::disabled);
  EXPECT_TRUE(host.run(write.call).is(Rule::register_value));
}

TEST(Registers, PtysTellsTheSpeed) {
  Host host;
  Access<prm::ptys_reg> read;
  ASSERT_TRUE(host.run(read.call).ok());
  EXPECT_EQ(read.out().get(prm::ptys_reg::eth_proto_oper), 1u << 20) << "100GBASE-CR4";
  EXPECT_EQ(read.out().get(prm::ptys_reg::data_rate_oper), 1000u);
  Access<prm::ptys_reg> write(true);
  write.in().set(prm::ptys_reg::eth_proto_admin, 1u << 31);
  EXPECT_TRUE(host.run(write.call).is(Rule::register_value));
}

TEST(Registers, PpcntCounts) {
  Host host;
  host.hca().card().port.received.unicast = {2, 200};
  host.hca().card().port.received_sizes[1] = 2;
  Access<prm::ppcnt_reg> read;
  read.in().set(prm::ppcnt_reg::grp, prm::ppcnt_group::ieee_802_3);
  ASSERT_TRUE(host.run(read.call).ok());
  const auto counters = read.out().at(prm::ppcnt_reg::counter_set).bytes();
  EXPECT_EQ(prm::ConstView<prm::eth_802_3_cntrs_grp_data_layout>(counters).get(
                prm::eth_802_3_cntrs_grp_data_layout::a_octets_received_ok),
            200u);
  for (auto group : {prm::ppcnt_group::rfc_2863, prm::ppcnt_group::rfc_2819, prm::ppcnt_group::rfc_3635,
                     prm::ppcnt_group::per_priority, prm::ppcnt_group::physical_layer}) {
    read.in().set(prm::ppcnt_reg::grp, group);
    EXPECT_TRUE(host.run(read.call).ok());
  }
  read.in().set(prm::ppcnt_reg::grp, static_cast<prm::ppcnt_group>(0x3f));
  EXPECT_TRUE(host.run(read.call).is(Rule::register_group));
  read.in().set(prm::ppcnt_reg::grp, prm::ppcnt_group::rfc_2819).set(prm::ppcnt_reg::clr, 1);
  EXPECT_TRUE(host.run(read.call).ok());
  EXPECT_EQ(host.hca().card().port.received.unicast.packets, 0u);
}

TEST(Registers, TellWhatTheDeviceIs) {
  Host host;
  Access<prm::mgir_reg> mgir;
  ASSERT_TRUE(host.run(mgir.call).ok());
  EXPECT_EQ(mgir.out().at(prm::mgir_reg::hw_info).get(prm::mgir_hardware_info::device_id), 0x101du);
  EXPECT_EQ(mgir.out().at(prm::mgir_reg::fw_info).get(prm::mgir_fw_info::extended_major), 22u);
  Access<prm::pcam_reg> pcam;
  ASSERT_TRUE(host.run(pcam.call).ok());
  EXPECT_EQ(prm::ConstView<prm::pcam_regs_5000_to_507f>(
                pcam.out().at(prm::pcam_reg::port_access_reg_cap_mask).bytes())
                .get(prm::pcam_regs_5000_to_507f::ppcnt),
            1u);
  Access<prm::mcam_reg> mcam;
  EXPECT_TRUE(host.run(mcam.call).ok());
  mcam.in().set(prm::mcam_reg::feature_group, 9);
  EXPECT_TRUE(host.run(mcam.call).is(Rule::register_group));
  Access<prm::pmlp_reg> pmlp;
  ASSERT_TRUE(host.run(pmlp.call).ok());
  EXPECT_EQ(pmlp.out().get(prm::pmlp_reg::width), 4u);
  Access<prm::pfcc_reg> pfcc(true);
  pfcc.in().set(prm::pfcc_reg::pptx, 1);
  ASSERT_TRUE(host.run(pfcc.call).ok());
  EXPECT_EQ(pfcc.out().get(prm::pfcc_reg::pptx), 1u);
}

TEST(Registers, PddrTellsWhyTheLinkIsDown) {
  using Page = prm::pddr_troubleshooting_page;
  using Status = prm::pddr_monitor_status;
  Host host;
  Access<prm::pddr_reg> pddr;
  const auto page =
      pddr.out().at(prm::pddr_reg::page_data).at(prm::pddr_reg_page_data_auto::pddr_troubleshooting_page);
  auto status = [&] {
    EXPECT_TRUE(host.run(pddr.call).ok());
    return page.at(Page::status_opcode).get(prm::pddr_monitor_opcode::monitor_opcode);
  };
  pddr.in().set(prm::pddr_reg::page_select, prm::pddr_page::troubleshooting);
  model::PhysicalPort& port = host.hca().card().port;
  port.admin_up = port.wire_up = true;
  EXPECT_EQ(status(), Status::no_issue);
  port.wire_up = false;
  EXPECT_EQ(status(), Status::an_no_partner);
  EXPECT_EQ(page.get(Page::status_message, 0), 0x4175746fu) << "Auto";
  port.autonegotiation_off = true;
  EXPECT_EQ(status(), Status::no_partner_force_mode);
  port.admin_up = false;
  EXPECT_EQ(status(), Status::closed_by_command);
  EXPECT_EQ(page.get(Page::status_message, 10), 0u) << "nothing is left of a longer one";

  pddr.in()
      .at(prm::pddr_reg::page_data)
      .at(prm::pddr_reg_page_data_auto::pddr_troubleshooting_page)
      .set(Page::group_opcode, static_cast<prm::pddr_group_opcode>(1));
  EXPECT_TRUE(host.run(pddr.call).is(Rule::register_group));
  pddr.in().set(prm::pddr_reg::page_select, static_cast<prm::pddr_page>(0));
  EXPECT_TRUE(host.run(pddr.call).is(Rule::register_group));
  pddr.in().set(prm::pddr_reg::local_port, 2);
  EXPECT_TRUE(host.run(pddr.call).is(Rule::register_port));
}

TEST(Registers, MpcntHasTheCountersOfPci) {
  using Counters = prm::pcie_perf_cntrs_grp_data_layout;
  Host host;
  Access<prm::mpcnt_reg> mpcnt;
  const auto in = mpcnt.in()
                      .at(prm::mpcnt_reg::counter_set)
                      .at(prm::pcie_cntrs_grp_data_layout_auto::pcie_perf_cntrs_grp_data_layout);
  const auto out = mpcnt.out()
                       .at(prm::mpcnt_reg::counter_set)
                       .at(prm::pcie_cntrs_grp_data_layout_auto::pcie_perf_cntrs_grp_data_layout);
  in.set(Counters::rx_errors, 7);
  ASSERT_TRUE(host.run(mpcnt.call).ok());
  EXPECT_EQ(out.get(Counters::rx_errors), 0u) << "not what software sent";
  mpcnt.in().set(prm::mpcnt_reg::pcie_index, 1);
  EXPECT_TRUE(host.run(mpcnt.call).is(Rule::register_value));
  mpcnt.in().set(prm::mpcnt_reg::grp, static_cast<prm::mpcnt_group>(3));
  EXPECT_TRUE(host.run(mpcnt.call).is(Rule::register_group));
}

TEST(Registers, McqsAndMcqiTellTheFirmware) {
  Host host;
  Access<prm::mcqs_reg> mcqs;
  ASSERT_TRUE(host.run(mcqs.call).ok());
  EXPECT_EQ(mcqs.out().get(prm::mcqs_reg::identifier), prm::mcqs_identifier::boot_img);
  EXPECT_EQ(mcqs.out().get(prm::mcqs_reg::last_index_flag), 1u);
  mcqs.in().set(prm::mcqs_reg::component_index, 1);
  EXPECT_TRUE(host.run(mcqs.call).is(Rule::register_value));

  using R = prm::mcqi_reg;
  using V = prm::mcqi_version;
  Call<prm::access_reg, R::size + V::size, R::size + V::size> call;
  call.in.set(prm::access_register_in::register_id, prm::register_id::mcqi)
      .set(prm::access_register_in::op_mod, prm::access_register_op_mod::read);
  const prm::View<R> in(call.in.bytes().subspan(16));
  in.set(R::info_type, prm::mcqi_info_type::version).set(R::data_size, V::size);
  ASSERT_TRUE(host.run(call).ok());
  EXPECT_EQ(prm::ConstView<V>(call.out.bytes().subspan(16 + R::size)).get(V::version),
            22u << 24 | 35u << 16 | 1012u);
  in.set(R::data_size, V::size - 4);
  EXPECT_TRUE(host.run(call).is(Rule::register_value));
  in.set(R::data_size, V::size).set(R::info_type, prm::mcqi_info_type::activation_method);
  EXPECT_TRUE(host.run(call).is(Rule::register_value));
}

TEST(Registers, McqiDataNeedRoom) {
  Host host;
  Access<prm::mcqi_reg> mcqi;
  mcqi.in().set(prm::mcqi_reg::info_type, prm::mcqi_info_type::version).set(prm::mcqi_reg::data_size, 124);
  EXPECT_TRUE(host.run(mcqi.call).is(Rule::register_value));
}

TEST(Registers, MciaReadsTheCable) {
  using R = prm::mcia_reg;
  Host host;
  Access<R> mcia;
  mcia.in().set(R::i2c_device_address, 0x50).set(R::size_, 128).set(R::device_address, 128);
  ASSERT_TRUE(host.run(mcia.call).ok());
  EXPECT_EQ(mcia.out().get(R::status), 0u);
  EXPECT_EQ(mcia.out().get(R::dwords, 0) >> 24, 0x11u) << "QSFP28";
  EXPECT_EQ(mcia.out().get(R::dwords, (0x94 - 0x80) / 4), 0x4368696du) << "Chim";
  std::uint32_t sum = 0;
  const auto bytes = mcia.out().bytes().subspan(0x10);
  for (unsigned i = 0; i < 63; ++i) sum += std::to_integer<std::uint32_t>(bytes[i]);
  EXPECT_EQ(sum & 0xff, std::to_integer<std::uint32_t>(bytes[63])) << "CC_BASE of SFF-8636";

  mcia.in().set(R::device_address, 129);
  EXPECT_TRUE(host.run(mcia.call).is(Rule::register_value));
  mcia.in().set(R::device_address, 0).set(R::size_, 129);
  EXPECT_TRUE(host.run(mcia.call).is(Rule::register_value));
  mcia.in().set(R::size_, 4).set(R::page_number, 3);
  ASSERT_TRUE(host.run(mcia.call).ok());
  EXPECT_EQ(mcia.out().get(R::status), 9u) << "flat memory";
  mcia.in().set(R::page_number, 0).set(R::module, 1);
  ASSERT_TRUE(host.run(mcia.call).ok());
  EXPECT_EQ(mcia.out().get(R::status), 1u) << "no such module";
}

TEST(Registers, MtmpTellsTheTemperature) {
  Host host;
  Access<prm::mtcap_reg> sensors;
  ASSERT_TRUE(host.run(sensors.call).ok());
  EXPECT_EQ(sensors.out().get(prm::mtcap_reg::sensor_count), 1u);
  Access<prm::mtmp_reg> sensor;
  ASSERT_TRUE(host.run(sensor.call).ok());
  EXPECT_EQ(sensor.out().get(prm::mtmp_reg::temperature), 45u * 8);
  sensor.in().set(prm::mtmp_reg::sensor_index, 64);
  EXPECT_TRUE(host.run(sensor.call).is(Rule::register_value));
}

TEST(Registers, PplmKeepsAndShowsErrorCorrection) {
  using R = prm::pplm_reg;
  Host host;
  Access<R> read;
  ASSERT_TRUE(host.run(read.call).ok());
  EXPECT_EQ(read.out().get(R::fec_override_cap_100g), 5u);
  EXPECT_EQ(read.out().get(R::fec_mode_active), 4u) << "Reed-Solomon";
  Access<R> write(true);
  write.in().set(R::fec_override_admin_100g, 1);
  ASSERT_TRUE(host.run(write.call).ok());
  ASSERT_TRUE(host.run(read.call).ok());
  EXPECT_EQ(read.out().get(R::fec_override_admin_100g), 1u);
  EXPECT_EQ(read.out().get(R::fec_mode_active), 1u);
  write.in().set(R::fec_override_admin_100g, 2);
  EXPECT_TRUE(host.run(write.call).is(Rule::register_value)) << "no firecode at 100 Gb/s";
}

}  // namespace
}  // namespace chime::test
