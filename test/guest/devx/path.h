// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <vector>

#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"
#include "user.h"

namespace chime::test {

/// One send queue and one receive queue with their completion queues, made of DevX objects alone: a packet
/// sent on a looped wire comes back.
class Path {
 public:
  static constexpr std::uint8_t log_size = 4;
  static constexpr std::size_t frame_room = 2048;

  static constexpr std::size_t records_at = 8192;

  explicit Path(ibv_context* context);

  /// Sends a frame, and waits for its completion.
  void send(std::span<const std::byte> frame);
  /// Gives the receive queue one more place for a frame.
  void post_receive();
  /// The frame that came next, empty when none comes.
  std::span<const std::byte> receive();
  /// Asks for an event when the next frame has come.
  void arm_receive();

  std::uint32_t tirn() const { return tirn_; }
  mlx5dv_devx_obj* tir() const { return tir_.get(); }
  mlx5dv_devx_obj* receive_cq() const { return receive_cq_.object.get(); }

  /// An object, by the command that made it.
  struct Made {
    prm::cmd_opcode by;
    std::uint32_t number;
    mlx5dv_devx_obj* object;
  };
  std::vector<Made> objects() const;
  // For more objects in the same memory and domains.
  std::uint32_t umem() const { return umem_->umem_id; }
  std::uint32_t uar() const { return uar_->page_id; }
  static constexpr std::size_t free_ring = 61440;  ///< a page that no queue lies in
  static constexpr std::size_t free_record = records_at + 256;
  const prm::Cqe& last() const { return last_; }  ///< the CQE of the last receive()

 private:
  struct Cq {
    Handle<mlx5dv_devx_obj> object;
    std::uint32_t number = 0;
    prm::Cqe* ring = nullptr;
    prm::CqRecord* record = nullptr;
    std::uint32_t consumer = 0;
  };
  void make_cq(Cq& cq, std::size_t offset);
  void make_key();
  void make_send_queue();
  void make_receive_queue();
  bool poll(Cq& cq, prm::Cqe& cqe);
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(memory_ + offset);
  }

  // Where things lie in the memory.
  static constexpr std::size_t send_cqes = 0, receive_cqes = 4096, records = records_at, send_ring = 12288,
                               receive_ring = 16384, send_frame = 20480, receive_frames = 24576, size = 65536;

  ibv_context* context_;
  std::unique_ptr<std::byte, decltype(&std::free)> owner_;
  std::byte* memory_;
  Handle<mlx5dv_devx_umem> umem_;
  Handle<mlx5dv_devx_uar> uar_;
  std::uint32_t eqn_ = 0;
  Handle<mlx5dv_devx_obj> pd_, domain_, key_;
  std::uint32_t pdn_ = 0, domain_number_ = 0, lkey_ = 0;
  Cq send_cq_, receive_cq_;
  Handle<mlx5dv_devx_obj> tis_, sq_, rq_, tir_;
  std::uint32_t tisn_ = 0, sqn_ = 0, rqn_ = 0, tirn_ = 0;
  std::uint16_t sent_ = 0, posted_ = 0, received_ = 0;
  std::uint32_t arms_ = 0;
  prm::Cqe last_{};
};

}  // namespace chime::test
