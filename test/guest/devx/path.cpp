// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace chime::test {
namespace {

constexpr std::uint32_t any_qp = 0xffffff;
constexpr std::uint8_t key_tag = 0x42;

template <class C>
void ready(std::uint32_t number, mlx5dv_devx_obj* object, auto number_field, auto state_field, auto state) {
  Command<C> modify;
  modify.in.set(number_field, number).at(C::in::ctx).set(state_field, state);
  EXPECT_EQ(modify.modify(object), "");
}

void ring(mlx5dv_devx_uar& uar, std::size_t offset, std::uint64_t value) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *reinterpret_cast<volatile std::uint64_t*>(static_cast<std::byte*>(uar.base_addr) + offset) = value;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

Path::Path(ibv_context* context)
    : context_(context),
      owner_(static_cast<std::byte*>(std::aligned_alloc(4096, size)), &std::free),
      memory_(owner_.get()) {
  std::fill_n(memory_, std::size_t{size}, std::byte{0});
  umem_.reset(mlx5dv_devx_umem_reg(context, memory_, size, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_TRUE(umem_) << "umem: errno " << errno;
  uar_.reset(mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC));
  EXPECT_TRUE(uar_) << "UAR: errno " << errno;
  EXPECT_EQ(mlx5dv_devx_query_eqn(context, 0, &eqn_), 0);
  if (!umem_ || !uar_) std::abort();  // nothing below makes sense

  Command<prm::alloc_pd> pd;
  pd_ = pd.create(context);
  pdn_ = pd.out.get(prm::alloc_pd_out::pd);
  Command<prm::alloc_transport_domain> domain;
  domain_ = domain.create(context);
  domain_number_ = domain.out.get(prm::alloc_transport_domain_out::transport_domain);
  make_key();
  make_cq(send_cq_, send_cqes);
  make_cq(receive_cq_, receive_cqes);
  make_send_queue();
  make_receive_queue();
}

std::vector<Path::Made> Path::objects() const {
  using enum prm::cmd_opcode;
  return {{alloc_pd, pdn_, pd_.get()},           {alloc_transport_domain, domain_number_, domain_.get()},
          {create_mkey, lkey_ >> 8, key_.get()}, {create_cq, receive_cq_.number, receive_cq_.object.get()},
          {create_tis, tisn_, tis_.get()},       {create_sq, sqn_, sq_.get()},
          {create_rq, rqn_, rq_.get()},          {create_tir, tirn_, tir_.get()}};
}

void Path::make_key() {
  Command<prm::create_mkey> create;
  create.in.set(prm::create_mkey_in::mkey_umem_id, umem_->umem_id)
      .set(prm::create_mkey_in::translations_octword_actual_size, size / 4096 / 2)
      .at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(prm::mkc::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(prm::mkc::lr, 1)
      .set(prm::mkc::lw, 1)
      .set(prm::mkc::qpn, any_qp)
      .set(prm::mkc::mkey_7_0, key_tag)
      .set(prm::mkc::pd, pdn_)
      .set(prm::mkc::start_addr, reinterpret_cast<std::uintptr_t>(memory_))
      .set(prm::mkc::len, std::uint64_t{size})
      .set(prm::mkc::translations_octword_size, size / 4096 / 2)
      .set(prm::mkc::log_page_size, 12);
  key_ = create.create(context_);
  lkey_ = create.out.get(prm::create_mkey_out::mkey_index) << 8 | key_tag;
}

void Path::make_cq(Cq& cq, std::size_t offset) {
  cq.ring = at<prm::Cqe>(offset);
  const std::size_t record = records + offset / 4096 * 64;
  cq.record = at<prm::CqRecord>(record);
  for (prm::Cqe& cqe : std::span(cq.ring, 1u << log_size)) {
    cqe.op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
  }
  Command<prm::create_cq> create;
  create.in.set(prm::create_cq_in::cq_umem_id, umem_->umem_id)
      .set(prm::create_cq_in::cq_umem_offset, offset)
      .at(prm::create_cq_in::cq_context)
      .set(prm::cqc::log_cq_size, log_size)
      .set(prm::cqc::uar_page, uar_->page_id)
      .set(prm::cqc::c_eqn_or_apu_element, eqn_)
      .set(prm::cqc::dbr_umem_id, umem_->umem_id)
      .set(prm::cqc::dbr_addr, record);
  cq.object = create.create(context_);
  cq.number = create.out.get(prm::create_cq_out::cqn);
}

void Path::make_send_queue() {
  Command<prm::create_tis> tis;
  tis.in.at(prm::create_tis_in::ctx).set(prm::tisc::transport_domain, domain_number_);
  tis_ = tis.create(context_);
  tisn_ = tis.out.get(prm::create_tis_out::tisn);

  Command<prm::create_sq> create;
  auto context = create.in.at(prm::create_sq_in::ctx);
  context.set(prm::sqc::flush_in_error_en, 1)
      .set(prm::sqc::cqn, send_cq_.number)
      .set(prm::sqc::tis_lst_sz, 1)
      .set(prm::sqc::tis_num_0, tisn_);
  context.at(prm::sqc::wq)
      .set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, pdn_)
      .set(prm::wq::uar_page, uar_->page_id)
      .set(prm::wq::log_wq_sz, log_size)
      .set(prm::wq::log_wq_stride, 6)
      .set(prm::wq::wq_umem_id, umem_->umem_id)
      .set(prm::wq::wq_umem_offset, std::uint64_t{send_ring})
      .set(prm::wq::dbr_umem_id, umem_->umem_id)
      .set(prm::wq::dbr_addr, std::uint64_t{records + 128});
  sq_ = create.create(context_);
  sqn_ = create.out.get(prm::create_sq_out::sqn);
  ready<prm::modify_sq>(sqn_, sq_.get(), prm::modify_sq_in::sqn, prm::sqc::state, prm::sqc_state::rdy);
}

void Path::make_receive_queue() {
  Command<prm::create_rq> create;
  auto context = create.in.at(prm::create_rq_in::ctx);
  context.set(prm::rqc::vsd, 1)
      .set(prm::rqc::mem_rq_type, prm::mem_rq_type::memory_rq_inline)
      .set(prm::rqc::flush_in_error_en, 1)
      .set(prm::rqc::cqn, receive_cq_.number);
  context.at(prm::rqc::wq)
      .set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, pdn_)
      .set(prm::wq::log_wq_sz, log_size)
      .set(prm::wq::log_wq_stride, 4)
      .set(prm::wq::wq_umem_id, umem_->umem_id)
      .set(prm::wq::wq_umem_offset, std::uint64_t{receive_ring})
      .set(prm::wq::dbr_umem_id, umem_->umem_id)
      .set(prm::wq::dbr_addr, std::uint64_t{records + 192});
  rq_ = create.create(context_);
  rqn_ = create.out.get(prm::create_rq_out::rqn);
  ready<prm::modify_rq>(rqn_, rq_.get(), prm::modify_rq_in::rqn, prm::rqc::state, prm::rqc_state::rdy);

  Command<prm::create_tir> tir;
  tir.in.at(prm::create_tir_in::ctx)
      .set(prm::tirc::disp_type, prm::tirc_disp_type::direct)
      .set(prm::tirc::inline_rqn, rqn_)
      .set(prm::tirc::transport_domain, domain_number_);
  tir_ = tir.create(context_);
  tirn_ = tir.out.get(prm::create_tir_out::tirn);
}

void Path::send(std::span<const std::byte> frame) {
  constexpr std::size_t inlined = 18;
  std::ranges::copy(frame, memory_ + send_frame);
  std::byte* wqe = memory_ + send_ring + (sent_ % (1u << log_size)) * prm::wqebb_size;
  std::fill_n(wqe, prm::wqebb_size, std::byte{0});
  auto* control = reinterpret_cast<prm::WqeCtrl*>(wqe);
  control->opmod_idx_opcode = std::uint32_t{sent_} << 8 | static_cast<std::uint32_t>(prm::wqe_opcode::send);
  control->qpn_ds = sqn_ << 8 | 4;
  control->fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::always);
  auto* ethernet = reinterpret_cast<prm::WqeEth*>(wqe + 16);
  ethernet->inline_hdr_sz = static_cast<std::uint16_t>(inlined);
  std::copy_n(frame.begin(), inlined, reinterpret_cast<std::byte*>(ethernet->inline_start));
  auto* data = reinterpret_cast<prm::WqeData*>(wqe + 48);
  data->byte_count = static_cast<std::uint32_t>(frame.size() - inlined);
  data->lkey = lkey_;
  data->address = reinterpret_cast<std::uintptr_t>(memory_ + send_frame + inlined);
  ++sent_;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  at<prm::WqRecord>(records + 128)->send = std::uint32_t{sent_};
  std::uint64_t first;
  std::memcpy(&first, wqe, sizeof first);
  ring(*uar_, prm::uar_blueflame, first);
  prm::Cqe cqe;
  ASSERT_TRUE(poll(send_cq_, cqe)) << "no completion of a send";
  ASSERT_EQ(cqe.op_own >> 4, static_cast<int>(prm::cqe_opcode::requester));
}

void Path::post_receive() {
  auto* data = at<prm::WqeData>(receive_ring) + posted_ % (1u << log_size);
  data->byte_count = static_cast<std::uint32_t>(frame_room);
  data->lkey = lkey_;
  data->address =
      reinterpret_cast<std::uintptr_t>(memory_ + receive_frames) + posted_ % (1u << log_size) * frame_room;
  ++posted_;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  at<prm::WqRecord>(records + 192)->receive = std::uint32_t{posted_};
}

std::span<const std::byte> Path::receive() {
  if (!poll(receive_cq_, last_)) return {};
  EXPECT_EQ(last_.op_own >> 4, static_cast<int>(prm::cqe_opcode::responder_send));
  const std::size_t slot = received_++ % (1u << log_size);
  return {memory_ + receive_frames + slot * frame_room, last_.byte_cnt};
}

void Path::arm_receive() {
  const std::uint32_t word = prm::cq_arm_word(arms_++, prm::cq_arm::any, receive_cq_.consumer);
  receive_cq_.record->arm = word;
  prm::Be32 pair[2]{};
  pair[0] = word;
  pair[1] = receive_cq_.number;
  std::uint64_t value;
  std::memcpy(&value, pair, sizeof value);
  ring(*uar_, prm::uar_cq_doorbell, value);
}

bool Path::poll(Cq& cq, prm::Cqe& cqe) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  auto& next = cq.ring[cq.consumer % (1u << log_size)];
  const std::uint8_t owner = cq.consumer >> log_size & 1;
  while (true) {
    const std::uint8_t op_own = *const_cast<volatile std::uint8_t*>(&next.op_own);
    if ((op_own & 1) == owner && op_own >> 4 != static_cast<int>(prm::cqe_opcode::invalid)) break;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  cqe = next;
  cq.record->consumer = ++cq.consumer & 0xffffff;
  return true;
}

}  // namespace chime::test
