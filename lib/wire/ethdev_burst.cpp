// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>

#include "wire/ethdev.h"

namespace chime::wire {

namespace {

constexpr std::uint16_t most_segments = 16;  // of one frame: 9996 bytes in 2 KiB pieces are 5
constexpr unsigned send_attempts = 16;       // without progress

/// Copies the frame into `mbufs`, chaining them.
void fill(std::span<rte_mbuf*> mbufs, const model::Frame& frame, std::uint32_t room) noexcept {
  rte_mbuf* head = mbufs[0];
  rte_mbuf* tail = head;
  std::size_t next = 1;
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < frame.segment_count; ++i) {
    model::Segment segment = frame.segments[i];
    while (segment.length != 0) {
      if (used == room) {
        tail->data_len = static_cast<std::uint16_t>(used);
        tail->next = mbufs[next++];
        tail = tail->next;
        used = 0;
      }
      std::uint32_t n = std::min(segment.length, room - used);
      std::memcpy(rte_pktmbuf_mtod_offset(tail, std::byte*, used), segment.data, n);
      used += n;
      segment.data += n;
      segment.length -= n;
    }
  }
  tail->data_len = static_cast<std::uint16_t>(used);
  head->pkt_len = frame.length;
  head->nb_segs = static_cast<std::uint16_t>(next);
}

}  // namespace

void EthdevWire::plug(model::WirePort* port) noexcept {
  plugged_ = port;
}

void EthdevWire::transmit(std::span<const model::Frame> frames) noexcept {
  if (used_.port == none) {
    counters_.tx_dropped.gone.add(frames.size());
    return;
  }
  if (!link_.up || !used_.sends) {
    counters_.tx_dropped.link_down.add(frames.size());
    return;
  }
  while (!frames.empty()) {
    std::size_t n = std::min<std::size_t>(frames.size(), burst);
    send(frames.first(n));
    frames = frames.subspan(n);
  }
}

void EthdevWire::send(std::span<const model::Frame> frames) noexcept {
  std::array<rte_mbuf*, std::size_t{burst} * most_segments> mbufs;
  std::array<rte_mbuf*, burst> packets;
  const std::uint32_t room = mbufs_.room();
  std::size_t needed = 0, fitting = 0;
  for (const model::Frame& frame : frames) {
    if (!fits(frame)) continue;
    needed += (frame.length + room - 1) / room;
    ++fitting;
  }
  counters_.tx_dropped.too_long.add(frames.size() - fitting);
  if (fitting == 0) return;
  if (!mbufs_.take({mbufs.data(), needed})) {
    counters_.tx_dropped.no_buffer.add(fitting);
    return;
  }

  std::size_t next = 0;
  std::uint16_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < needed; ++i) rte_pktmbuf_reset(mbufs[i]);
  for (const model::Frame& frame : frames) {
    if (!fits(frame)) continue;
    std::size_t n = (frame.length + room - 1) / room;
    fill({&mbufs[next], n}, frame, room);
    packets[count++] = mbufs[next];
    next += n;
    bytes += frame.length;
  }

  std::uint64_t dropped = burst_out({packets.data(), count}, bytes);
  counters_.tx_dropped.no_buffer.add(dropped);
  counters_.tx_frames.add(count - dropped);
  counters_.tx_bytes.add(bytes);
}

std::uint64_t EthdevWire::burst_out(std::span<rte_mbuf*> packets, std::uint64_t& bytes) noexcept {
  std::uint64_t dropped = 0;
  auto drop = [&](std::span<rte_mbuf*> which) noexcept {
    for (const rte_mbuf* packet : which) bytes -= packet->pkt_len;
    dropped += which.size();
    mbufs_.give(which);
  };
  unsigned attempts = 0;
  bool stuck = false;
  while (!packets.empty()) {
    auto wanted = static_cast<std::uint16_t>(packets.size());
    std::uint16_t sent = rte_eth_tx_burst(used_.port, 0, packets.data(), wanted);
    if (sent != 0) {
      packets = packets.subspan(sent);
      attempts = 0;
      stuck = false;
    } else if (++attempts >= send_attempts) {
      // It may be this one packet that the driver doesn't take.
      std::size_t n = stuck ? packets.size() : 1;
      drop(packets.first(n));
      packets = packets.subspan(n);
      attempts = send_attempts - 1;
      stuck = true;
    }
  }
  return dropped;
}

unsigned EthdevWire::poll(unsigned budget) noexcept {
  std::uint16_t port = claimed_.load(std::memory_order_relaxed);
  if (port == none) return 0;
  std::atomic<std::uint32_t>& events = events_.of(port);
  if (events.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    handle(events.exchange(0, std::memory_order_acquire));
  }
  if (used_.port == none) return 0;
  // Not every driver with a link interrupt raises the event: some only update what is looked at here.
  if (++polls_ % 256 == 0 && clock_.nanoseconds() - link_looked_at_ >= look_at_link_every_ns) {
    if (look_at_link()) tell_port();
  }
  if (!used_.receives) return 0;
  unsigned done = 0;
  while (done < budget) {
    auto wanted = static_cast<std::uint16_t>(std::min<unsigned>(budget - done, burst));
    unsigned n = receive(wanted);
    done += n;
    if (n < wanted) break;
  }
  return done;
}

unsigned EthdevWire::receive(std::uint16_t wanted) noexcept {
  std::array<rte_mbuf*, burst> mbufs;
  std::uint16_t n = rte_eth_rx_burst(used_.port, 0, mbufs.data(), wanted);
  if (n == 0) return 0;
  if (plugged_) {
    hand_over({mbufs.data(), n});
  } else {
    counters_.rx_dropped.no_port.add(n);
  }
  mbufs_.give({mbufs.data(), n});
  return n;
}

void EthdevWire::hand_over(std::span<rte_mbuf*> mbufs) noexcept {
  std::array<model::Frame, burst> frames;
  std::array<model::Segment, burst + most_segments> segments;
  std::size_t count = 0, used = 0;
  std::uint64_t bytes = 0;
  auto deliver = [&]() noexcept {
    if (count == 0) return;
    counters_.rx_frames.add(count);
    counters_.rx_bytes.add(bytes);
    plugged_->deliver({frames.data(), count});
    count = used = 0;
    bytes = 0;
  };
  for (rte_mbuf* packet : mbufs) {
    if (packet->nb_segs > most_segments || packet->pkt_len == 0) [[unlikely]] {
      counters_.rx_dropped.too_long.add(1);
      continue;
    }
    if (used + packet->nb_segs > segments.size()) deliver();
    model::Frame& frame = frames[count++];
    frame = {&segments[used], 0, packet->pkt_len};
    for (rte_mbuf* segment = packet; segment; segment = segment->next) {
      if (segment->data_len == 0) continue;
      segments[used++] = {rte_pktmbuf_mtod(segment, const std::byte*), segment->data_len};
      ++frame.segment_count;
    }
    bytes += packet->pkt_len;
  }
  deliver();
}

void EthdevWire::handle(std::uint32_t events) noexcept {
  bool changed = events & EthdevEvents::changed_event;
  if (events & EthdevEvents::prepared_event && begun_) {
    // The other events are about this one.
    used_ = prepared_;
    link_ = {};
    look_at_link();
    changed = true;
  }
  if (events & EthdevEvents::removal_event) {
    pulled_.store(true);
    used_ = {};
    link_ = {};
    changed = true;
  } else if (events & EthdevEvents::link_event && used_.port != none) {
    changed |= look_at_link();
  }
  if (changed) tell_port();
}

void EthdevWire::stop_using() noexcept {
  if (used_.port == none && !link_.up) return;
  used_ = {};
  link_ = {};
  tell_port();
}

bool EthdevWire::look_at_link() noexcept {
  link_looked_at_ = clock_.nanoseconds();
  rte_eth_link link{};
  model::WireLink now;
  if (rte_eth_link_get_nowait(used_.port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) {
    bool unknown = link.link_speed == RTE_ETH_SPEED_NUM_NONE || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN;
    now = {true, unknown ? unbound_speed_mbps : link.link_speed};
  }
  bool changed = now.up != link_.up || now.speed_mbps != link_.speed_mbps;
  link_ = now;
  return changed;
}

}  // namespace chime::wire
