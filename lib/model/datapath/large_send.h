// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/datapath/send_batch.h"
#include "model/packet/headers.h"
#include "model/packet/tunnel.h"
#include "model/wire.h"

namespace chime::model {

/// Large send offload: one request with the headers in line and up to 2^max_lso_cap bytes of payload becomes
/// frames of `mss` bytes of payload each.
///
///     in each frame          first  middle  last
///     IPv4 identification    as is   +1 each, that of a tunnel's outer header as well
///     IP, UDP length         its own
///     TCP sequence           as is   +mss each
///     TCP CWR                as is   0       0
///     TCP FIN, PSH           0       0       as is
///
/// In a tunnel the outer header's lengths are the frame's own, too; its UDP checksum is left as it is: with
/// frames of equal length and right inner checksums it is the same for all.
class LargeSend {
 public:
  /// @param header  the headers as the request has them, those of a tunnel included
  /// @param payload borrowed segments; copied here
  /// @return false: the headers are not those of TCP or UDP over IP, or too long; the payload is in too many
  ///         pieces; one frame would be longer than an IP datagram can be
  bool begin(std::span<const std::byte> header, std::uint32_t mss, std::uint32_t cs_flags,
             std::span<const Segment> payload, const net::VxlanPorts& vxlan) noexcept;
  /// The frames' destination address, after begin().
  const std::byte* destination() const noexcept { return header_.data(); }
  /// Puts all of it into a batch that is not full, as one frame with its Frame::cut; to be called before
  /// next(). @return false, and nothing was done: it has to be cut here (UDP, a tunnel, checksums that were
  /// not asked for, longer than an IP datagram, or short enough for one frame)
  bool whole(SendBatch& batch) noexcept;
  /// Puts the next frame into a batch that is not full. @return false when there is none left
  bool next(SendBatch& batch) noexcept;

 private:
  /// 256 KiB in pages of 4 KiB, and two more ends for each of the pointers that a request has room for.
  static constexpr unsigned max_payload_segments = 64 + 2 * 61;

  void write_lengths(std::byte* front, const net::Headers& headers, std::uint32_t payload) const noexcept;
  void write_identification(std::byte* front, const net::Headers& headers) const noexcept;
  void write_header(std::byte* front, std::uint32_t payload) noexcept;

  std::array<std::byte, net::largest_header_room> header_;
  std::uint32_t header_size_ = 0;
  net::Headers headers_;  ///< of the datagram that is cut
  net::Headers outer_;    ///< of the tunnel around it; l3 none without
  std::array<Segment, max_payload_segments> payload_;
  unsigned segment_ = 0;  ///< of payload_ that the next byte is in
  unsigned segments_ = 0;
  std::uint32_t in_segment_ = 0;  ///< bytes of it that were sent
  std::uint32_t left_ = 0;        ///< bytes of payload
  std::uint32_t mss_ = 0;
  unsigned checksums_ = 0;  ///< net::InsertChecksum bits
  unsigned outer_checksums_ = 0;
  unsigned sent_ = 0;  ///< frames
};

}  // namespace chime::model
