// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/egress.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/gather.h"
#include "model/datapath/receive.h"

namespace chime::model {
namespace {

/// The destination address of a frame, which may have to be put together.
class Destination {
 public:
  explicit Destination(const Frame& frame) noexcept : bytes_(frame.segments[0].data) {
    if (frame.segments[0].length >= sizeof gathered_) [[likely]]
      return;
    gather(gathered_, {frame.segments, frame.segment_count}, sizeof gathered_);
    bytes_ = gathered_;
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;
  const std::byte* bytes() const noexcept { return bytes_; }

 private:
  std::byte gathered_[std::tuple_size_v<Mac>];
  const std::byte* bytes_;
};

}  // namespace

void Egress::send(std::span<const Frame> frames, const Origin& origin) noexcept {
  if (origin.roce ? card_.around.wire.loops() : !raw_loopback()) {
    go(frames, Way::out, origin);
    return;
  }
  // In runs of frames that go the same way: what was sent in order stays in order.
  while (!frames.empty()) {
    const Destination first(frames.front());
    const Way way = where(first.bytes(), origin);
    std::size_t run = 1;
    for (; run < frames.size(); ++run) {
      const Destination next(frames[run]);
      if (std::memcmp(next.bytes(), first.bytes(), std::tuple_size_v<Mac>) != 0 &&
          where(next.bytes(), origin) != way) {
        break;
      }
    }
    go(frames.first(run), way, origin);
    frames = frames.subspan(run);
  }
}

Egress::Way Egress::where(const std::byte* destination, const Origin& origin) const noexcept {
  if ((std::to_integer<unsigned>(*destination) & 1) != 0) {
    return origin.roce && !card_.multicast.empty() ? Way::both : Way::out;
  }
  Mac address;
  std::memcpy(address.data(), destination, address.size());
  return is_own(address) ? Way::back : Way::out;
}

/// What the driver made the virtual port's: by its context, by its lists, by the embedded switch's table.
bool Egress::is_own(const Mac& address) const noexcept {
  const VportContext& vport = card_.vport;
  if (address == vport.permanent_address) return address != Mac{};
  if (std::find(vport.unicast_list.begin(), vport.unicast_list.end(), address) != vport.unicast_list.end())
    return true;
  bool own = false;
  card_.l2_table.entries.for_each([&](const L2Entry& entry) { own = own || entry.address == address; });
  return own;
}

void Egress::go(std::span<const Frame> frames, Way way, const Origin& origin) noexcept {
  Port::Counter counter;
  for (const Frame& frame : frames) count(counter, frame);
  port_.add_sent(counter, way != Way::back);
  if (way != Way::back) card_.around.wire.transmit(frames);
  if (way != Way::out) receive_->turned_back(frames, origin);
}

void Egress::count(Port::Counter& counter, const Frame& frame) noexcept {
  const Destination destination(frame);
  counter.count(destination.bytes(), longest_piece(frame));
  if (frame.cut.payload == 0) [[likely]]
    return;
  for (std::uint32_t left = frame.length - longest_piece(frame); left != 0;) {
    const std::uint32_t now = std::min<std::uint32_t>(left, frame.cut.payload);
    counter.count(destination.bytes(), frame.cut.headers + now);
    left -= now;
  }
}

}  // namespace chime::model
