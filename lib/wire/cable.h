// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

#include "base/array.h"
#include "wire/bare_wire.h"
#include "wire/factory.h"

namespace chime::wire {

class Cable;
class CableEnd;

/// The cables of a process, by name. A cable exists as long as one of its ends.
class CableBoard {
 public:
  CableBoard() noexcept;
  ~CableBoard();
  CableBoard(const CableBoard&) = delete;
  CableBoard& operator=(const CableBoard&) = delete;

  /// The next free end of the cable named.
  /// @return EBUSY: both ends are taken; ENOTSUP: the other end is stepped by another thread
  Result<Owned<BareWire>> take_end(const char* cable, const char* port_name, Executor& executor) noexcept;

 private:
  friend class CableEnd;
  void give_back(CableEnd& end) noexcept;

  std::mutex lock_;
  Owned<Cable> first_;
};

/// One end: what is sent here is received at the other, at once.
class CableEnd final : public BareWire {
 public:
  CableEnd(CableBoard& board, Cable& cable, Executor& executor) noexcept
      : board_(board), cable_(cable), executor_(executor) {}
  ~CableEnd() override;

  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override;
  std::uint32_t largest_frame() const noexcept override { return unlimited_frame; }

 private:
  friend class CableBoard;
  void tell(model::WirePort* port) noexcept {
    if (port) port->wire_changed();
  }

  CableBoard& board_;
  Cable& cable_;
  Executor& executor_;
  // Touched between two steps of the one thread that steps both ends.
  model::WirePort* port_ = nullptr;
  CableEnd* peer_ = nullptr;
};

}  // namespace chime::wire
