// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/faults.h"
#include "model/datapath/keys.h"
#include "model/datapath/large_send.h"
#include "model/datapath/send_batch.h"
#include "prm/wqe.h"

namespace chime::model {

/// What became of a SEND.
struct SendOutcome {
  Fault fault = Fault::none;
  std::uint32_t detail = 0;  ///< the key, size or opcode that was at fault
};

/// Where the next packet of a multi-packet request begins.
struct PacketPlace {
  std::uint32_t at = 0;      ///< its segment, bytes into the request; 0: the first
  std::uint32_t within = 0;  ///< bytes into an inline segment, which may hold several equal packets
};

/// Makes one frame of the batch out of a SEND request.
class SendRequest {
 public:
  SendRequest(Keys& keys, const net::VxlanPorts& vxlan, SendBatch& batch) noexcept
      : keys_(keys), vxlan_(vxlan), batch_(batch) {}

  /// @param wqe the request in one piece
  /// @param ds  its 16-byte units, 2 to 63
  SendOutcome execute(Sq& sq, const std::byte* wqe, std::uint32_t ds) noexcept;
  /// One packet of a multi-packet request, and goes on to the next. The batch must have room for it.
  /// @param end  of the request, bytes
  SendOutcome next_packet(Sq& sq, const std::byte* wqe, PacketPlace& place, std::uint32_t end) noexcept;
  /// The same of a request of the first form, whose packets all have `mss` bytes: a pointer each, or all of
  /// them in one inline segment, one behind the other (DPDK's net_mlx5: "legacy MPW").
  SendOutcome next_equal_packet(Sq& sq, const std::byte* wqe, PacketPlace& place, std::uint32_t end) noexcept;
  /// Reads an LSO request; its frames come from `large` then. The batch must be empty, and stays so.
  SendOutcome begin_large(Sq& sq, const std::byte* wqe, std::uint32_t ds, LargeSend& large) noexcept;

 private:
  SendOutcome add_frame(Sq& sq, Segment* slot, unsigned first, std::uint32_t length,
                        std::uint32_t inline_size, std::uint32_t cs_flags, std::uint32_t tag) noexcept;
  SendOutcome gather_segments(Sq& sq, const std::byte* wqe, std::uint32_t at, std::uint32_t end,
                              std::uint32_t& frame_length, std::uint32_t longest) noexcept;
  /// The segments of a pointer to what may be broken, or no memory at all.
  /// @param left its bytes, as they were read: software may change the request meanwhile
  SendOutcome pieces(Sq& sq, const prm::WqeData& data, std::uint32_t left, Segment*& to) noexcept;
  /// Copies the headers to scratch memory and changes them there.
  void rewrite(Frame& frame, Segment* slot, std::uint32_t cs_flags, std::uint32_t tag) noexcept;
  bool enough_inline(const Sq& sq, const Frame& frame, std::uint32_t inline_size) const noexcept;

  Keys& keys_;
  const net::VxlanPorts& vxlan_;
  SendBatch& batch_;
};

}  // namespace chime::model
