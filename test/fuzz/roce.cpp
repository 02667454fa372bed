// SPDX-License-Identifier: BSD-3-Clause
// RoCE packets as a hostile peer sends them, to queue pairs of every service that have requests of their own
// under way; and any bytes behind a right IP header. The input: 2 bytes of options, and a list of steps; see
// step().
#include "model/packet/roce.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "call.h"
#include "card.h"
#include "input.h"
#include "prm/wqe.h"

namespace {

using namespace chime;
using fuzz::Call;
using fuzz::Input;
using fuzz::want;
namespace place = fuzz::place;

constexpr std::uint64_t ring = 0xa000, record = place::records + 192, target = 0xc000;
constexpr std::uint32_t target_bytes = 0x2000, receives = 16, blocks = 16, first_psn = 0xfffff8;
constexpr std::array<std::uint8_t, 16> own = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                                       peer = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
constexpr std::array<std::uint8_t, 6> own_mac = {2, 0, 0, 0, 0, 1}, peer_mac = {2, 0, 0, 0, 0, 2};

class Peer {
 public:
  Peer(bool in_one_piece, prm::qpc_st service) : card_({.memory_in_one_piece = in_one_piece}) {
    set_address();
    make_key();
    make_qp(service);
    connect();
  }

  void step(Input& input) {
    switch (input.below(6)) {
      case 0:
        return post(input);
      case 1:
        card_.write32(record, input.u8());  // receives, as many as that or too many
        return;
      case 2:
        card_.around.memory.toggle(input.below(fuzz::Memory::pages));
        return;
      case 3:
        return raw(input);
      default:
        return packet(input);
    }
  }

 private:
  void set_address() {
    Call<prm::modify_nic_vport_context> on;
    using Modify = prm::modify_nic_vport_context_in;
    on.in.at(Modify::field_select).set(prm::modify_nic_vport_field_select::roce_en, 1);
    on.in.at(Modify::nic_vport_context).set(prm::nic_vport_context::roce_en, 1);
    on.run(*card_.hca);
    Call<prm::set_roce_address> call;
    const auto address = call.in.at(prm::set_roce_address_in::roce_address);
    for (std::size_t i = 0; i < own.size(); ++i)
      address.set(prm::roce_addr_layout::source_l3_address, i, std::uint32_t{own[i]});
    address.set(prm::roce_addr_layout::source_mac_47_32, 0x0200u)
        .set(prm::roce_addr_layout::source_mac_31_0, 1u)
        .set(prm::roce_addr_layout::roce_l3_type, prm::roce_l3_type::ipv4)
        .set(prm::roce_addr_layout::roce_version, prm::roce_version::v2);
    call.run(*card_.hca);
  }

  /// All rights, on what lies at the target.
  void make_key() {
    Call<prm::create_mkey> call;
    call.in.set(prm::create_mkey_in::mkey_umem_valid, 1)
        .set(prm::create_mkey_in::mkey_umem_id, card_.umem)
        .set(prm::create_mkey_in::mkey_umem_offset, target);
    call.in.at(prm::create_mkey_in::memory_key_mkey_entry)
        .set(prm::mkc::access_mode_1_0, prm::mkc_access_mode::mtt)
        .set(prm::mkc::lr, 1)
        .set(prm::mkc::lw, 1)
        .set(prm::mkc::rr, 1)
        .set(prm::mkc::rw, 1)
        .set(prm::mkc::a, 1)
        .set(prm::mkc::qpn, 0xffffff)
        .set(prm::mkc::pd, card_.pd)
        .set(prm::mkc::start_addr, target)
        .set(prm::mkc::len, target_bytes);
    call.run(*card_.hca);
    rkey_ = call.out.get(prm::create_mkey_out::mkey_index) << 8;
  }

  void make_qp(prm::qpc_st service) {
    Call<prm::create_qp> call;
    call.in.set(prm::create_qp_in::wq_umem_valid, 1)
        .set(prm::create_qp_in::wq_umem_id, card_.umem)
        .set(prm::create_qp_in::wq_umem_offset, ring);
    call.in.at(prm::create_qp_in::qpc)
        .set(prm::qpc::st, service)
        .set(prm::qpc::pm_state, prm::qpc_pm_state::migrated)
        .set(prm::qpc::pd, card_.pd)
        .set(prm::qpc::uar_page, card_.uar)
        .set(prm::qpc::cqn_snd, card_.cq)
        .set(prm::qpc::cqn_rcv, card_.cq)
        .set(prm::qpc::rq_type, prm::qpc_rq_type::regular)
        .set(prm::qpc::log_rq_size, 4)
        .set(prm::qpc::log_rq_stride, 0)
        .set(prm::qpc::log_sq_size, 4)
        .set(prm::qpc::dbr_umem_valid, 1)
        .set(prm::qpc::dbr_umem_id, card_.umem)
        .set(prm::qpc::dbr_addr, record);
    call.run(*card_.hca);
    qpn_ = call.out.get(prm::create_qp_out::qpn);
    for (std::uint32_t i = 0; i < receives; ++i) {
      const std::uint64_t at = ring + i * prm::wqe_unit;
      card_.write32(at, 512);
      card_.write32(at + 4, card_.key);
      card_.write32(at + 12, static_cast<std::uint32_t>(place::data + i * 64));
    }
  }

  template <class C>
  void move(auto&& fill) {
    Call<C> call;
    call.in.set(C::in::qpn, qpn_);
    const auto context = call.in.at(C::in::qpc);
    context.set(prm::qpc::pm_state, prm::qpc_pm_state::migrated);
    context.at(prm::qpc::primary_address_path).set(prm::ads::vhca_port_num, 1);
    fill(call.in, context);
    call.execute(*card_.hca);
  }

  void connect() {
    const auto rights = [](auto context) {
      context.set(prm::qpc::rre, 1)
          .set(prm::qpc::rwe, 1)
          .set(prm::qpc::rae, 1)
          .set(prm::qpc::atomic_mode, prm::atomic_mode::up_to_256b);
    };
    move<prm::rst2init_qp>([&](auto&, auto context) { rights(context); });
    move<prm::init2rtr_qp>([&](auto&, auto context) {
      context.set(prm::qpc::mtu, prm::qpc_mtu::bytes_256)
          .set(prm::qpc::log_msg_max, 20)
          .set(prm::qpc::remote_qpn, 0x123)
          .set(prm::qpc::next_rcv_psn, first_psn)
          .set(prm::qpc::log_rra_max, 2)
          .set(prm::qpc::min_rnr_nak, 1);
      auto path = context.at(prm::qpc::primary_address_path);
      path.set(prm::ads::grh, 1)
          .set(prm::ads::hop_limit, 64)
          .set(prm::ads::ack_timeout, 1)
          .set(prm::ads::rmac_47_32, 0x0200u)
          .set(prm::ads::rmac_31_0, 2u);
      for (std::size_t i = 0; i < peer.size(); ++i) path.set(prm::ads::rgid_rip, i, std::uint32_t{peer[i]});
    });
    move<prm::rtr2rts_qp>([&](auto&, auto context) {
      context.set(prm::qpc::next_send_psn, first_psn)
          .set(prm::qpc::log_sra_max, 2)
          .set(prm::qpc::retry_count, 7)
          .set(prm::qpc::rnr_retry, 7);
      context.at(prm::qpc::primary_address_path).set(prm::ads::ack_timeout, 1);
    });
  }

  /// A request of its own, for answers to be answers to: read, atomic, write or send.
  void post(Input& input) {
    constexpr std::array opcodes = {prm::wqe_opcode::rdma_read, prm::wqe_opcode::atomic_fa,
                                    prm::wqe_opcode::rdma_write, prm::wqe_opcode::send};
    const prm::wqe_opcode opcode = opcodes[input.below(opcodes.size())];
    const bool remote = opcode != prm::wqe_opcode::send, atomic = opcode == prm::wqe_opcode::atomic_fa;
    const std::uint64_t base = ring + receives * prm::wqe_unit;
    std::uint64_t at = base + std::uint64_t{posted_ % blocks} * prm::wqebb_size;
    const std::uint64_t begin = at;
    const std::uint32_t ds = atomic ? 4 : remote ? 3 : 2;
    const auto put = [&](std::uint32_t value) {
      card_.write32(at, value);
      at += 4;
    };
    put(std::uint32_t{posted_} << 8 | static_cast<std::uint32_t>(opcode));
    put(qpn_ << 8 | ds);
    put(0x08);
    put(0);
    if (remote) {
      put(0);
      put(target);
      put(0x77);  // the peer's key
      put(0);
    }
    if (atomic)
      for (unsigned i = 0; i < 4; ++i) put(i);
    put(atomic ? 8 : 1 + 8 * std::uint32_t{input.u8()});
    put(card_.key);
    put(0);
    put(place::data);
    ++posted_;
    card_.write32(record + 4, posted_);
    std::uint64_t doorbell = 0;
    for (unsigned i = 0; i < 8; ++i)
      reinterpret_cast<std::byte*>(&doorbell)[i] = card_.around.memory.at(begin + i);
    card_.hca->doorbell(card_.uar, 0x800, doorbell);
    card_.settle();
  }

  /// Mostly what could come: an opcode, a PSN near the right one, headers with some of the right values.
  void packet(Input& input) {
    net::RocePacket p;
    p.opcode = input.u8();
    const unsigned flags = input.u8();
    p.qpn = (flags & 1) != 0 ? qpn_ + input.u8() : qpn_;
    p.psn = net::psn_add(first_psn, input.u8());
    p.ack_request = (flags & 2) != 0;
    p.solicited = (flags & 4) != 0;
    p.pad = static_cast<std::uint8_t>(flags >> 3 & 3);
    p.rkey = (flags & 32) != 0 ? input.u32() : rkey_;
    p.address = (flags & 64) != 0 ? input.u64() : target + input.u8();
    p.message_length = input.u16();
    p.syndrome = input.u8();
    p.msn = input.u8();
    p.swap_or_add = p.compare = p.original = input.u8();
    p.extended_kind = static_cast<std::uint8_t>(input.u8() % 5);
    p.log_size = static_cast<std::uint8_t>(input.u8() % 12);
    p.immediate = p.qkey = input.u8();
    p.source_qpn = 0x123;
    std::array<std::byte, net::largest_bth> headers{};
    const std::uint32_t bytes = net::write_roce(headers.data(), p);
    const auto payload = input.take((flags & 128) != 0 ? 256 : input.u16() % 1100);
    send({headers.data(), bytes}, payload);
  }

  void raw(Input& input) { send({}, input.take(input.u8())); }

  void send(std::span<const std::byte> headers, std::span<const std::uint8_t> payload) {
    const net::RouteHeader route = net::make_route_header({.destination_mac = own_mac,
                                                           .source_mac = peer_mac,
                                                           .source = peer,
                                                           .destination = own,
                                                           .hop_limit = 64,
                                                           .source_port = 0xc000});
    std::array<std::byte, 2048> frame{};
    std::byte* const bth = frame.data() + route.length;
    std::memcpy(bth, headers.data(), headers.size());
    if (!payload.empty()) std::memcpy(bth + headers.size(), payload.data(), payload.size());
    const auto content =
        std::max<std::uint32_t>(net::bth_size, static_cast<std::uint32_t>(headers.size() + payload.size()));
    const std::uint32_t length = net::finish_roce(frame.data(), route, content);
    const model::Segment segment{frame.data(), length};
    const model::Frame one{&segment, 1, length};
    card_.around.wire.deliver({&one, 1});
    card_.settle();
  }

  fuzz::Card card_;
  std::uint32_t qpn_ = 0, rkey_ = 0;
  std::uint16_t posted_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const bool in_one_piece = input.flag();
  constexpr std::array services = {prm::qpc_st::rc, prm::qpc_st::uc, prm::qpc_st::ud};
  Peer peer(in_one_piece, services[input.below(services.size())]);
  constexpr unsigned most = 100;
  for (unsigned i = 0; i < most && !input.empty(); ++i) peer.step(input);
  return 0;
}
