// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/data_segments.h"

#include <algorithm>
#include <cstring>

#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr auto unit = static_cast<std::uint32_t>(prm::wqe_unit);
constexpr std::uint32_t inline_header = 4;

/// One segment of a list.
struct Part {
  bool in_line;
  const std::byte* data;  ///< inline
  std::uint32_t length;
  std::uint32_t lkey;
  std::uint64_t address;
  std::uint32_t units;  ///< that it takes in the list
};

enum class Next : std::uint8_t { part, end, beyond };

Next part_at(const DataSegments& list, std::uint32_t at, Part& part) noexcept {
  if (at >= list.units) return Next::end;
  const std::byte* const place = list.begin + std::size_t{at} * unit;
  const auto& data = *reinterpret_cast<const prm::WqeData*>(place);
  const std::uint32_t count = data.byte_count;
  part.in_line = !list.receive && (count & prm::data_seg_inline) != 0;
  part.length = count & ~prm::data_seg_inline;
  part.units = 1;
  if (part.in_line) {
    if (part.length > (list.units - at) * unit - inline_header) return Next::beyond;
    part.units = (inline_header + part.length + unit - 1) / unit;
    part.data = place + inline_header;
    return Next::part;
  }
  part.lkey = data.lkey;
  part.address = data.address;
  if (list.receive && part.lkey == prm::invalid_lkey) return Next::end;
  return Next::part;
}

}  // namespace

DataOutcome measure(const DataSegments& list, std::uint64_t& bytes) noexcept {
  bytes = 0;
  Part part{};
  for (std::uint32_t at = 0;; at += part.units) {
    const Next next = part_at(list, at, part);
    if (next == Next::beyond) return {Fault::wqe_inline_data, part.length};
    if (next == Next::end) return {};
    if (!list.receive && !part.in_line && part.length == 0) return {Fault::wqe_empty_segment, at};
    bytes += part.length;
  }
}

template <class Visit>
DataOutcome DataMover::visit(const Access& access, std::uint32_t length, Visit&& visit) noexcept {
  std::uint64_t address = access.address;
  while (length != 0) {
    if (std::byte* at = keys_.quick(access.key, access.user.pd, address, length, access.right)) {
      visit(at, length);
      return {};
    }
    Fault fault = Fault::none;
    const Chunk chunk = keys_.reach(access.key, access.user.pd, access.user.queue, access.reserved_lkey,
                                    address, length, access.right, fault);
    if (!chunk.data) return {fault, access.key};
    const auto part = static_cast<std::uint32_t>(chunk.length);
    visit(chunk.data, part);
    address += part;
    length -= part;
  }
  return {};
}

template <class Inline, class Visit>
DataOutcome DataMover::walk(const Qp& qp, const Pd* pd, const DataSegments& list, std::uint32_t offset,
                            std::uint32_t length, Rights right, Inline&& in_line, Visit&& visit) noexcept {
  Part part{};
  std::uint32_t found = 0;
  for (std::uint32_t at = 0; length != 0; at += part.units) {
    if (part_at(list, at, part) != Next::part) return {Fault::receive_room, found};
    found += part.length;
    if (offset >= part.length) {
      offset -= part.length;
      continue;
    }
    const std::uint32_t here = std::min(length, part.length - offset);
    if (part.in_line) {
      in_line(part.data + offset, here);
    } else {
      const Access access{{pd, qp.number}, qp.reserved_lkey, part.lkey, part.address + offset, right};
      const DataOutcome outcome = this->visit(access, here, visit);
      if (outcome.fault != Fault::none) return outcome;
    }
    offset = 0;
    length -= here;
  }
  return {};
}

DataOutcome DataMover::gather(const Qp& qp, const DataSegments& list, std::uint32_t offset, std::byte* to,
                              std::uint32_t length) noexcept {
  const auto take = [&](const std::byte* from, std::uint32_t count) {
    std::memcpy(to, from, count);
    to += count;
  };
  return walk(qp, qp.pd.get(), list, offset, length, local_read, take, take);
}

DataOutcome DataMover::scatter(const Qp& qp, const Pd* pd, const DataSegments& list, std::uint32_t offset,
                               const std::byte* from, std::uint32_t length) noexcept {
  const auto skip = [&](const std::byte*, std::uint32_t count) { from += count; };
  const auto put = [&](std::byte* to, std::uint32_t count) {
    std::memmove(to, from, count);
    from += count;
  };
  return walk(qp, pd, list, offset, length, local_write, skip, put);
}

DataOutcome DataMover::read_target(KeyUser user, std::uint32_t rkey, std::uint64_t address, std::byte* to,
                                   std::uint32_t length) noexcept {
  return visit({user, false, rkey, address, remote_read}, length,
               [&](const std::byte* from, std::uint32_t count) {
                 std::memcpy(to, from, count);
                 to += count;
               });
}

DataOutcome DataMover::write_target(KeyUser user, std::uint32_t rkey, std::uint64_t address,
                                    const std::byte* from, std::uint32_t length) noexcept {
  return visit({user, false, rkey, address, remote_write}, length, [&](std::byte* to, std::uint32_t count) {
    // What software polls for is seen whole.
    if (count == sizeof(std::uint64_t) && reinterpret_cast<std::uintptr_t>(to) % count == 0) {
      std::uint64_t value;
      std::memcpy(&value, from, sizeof value);
      __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), value, __ATOMIC_RELEASE);
    } else {
      std::memmove(to, from, count);
    }
    from += count;
  });
}

DataOutcome DataMover::check_target(KeyUser user, std::uint32_t rkey, std::uint64_t address,
                                    std::uint32_t length, Rights right) noexcept {
  return visit({user, false, rkey, address, right}, length, [](const std::byte*, std::uint32_t) {});
}

std::byte* DataMover::atomic_target(KeyUser user, std::uint32_t rkey, std::uint64_t address,
                                    std::uint32_t size, DataOutcome& outcome) noexcept {
  std::byte* found = nullptr;
  std::uint32_t room = 0;
  outcome = visit({user, false, rkey, address, remote_atomic}, size, [&](std::byte* at, std::uint32_t count) {
    if (!found) {
      found = at;
      room = count;
    }
  });
  if (outcome.fault != Fault::none) return nullptr;
  if (room != size) {
    outcome = {Fault::key_memory, rkey};
    return nullptr;
  }
  return found;
}

}  // namespace chime::model
