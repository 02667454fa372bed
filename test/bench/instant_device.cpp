// SPDX-License-Identifier: BSD-3-Clause
#include "instant_device.h"

#include <emmintrin.h>

#include <cstring>

#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

namespace chime::bench {
namespace {

void flush_ring(void* ring, std::uint32_t log_size, std::uint32_t from, std::uint32_t to) noexcept {
  for (; from != to; ++from) _mm_clflush(static_cast<prm::Cqe*>(ring) + (from & ((1u << log_size) - 1)));
  _mm_mfence();
}

std::uint8_t owner(std::uint32_t index, std::uint32_t log_size) noexcept {
  return static_cast<std::uint8_t>((index >> log_size) & 1);
}

}  // namespace

unsigned InstantReceiver::complete(unsigned most, std::uint32_t length) noexcept {
  const std::uint32_t posted = prm::Be32::from_raw(*view_.rq_dbrec);
  const std::uint32_t ready = (posted - completed_) & 0xffff;
  const unsigned now = ready < most ? ready : most;
  flush_from_ = completed_;
  for (unsigned i = 0; i < now; ++i, ++completed_) {
    prm::Cqe& cqe = static_cast<prm::Cqe*>(view_.cq)[completed_ & ((1u << view_.log_cq) - 1)];
    cqe.rss_hash_result = completed_ * 2654435761u;
    cqe.rss_hash_type = 0xff;
    cqe.hds_ip_ext = prm::cqe_l2_ok | prm::cqe_l3_ok | prm::cqe_l4_ok;
    cqe.l4_l3_hdr_type = prm::cqe_hdr_type(prm::cqe_l3::ipv4, prm::cqe_l4::udp);
    cqe.vlan_info = 0;
    cqe.byte_cnt = length;
    cqe.timestamp = completed_;
    cqe.sop_drop_qpn = 0;
    cqe.wqe_counter = static_cast<std::uint16_t>(completed_);
    __atomic_store_n(&cqe.op_own,
                     prm::cqe_op_own(prm::cqe_opcode::responder_send, owner(completed_, view_.log_cq)),
                     __ATOMIC_RELEASE);
  }
  return now;
}

std::uintptr_t InstantReceiver::address_of(std::uint32_t n) const noexcept {
  const auto* wqe =
      static_cast<const std::byte*>(view_.rq) + std::size_t{n & ((1u << view_.log_rq) - 1)} * view_.rq_stride;
  return reinterpret_cast<const prm::WqeData*>(wqe + view_.dseg_off)->address;
}

void InstantReceiver::flush() const noexcept {
  flush_ring(view_.cq, view_.log_cq, flush_from_, completed_);
}

std::uint32_t InstantSender::posted() const noexcept {
  return (prm::Be32::from_raw(*view_.sq_dbrec) - block_) & 0xffff;
}

unsigned InstantSender::complete() noexcept {
  unsigned wqes = 0;
  flush_from_ = cqes_;
  for (std::uint32_t left = posted(); left != 0; ++wqes) {
    const auto* control =
        static_cast<const prm::WqeCtrl*>(view_.sq) + (block_ & ((1u << view_.log_sq) - 1)) * 4;
    const std::uint32_t blocks = ((control->qpn_ds & 0x3f) + 3) / 4;
    if ((control->fm_ce_se & 0x0c) == static_cast<unsigned>(prm::wqe_ce::always))
      write_cqe(static_cast<std::uint16_t>(block_));
    block_ += blocks;
    left -= blocks < left ? blocks : left;
  }
  return wqes;
}

const char* InstantSender::complete_checked(rte_mbuf* const* packets, unsigned count) noexcept {
  std::uint32_t block = block_;
  std::uint64_t first_words = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (block - block_ >= posted()) return "fewer WQEs are posted than packets were taken";
    const auto* wqe =
        static_cast<const std::uint8_t*>(view_.sq) + std::size_t{block & ((1u << view_.log_sq) - 1)} * 64;
    const auto* control = reinterpret_cast<const prm::WqeCtrl*>(wqe);
    if ((control->opmod_idx_opcode >> 8 & 0xffff) != (block & 0xffff)) return "a WQE has the wrong index";
    if (const char* wrong = check(wqe, *packets[i])) return wrong;
    std::memcpy(&first_words, wqe, sizeof first_words);
    block += ((control->qpn_ds & 0x3f) + 3) / 4;
  }
  if (block - block_ != posted()) return "the record is not where the WQEs end";
  if (view_.uar != nullptr && *view_.uar != first_words) return "the doorbell does not name the last WQE";
  complete();
  return nullptr;
}

const char* InstantSender::check(const std::uint8_t* wqe, const rte_mbuf& packet) const noexcept {
  const auto* control = reinterpret_cast<const prm::WqeCtrl*>(wqe);
  if ((control->opmod_idx_opcode & 0xff) != static_cast<unsigned>(prm::wqe_opcode::send)) return "no SEND";
  const std::uint32_t ds = control->qpn_ds & 0x3f;
  if (ds < 3) return "a WQE without data";
  // The header in line, then the one data segment; neither runs over the ring's end in 64-byte WQEs.
  const auto* eth = reinterpret_cast<const prm::WqeEth*>(wqe + 16);
  const std::uint32_t in_line = (eth->inline_hdr_sz & 0x8000) != 0 ? 0 : std::uint32_t{eth->inline_hdr_sz};
  const auto* data = reinterpret_cast<const prm::WqeData*>(wqe + (ds - 1) * prm::wqe_unit);
  if (data->lkey != BENCH_LKEY) return "a data segment with another key";
  if (data->byte_count != packet.data_len - in_line) return "a data segment of another length";
  if (data->address != reinterpret_cast<std::uintptr_t>(packet.buf_addr) + packet.data_off + in_line)
    return "a data segment that points elsewhere";
  return nullptr;
}

void InstantSender::write_cqe(std::uint16_t wqe_counter) noexcept {
  prm::Cqe& cqe = static_cast<prm::Cqe*>(view_.cq)[cqes_ & ((1u << view_.log_cq) - 1)];
  cqe.wqe_counter = wqe_counter;
  __atomic_store_n(&cqe.op_own, prm::cqe_op_own(prm::cqe_opcode::requester, owner(cqes_, view_.log_cq)),
                   __ATOMIC_RELEASE);
  ++cqes_;
}

void InstantSender::flush() const noexcept {
  flush_ring(view_.cq, view_.log_cq, flush_from_, cqes_);
}

}  // namespace chime::bench
