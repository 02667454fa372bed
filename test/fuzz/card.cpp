// SPDX-License-Identifier: BSD-3-Clause
#include "card.h"

#include "call.h"

namespace chime::fuzz {

Card::Card(const CardOptions& options) : around(options.memory_in_one_piece) {
  static const auto profile = model::Profile::named("connectx6dx");
  auto made = model::Hca::create(*profile, around);
  want(made.has_value());
  hca = std::move(*made);
  bring_up();
  make_queues(options);
  receive(options);
  constexpr unsigned reset = 0, ready = 1;
  move_sq(reset, ready);
  move_rq(reset, ready);
}

void Card::bring_up() {
  Call<prm::enable_hca>().run(*hca);
  Call<prm::init_hca>().run(*hca);
  Call<prm::alloc_pd> pd_call;
  pd_call.run(*hca);
  pd = pd_call.out.get(prm::alloc_pd_out::pd);
  Call<prm::alloc_transport_domain> domain;
  domain.run(*hca);
  domain_ = domain.out.get(prm::alloc_transport_domain_out::transport_domain);
  for (std::uint32_t* number : {&uar, &other_uar}) {
    Call<prm::alloc_uar> page;
    page.run(*hca);
    *number = page.out.get(prm::alloc_uar_out::uar);
  }
  Call<prm::create_umem, Memory::pages * 8> umem_call;
  umem_call.in.at(prm::create_umem_in::umem).set(prm::umem::num_of_mtt, Memory::pages);
  for (std::size_t i = 0; i < Memory::pages; ++i) {
    prm::set_bits(umem_call.in.bytes().data(), (prm::create_umem_in::size + i * 8) * 8, 64, i * Memory::page);
  }
  umem_call.run(*hca);
  umem = umem_call.out.get(prm::create_umem_out::umem_id);
  key = make_key(0, Memory::size, true);
  small_key = make_key(place::data, 100, false);
}

std::uint32_t Card::make_key(std::uint64_t start, std::uint64_t length, bool write) {
  constexpr std::uint32_t variant = 0x42;
  Call<prm::create_mkey> call;
  call.in.set(prm::create_mkey_in::mkey_umem_valid, 1)
      .set(prm::create_mkey_in::mkey_umem_id, umem)
      .set(prm::create_mkey_in::mkey_umem_offset, start);
  call.in.at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(prm::mkc::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(prm::mkc::lr, 1)
      .set(prm::mkc::lw, write)
      .set(prm::mkc::mkey_7_0, variant)
      .set(prm::mkc::qpn, 0xffffff)
      .set(prm::mkc::pd, pd)
      .set(prm::mkc::start_addr, start)
      .set(prm::mkc::len, length);
  call.run(*hca);
  return call.out.get(prm::create_mkey_out::mkey_index) << 8 | variant;
}

void Card::make_queues(const CardOptions& o) {
  Call<prm::create_eq, 8> eq_call;
  eq_call.in.set(prm::create_eq_in::event_bitmask, 0, ~std::uint64_t{0});
  eq_call.in.at(prm::create_eq_in::eq_context_entry)
      .set(prm::eqc::log_eq_size, 3)
      .set(prm::eqc::uar_page, uar);
  prm::set_bits(eq_call.in.bytes().data(), prm::create_eq_in::size * 8, 64, place::eq);
  eq_call.run(*hca);
  eq = eq_call.out.get(prm::create_eq_out::eq_number);

  Call<prm::create_cq> cq_call;
  cq_call.in.set(prm::create_cq_in::cq_umem_valid, 1)
      .set(prm::create_cq_in::cq_umem_id, umem)
      .set(prm::create_cq_in::cq_umem_offset, place::cq);
  cq_call.in.at(prm::create_cq_in::cq_context)
      .set(prm::cqc::log_cq_size, o.log_queue)
      .set(prm::cqc::cqe_sz, o.large_cqe ? prm::cqc_cqe_sz::bytes_128 : prm::cqc_cqe_sz::bytes_64)
      .set(prm::cqc::oi, o.cq_overrun_ignored)
      .set(prm::cqc::cq_period, o.cq_period)
      .set(prm::cqc::cq_max_count, o.cq_max_count)
      .set(prm::cqc::uar_page, uar)
      .set(prm::cqc::c_eqn_or_apu_element, eq)
      .set(prm::cqc::dbr_umem_valid, 1)
      .set(prm::cqc::dbr_umem_id, umem)
      .set(prm::cqc::dbr_addr, place::cq_record);
  cq_call.run(*hca);
  cq = cq_call.out.get(prm::create_cq_out::cqn);

  Call<prm::create_tis> tis;
  tis.in.at(prm::create_tis_in::ctx).set(prm::tisc::transport_domain, domain_);
  tis.run(*hca);

  const auto put = [&](prm::View<prm::wq> wq, std::uint64_t at, std::uint64_t record, unsigned log_stride) {
    wq.set(prm::wq::wq_type, prm::wq_type::cyclic)
        .set(prm::wq::pd, pd)
        .set(prm::wq::log_wq_stride, log_stride)
        .set(prm::wq::log_wq_sz, o.log_queue)
        .set(prm::wq::wq_umem_valid, 1)
        .set(prm::wq::wq_umem_id, umem)
        .set(prm::wq::wq_umem_offset, at)
        .set(prm::wq::dbr_umem_valid, 1)
        .set(prm::wq::dbr_umem_id, umem)
        .set(prm::wq::dbr_addr, record);
  };
  Call<prm::create_sq> sq_call;
  const auto sqc = sq_call.in.at(prm::create_sq_in::ctx);
  sqc.set(prm::sqc::cqn, cq)
      .set(prm::sqc::tis_lst_sz, 1)
      .set(prm::sqc::tis_num_0, tis.out.get(prm::create_tis_out::tisn))
      .set(prm::sqc::flush_in_error_en, o.flush_in_error)
      .set(prm::sqc::min_wqe_inline_mode, static_cast<prm::inline_mode>(o.min_inline_mode));
  constexpr unsigned log_block = 6;
  put(sqc.at(prm::sqc::wq), place::sq, place::sq_record, log_block);
  sqc.at(prm::sqc::wq).set(prm::wq::uar_page, uar);
  sq_call.run(*hca);
  sq = sq_call.out.get(prm::create_sq_out::sqn);

  Call<prm::create_rq> rq_call;
  const auto rqc = rq_call.in.at(prm::create_rq_in::ctx);
  rqc.set(prm::rqc::cqn, cq)
      .set(prm::rqc::vsd, !o.vlan_strip)
      .set(prm::rqc::flush_in_error_en, o.flush_in_error);
  put(rqc.at(prm::rqc::wq), place::rq, place::rq_record, o.log_rq_stride);
  rq_call.run(*hca);
  rq = rq_call.out.get(prm::create_rq_out::rqn);
}

void Card::receive(const CardOptions& o) {
  Call<prm::create_tir> tir;
  const auto tirc = tir.in.at(prm::create_tir_in::ctx);
  tirc.set(prm::tirc::transport_domain, domain_);
  if (o.hash_fields == 0) {
    tirc.set(prm::tirc::inline_rqn, rq);
  } else {
    Call<prm::create_rqt, 4> rqt;
    const auto rqtc = rqt.in.at(prm::create_rqt_in::rqt_context);
    rqtc.set(prm::rqtc::rqt_max_size, 1).set(prm::rqtc::rqt_actual_size, 1);
    rqtc.at(prm::rqtc::rq_num, 0).set(prm::rq_num::rq_num_, rq);
    rqt.run(*hca);
    using Select = prm::rx_hash_field_select;
    tirc.set(prm::tirc::disp_type, prm::tirc_disp_type::indirect)
        .set(prm::tirc::indirect_table, rqt.out.get(prm::create_rqt_out::rqtn))
        .set(prm::tirc::rx_hash_fn, prm::rx_hash_fn::toeplitz)
        .set(prm::tirc::rx_hash_symmetric, o.symmetric);
    tirc.at(prm::tirc::rx_hash_field_selector_outer)
        .set(Select::l3_prot_type, o.ipv6 ? prm::rx_hash_l3_type::ipv6 : prm::rx_hash_l3_type::ipv4)
        .set(Select::l4_prot_type, o.udp ? prm::rx_hash_l4_type::udp : prm::rx_hash_l4_type::tcp)
        .set(Select::selected_fields, o.hash_fields & 15);
  }
  tir.run(*hca);

  Call<prm::create_flow_table> table;
  table.in.at(prm::create_flow_table_in::flow_table_context).set(prm::flow_table_context::log_size, 4);
  table.run(*hca);
  const std::uint32_t id = table.out.get(prm::create_flow_table_out::table_id);
  const auto entry = [&](std::uint32_t group, std::uint32_t index, auto&& value) {
    Call<prm::set_flow_table_entry, 8> call;
    call.in.set(prm::set_fte_in::table_id, id).set(prm::set_fte_in::flow_index, index);
    const auto context = call.in.at(prm::set_fte_in::flow_context);
    context.set(prm::flow_context::group_id, group)
        .set(prm::flow_context::flow_tag, index)
        .set(prm::flow_context::action, prm::flow_action::fwd_dest)
        .set(prm::flow_context::destination_list_size, 1);
    value(context.at(prm::flow_context::match_value));
    prm::View<prm::dest_format_struct>(context.bytes().subspan(prm::flow_context::size, 8))
        .set(prm::dest_format_struct::destination_type, prm::flow_destination_type::tir)
        .set(prm::dest_format_struct::destination_id, tir.out.get(prm::create_tir_out::tirn));
    call.run(*hca);
  };
  const auto group = [&](std::uint32_t first, std::uint32_t last, std::uint8_t criteria, auto&& mask) {
    Call<prm::create_flow_group> call;
    call.in.set(prm::create_flow_group_in::table_id, id)
        .set(prm::create_flow_group_in::start_flow_index, first)
        .set(prm::create_flow_group_in::end_flow_index, last)
        .set(prm::create_flow_group_in::match_criteria_enable, criteria);
    mask(call.in.at(prm::create_flow_group_in::match_criteria));
    call.run(*hca);
    return call.out.get(prm::create_flow_group_out::group_id);
  };
  if (o.entries) {
    using L = prm::fte_match_set_lyr_2_4;
    const std::uint32_t ports = group(0, 3, prm::match_criteria::outer_headers, [](auto mask) {
      mask.at(prm::fte_match_param::outer_headers).set(L::udp_dport, 0xffff).set(L::ip_protocol, 0xff);
    });
    entry(ports, 0, [](auto value) {
      value.at(prm::fte_match_param::outer_headers).set(L::udp_dport, 2000).set(L::ip_protocol, 17);
    });
    const std::uint32_t tags = group(4, 7, prm::match_criteria::outer_headers, [](auto mask) {
      mask.at(prm::fte_match_param::outer_headers).set(L::cvlan_tag, 1).set(L::first_vid, 0xff);
    });
    entry(tags, 4, [](auto value) {
      value.at(prm::fte_match_param::outer_headers).set(L::cvlan_tag, 1).set(L::first_vid, 7);
    });
  }
  const std::uint32_t all = group(8, 8, 0, [](auto) {});
  entry(all, 8, [](auto) {});
  Call<prm::set_flow_table_root> root;
  root.in.set(prm::set_flow_table_root_in::table_id, id);
  root.run(*hca);
}

void Card::move_sq(unsigned from, unsigned to) noexcept {
  Call<prm::modify_sq> call;
  call.in.set(prm::modify_sq_in::sqn, sq).set(prm::modify_sq_in::sq_state, static_cast<prm::sqc_state>(from));
  call.in.at(prm::modify_sq_in::ctx).set(prm::sqc::state, static_cast<prm::sqc_state>(to));
  call.execute(*hca);
}

void Card::move_rq(unsigned from, unsigned to) noexcept {
  Call<prm::modify_rq> call;
  call.in.set(prm::modify_rq_in::rqn, rq).set(prm::modify_rq_in::rq_state, static_cast<prm::rqc_state>(from));
  call.in.at(prm::modify_rq_in::ctx).set(prm::rqc::state, static_cast<prm::rqc_state>(to));
  call.execute(*hca);
}

void Card::write32(std::uint64_t address, std::uint32_t value) noexcept {
  for (unsigned i = 0; i < 4; ++i) {
    around.memory.at(address + i) = static_cast<std::byte>(value >> (24 - 8 * i) & 0xff);
  }
}

void Card::settle() noexcept {
  for (unsigned steps = 0; hca->step() != 0; ++steps) want(steps < 10'000);
}

}  // namespace chime::fuzz
