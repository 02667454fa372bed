// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/datapath/faults.h"
#include "model/datapath/keys.h"
#include "model/object/qp.h"

namespace chime::model {

/// The data segments at the end of a request that was copied out of its ring: software can't change them
/// any more.
struct DataSegments {
  const std::byte* begin = nullptr;
  std::uint32_t units = 0;  ///< of 16 bytes
  bool receive = false;     ///< the list may end at a segment with the invalid lkey; nothing is inline
};

struct DataOutcome {
  Fault fault = Fault::none;
  std::uint32_t detail = 0;  ///< the key that was at fault, or the bytes that there was room for
};

/// Bytes in all of the segments. @return a fault when the list is not well-formed
DataOutcome measure(const DataSegments& list, std::uint64_t& bytes) noexcept;

/// Who names a key.
struct KeyUser {
  const Pd* pd;
  std::uint32_t queue;  ///< a key may be one queue pair's alone
};

/// Moves data between the memory of a QP's software and packets.
class DataMover {
 public:
  explicit DataMover(Keys& keys) noexcept : keys_(keys) {}

  /// Copies bytes [offset, offset + length) of what the list describes; there must be as many.
  DataOutcome gather(const Qp& qp, const DataSegments& list, std::uint32_t offset, std::byte* to,
                     std::uint32_t length) noexcept;
  /// Fault::receive_room when there are not as many; what there is room for may be written then.
  /// @param pd of the receive queue
  DataOutcome scatter(const Qp& qp, const Pd* pd, const DataSegments& list, std::uint32_t offset,
                      const std::byte* from, std::uint32_t length) noexcept;

  /// The same at one address, through an rkey of the user that the other end named.
  DataOutcome read_target(KeyUser user, std::uint32_t rkey, std::uint64_t address, std::byte* to,
                          std::uint32_t length) noexcept;
  DataOutcome write_target(KeyUser user, std::uint32_t rkey, std::uint64_t address, const std::byte* from,
                           std::uint32_t length) noexcept;
  /// Whether all of it can be accessed.
  DataOutcome check_target(KeyUser user, std::uint32_t rkey, std::uint64_t address, std::uint32_t length,
                           Rights right) noexcept;
  /// `size` bytes in one piece, aligned to their size; nullptr with the fault in `outcome`.
  std::byte* atomic_target(KeyUser user, std::uint32_t rkey, std::uint64_t address, std::uint32_t size,
                           DataOutcome& outcome) noexcept;

 private:
  struct Access {
    KeyUser user;
    bool reserved_lkey;
    std::uint32_t key;
    std::uint64_t address;
    Rights right;
  };
  template <class Visit>
  DataOutcome visit(const Access& access, std::uint32_t length, Visit&& visit) noexcept;
  template <class Inline, class Visit>
  DataOutcome walk(const Qp& qp, const Pd* pd, const DataSegments& list, std::uint32_t offset,
                   std::uint32_t length, Rights right, Inline&& in_line, Visit&& visit) noexcept;

  Keys& keys_;
};

}  // namespace chime::model
