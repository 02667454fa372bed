// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>

#include "../datapath/rig.h"
#include "model/object/qp.h"

/// @file
/// Queue pairs of a rig's card, put into it directly, and the software's side of them.

namespace chime::test {

/// A send request, segment by segment.
class Wqe {
 public:
  static constexpr unsigned signalled = 0x08, solicited = 0x02, fence = 0x40, strong = 0x60;

  explicit Wqe(prm::wqe_opcode opcode, unsigned mode = signalled, std::uint32_t immediate = 0,
               unsigned opmod = 0);
  Wqe& remote(std::uint64_t address, std::uint32_t rkey);
  Wqe& operands(const Bytes& bytes);  ///< padded to whole units
  Wqe& data(std::uint64_t address, std::uint32_t length, std::uint32_t lkey);
  Wqe& in_line(const Bytes& bytes);
  Wqe& vector(const model::RoceAddress& to, std::uint32_t qpn, std::uint32_t qkey, unsigned gid_index = 0);

  Bytes bytes() const { return builder_.bytes(); }

 private:
  FrameBuilder builder_;
};

Wqe fetch_add(std::uint64_t add, std::uint64_t address, std::uint32_t rkey, std::uint64_t result,
              std::uint32_t lkey, unsigned mode = Wqe::signalled);
Wqe compare_swap(std::uint64_t compare, std::uint64_t swap, std::uint64_t address, std::uint32_t rkey,
                 std::uint64_t result, std::uint32_t lkey);
/// @param opcode atomic_masked_cs or atomic_masked_fa
Wqe masked(prm::wqe_opcode opcode, unsigned size, const Bytes& operands, std::uint64_t address,
           std::uint32_t rkey, std::uint64_t result, std::uint32_t lkey);

struct QueuePair {
  model::Qp* qp = nullptr;
  CompletionQueue send_cq, receive_cq;
  std::uint64_t send = 0, receive = 0, record = 0;
  std::uint16_t producer = 0, receive_producer = 0, last = 0;
  Rig* rig = nullptr;

  void post(const Wqe& wqe);
  void post_raw(Bytes wqe);
  void ring();  ///< record, doorbell
  void post_receive(const std::vector<Data>& segments);

  /// Through Engine as commands do it.
  void modify(model::QpState to, const model::QpAttributes& next);
  void modify(model::QpState to) { modify(to, qp->attributes); }
};

struct QpOptions {
  model::QpService service = model::QpService::rc;
  unsigned log_send = 6, log_receive = 4, log_cq = 7;
  unsigned receive_segments = 4;
};

/// A rig whose card does atomics and has two RoCE addresses: 0 is 10.0.0.1, 1 is 2001:db8::1.
struct RoceRig : Rig {
  RoceRig();

  QueuePair make_qp(const QpOptions& options = {});
  /// Attributes that suit `from` talking to `to` through the port's own address `gid`.
  model::QpAttributes attributes(const QueuePair& to, unsigned gid = 0) const;
  void connect(QueuePair& a, QueuePair& b, unsigned gid = 0);
  static void bring_up(QueuePair& qp, const model::QpAttributes& attributes);

  /// What the wire kept is handed back to the card, frame by frame, until nothing comes any more.
  /// @param change may drop, repeat or permute the frames of one round
  template <class Change>
  void exchange(Change&& change, unsigned rounds = 10000) {
    for (unsigned i = 0; i < rounds; ++i) {
      run();
      std::vector<Bytes> frames = std::move(wire.sent);
      wire.sent.clear();
      if (frames.empty()) return;
      change(frames);
      for (const Bytes& frame : frames) wire.deliver(frame);
    }
    too_many_rounds();
  }
  void exchange() {
    exchange([](std::vector<Bytes>&) {});
  }
  static void too_many_rounds();

  std::uint64_t u64(std::uint64_t address) { return memory.at<std::uint64_t>(address); }
  std::uint32_t rkey() const { return target_key->number << 8 | target_key->key_byte; }

  model::Mkey* target_key = nullptr;  ///< all of memory, all rights
};

/// The opcode byte of a RoCE frame.
unsigned opcode_of(const Bytes& frame);
std::uint32_t psn_of(const Bytes& frame);

}  // namespace chime::test
