// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/compressed_cqes.h"

#include <algorithm>
#include <cstring>

namespace chime::model {
namespace {

prm::MiniCqe mini_of(const prm::Cqe& cqe, CqeCompression format) noexcept {
  prm::MiniCqe mini{};
  if (format == CqeCompression::hash) {
    std::memcpy(&mini, &cqe.rss_hash_result, sizeof(cqe.rss_hash_result));
  } else {
    mini.check_sum = cqe.check_sum;
    if (format == CqeCompression::checksum_stride) mini.stride_index = cqe.wqe_counter;
  }
  mini.byte_cnt = cqe.byte_cnt;
  return mini;
}

/// Requests, or strides, that a CQE stands for.
std::uint16_t step_of(const Rq& rq, const prm::Cqe& cqe) noexcept {
  return rq.strides ? static_cast<std::uint16_t>(cqe.byte_cnt >> prm::cqe_strides_shift) : 1;
}

}  // namespace

bool CompressedCqes::fits(const Rq& rq, const prm::Cqe& cqe) const noexcept {
  if (rq_ != &rq || count_ == most_ || ((title_.byte_cnt | cqe.byte_cnt) & prm::cqe_filler)) return false;
  const CqeCompression format = rq.cq->compression;
  if (format != CqeCompression::checksum_stride && cqe.wqe_counter != next_counter_) return false;
  prm::Cqe same = cqe;
  same.byte_cnt = title_.byte_cnt;
  same.check_sum = title_.check_sum;
  same.rss_hash_result = title_.rss_hash_result;
  if (format != CqeCompression::hash) same.rss_hash_type = title_.rss_hash_type;
  same.timestamp = title_.timestamp;
  same.wqe_counter = title_.wqe_counter;
  return std::memcmp(&same, &title_, sizeof(same)) == 0;
}

void CompressedCqes::add(Rq& rq, const prm::Cqe& cqe) noexcept {
  const bool joins = count_ != 0 && fits(rq, cqe) && completions_.has_room(*rq.cq, count_ + 1);
  if (!joins) {
    flush();
    rq_ = &rq;
    title_ = cqe;
    next_counter_ = cqe.wqe_counter;
  }
  minis_[count_++] = mini_of(cqe, rq.cq->compression);
  next_counter_ = static_cast<std::uint16_t>(next_counter_ + step_of(rq, cqe));
}

void CompressedCqes::flush() noexcept {
  if (count_ == 0) return;
  if (!write(*rq_->cq)) rq_->state = QueueState::error;
  count_ = 0;
}

bool CompressedCqes::write(Cq& cq) noexcept {
  prm::Cqe* const at = completions_.open(cq);
  if (!at) return false;
  std::uint8_t format = 0;
  if (count_ > 1) {
    for (unsigned i = 0; i < count_; i += prm::mini_cqes) {
      prm::Cqe* const array = completions_.slot(cq, i == 0 ? 1 : i);
      if (!array) return false;
      std::memset(array, 0, sizeof(*array));
      std::memcpy(array, &minis_[i], std::min(count_ - i, prm::mini_cqes) * sizeof(prm::MiniCqe));
    }
    title_.byte_cnt = count_;
    format = prm::cqe_compressed;
  }
  std::memcpy(at, &title_, offsetof(prm::Cqe, sop_drop_qpn));
  completions_.close(cq, at, title_.sop_drop_qpn, title_.wqe_counter, prm::cqe_opcode_of(title_.op_own),
                     false, format, count_);
  return true;
}

}  // namespace chime::model
