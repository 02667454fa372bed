// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/outbox.h"

#include <cassert>

#include "model/datapath/report.h"

namespace chime::model {

bool Outbox::make_room() noexcept {
  if (count_ != max_frames && used_ + net::largest_route + largest_content + net::icrc_size <= room)
    return false;
  flush();
  return true;
}

std::byte* Outbox::begin(const net::RouteHeader& route, [[maybe_unused]] std::uint32_t content) noexcept {
  assert(count_ < max_frames && used_ + route.length + content + net::icrc_size <= room);
  return bytes_.data() + used_ + route.length;
}

void Outbox::finish(const net::RouteHeader& route, std::uint32_t content, std::uint32_t qpn) noexcept {
  constexpr std::uint32_t line = 64;
  std::byte* const frame = bytes_.data() + used_;
  const std::uint32_t length = net::finish_roce(frame, route, content);
  if (length > card_.port.admin_mtu) [[unlikely]] {
    ++card_.port.transmit_discarded;
    if (worth_a_word(++too_long_)) {
      report(card_, Fault::frame_too_long, qpn,
             "QP 0x%x: a frame of %u bytes was dropped, the port's MTU is %u: a smaller path MTU would do; "
             "so far: %llu",
             qpn, length, card_.port.admin_mtu, static_cast<unsigned long long>(too_long_));
    }
    return;
  }
  segments_[count_] = {frame, length};
  frames_[count_] = {&segments_[count_], 1, length};
  ++count_;
  used_ = (used_ + length + line - 1) / line * line;
}

void Outbox::flush() noexcept {
  const unsigned count = count_;
  if (count == 0) return;
  if (port_.up()) {
    egress_.send({frames_.data(), count}, {.roce = true});
  } else {
    card_.port.transmit_discarded += count;
    if (worth_a_word(++link_down_)) {
      report(card_, Fault::port_down, 0, "RoCE packets were dropped, the link is down; so far %llu bursts",
             static_cast<unsigned long long>(link_down_));
    }
  }
  count_ = 0;
  used_ = 0;
}

}  // namespace chime::model
