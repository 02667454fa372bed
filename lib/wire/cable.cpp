// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cable.h"

#include <array>
#include <cstring>

#include "wire/name.h"

namespace chime::wire {

class Cable {
 public:
  struct End {
    CableEnd* wire = nullptr;
    Name port;
  };
  Name name;
  std::array<End, 2> ends;
  Owned<Cable> next;
};

CableBoard::CableBoard() noexcept = default;

CableBoard::~CableBoard() {
  while (first_) first_ = std::move(first_->next);
}

Result<Owned<BareWire>> CableBoard::take_end(const char* name, const char* port_name,
                                             Executor& executor) noexcept {
  std::lock_guard guard(lock_);
  Cable* cable = first_.get();
  while (cable && !(cable->name == name)) cable = cable->next.get();
  if (!cable) {
    auto made = make_owned<Cable>("a cable");
    if (!made) return fail(made.error());
    cable = made->get();
    cable->name = name;
    cable->next = std::move(first_);
    first_ = std::move(*made);
  }

  Cable::End& mine = cable->ends[0].wire ? cable->ends[1] : cable->ends[0];
  Cable::End& other = &mine == &cable->ends[0] ? cable->ends[1] : cable->ends[0];
  if (mine.wire) {
    return fail(EBUSY, "%s: cable:%s has its two ends in %s and %s already; another name makes another cable",
                port_name, name, cable->ends[0].port.text(), cable->ends[1].port.text());
  }
  if (other.wire && &other.wire->executor_ != &executor) {
    return fail(ENOTSUP,
                "%s: the other end of cable:%s, %s, is stepped by another thread; let both share the model "
                "thread",
                port_name, name, other.port.text());
  }
  auto end = make_owned<CableEnd>("a cable's end", *this, *cable, executor);
  if (!end) {
    if (!other.wire) first_ = std::move(first_->next);
    return fail(end.error());
  }
  mine.wire = end->get();
  mine.port = port_name;
  if (other.wire) {
    executor.run([&]() noexcept {
      mine.wire->peer_ = other.wire;
      other.wire->peer_ = mine.wire;
    });
  }
  return Owned<BareWire>(std::move(*end));
}

void CableBoard::give_back(CableEnd& end) noexcept {
  std::lock_guard guard(lock_);
  end.executor_.run([&]() noexcept {
    if (!end.peer_) return;
    end.peer_->peer_ = nullptr;
    if (end.port_) end.tell(end.peer_->port_);
  });
  bool in_use = false;
  for (Cable::End& candidate : end.cable_.ends) {
    if (candidate.wire == &end) candidate = {};
    in_use |= candidate.wire != nullptr;
  }
  if (in_use) return;
  Owned<Cable>* link = &first_;
  while (link->get() != &end.cable_) link = &(*link)->next;
  *link = std::move((*link)->next);
}

CableEnd::~CableEnd() {
  board_.give_back(*this);
}

void CableEnd::plug(model::WirePort* port) noexcept {
  bool changed = (port == nullptr) != (port_ == nullptr);
  port_ = port;
  if (changed && peer_) tell(peer_->port_);
}

void CableEnd::transmit(std::span<const model::Frame> frames) noexcept {
  if (!port_) {
    counters_.tx_dropped.no_port.add(frames.size());
    return;
  }
  if (!peer_ || !peer_->port_) {
    counters_.tx_dropped.link_down.add(frames.size());
    return;
  }
  std::uint64_t bytes = total_bytes(frames);
  counters_.tx_frames.add(frames.size());
  counters_.tx_bytes.add(bytes);
  peer_->counters_.rx_frames.add(frames.size());
  peer_->counters_.rx_bytes.add(bytes);
  peer_->port_->deliver(frames);
}

model::WireLink CableEnd::link() const noexcept {
  return {port_ && peer_ && peer_->port_, unbound_speed_mbps};
}

}  // namespace chime::wire
