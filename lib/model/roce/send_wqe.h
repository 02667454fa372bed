// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/object/qp.h"
#include "model/packet/roce.h"
#include "model/roce/atomic.h"
#include "model/roce/data_segments.h"
#include "prm/wqe.h"

/// @file
/// A send request of a QP, copied out of its ring and understood.
///
///     SEND              RDMA WRITE, READ    atomic                SEND on UD
///     +---------------+ +-----------------+ +-------------------+ +----------------------+
///     | control       | | control         | | control           | | control              |
///     | data ...      | | remote address  | | remote address    | | address vector, 48 B |
///     +---------------+ | data ...        | | operands, or a    | | data ...             |
///                       +-----------------+ |   pointer to them | +----------------------+
///                                           | data: the result  |
///                                           +-------------------+
///     XRC has a segment of 16 bytes behind the control segment: the other end's shared receive queue first.

namespace chime::model {

/// Address vector of a datagram.
struct WqeAddressVector {
  prm::Be32 qkey;
  prm::Be32 reserved_04;
  prm::Be32 destination_qpn;  ///< bit 31: extended, always set
  std::uint8_t stat_rate_sl;
  std::uint8_t fl_mlid;
  prm::Be16 udp_source_port;  ///< "rlid"
  std::uint8_t reserved_10[4];
  std::uint8_t remote_mac[6];
  std::uint8_t traffic_class;
  std::uint8_t hop_limit;
  prm::Be32 grh_gid_fl;  ///< GID index [27:20], flow label [19:0]; bit 30, "there is a GRH", is InfiniBand's
  std::uint8_t remote_gid[16];
};
static_assert(sizeof(WqeAddressVector) == 48 && offsetof(WqeAddressVector, remote_mac) == 20 &&
              offsetof(WqeAddressVector, remote_gid) == 32);

struct SendWqe {
  static constexpr std::size_t room = 1024;  ///< 63 units, in whole basic blocks

  prm::wqe_opcode opcode{};
  std::uint8_t mode = 0;  ///< fm_ce_se
  std::uint8_t blocks = 0;
  std::uint8_t units = 0;  ///< ds
  std::uint32_t immediate = 0;
  std::uint64_t address = 0;  ///< remote
  std::uint32_t rkey = 0;
  std::uint32_t srqn = 0;  ///< XRC: the other end's shared receive queue

  bool responds = false;  ///< read or atomic
  bool atomic = false;
  AtomicKind atomic_kind{};
  std::uint32_t atomic_size = 0;        ///< bytes
  const std::byte* operands = nullptr;  ///< in line
  DataSegments operand_pointer;         ///< where they are not

  const WqeAddressVector* vector = nullptr;  ///< UD
  DataSegments data;
  std::uint32_t length = 0;  ///< bytes of the message, or of the result

  alignas(64) std::array<std::byte, room> bytes;
};

/// Reads the request at basic block `index` of the ring.
/// @return why it can't be executed; `opcode`, `mode` and `blocks` are set all the same
DataOutcome read_send_wqe(Hca::Card& card, Qp& qp, std::uint16_t index, SendWqe& wqe) noexcept;

/// Whether atomic_req_8B_endianness_mode is 1: 8-byte results are in the host's order.
bool atomic_mode_1(const Hca::Card& card) noexcept;

/// Whether the card offers an atomic at a size.
bool offers_atomic(const Hca::Card& card, AtomicKind kind, std::uint32_t size) noexcept;

}  // namespace chime::model
