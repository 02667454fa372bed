// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"
#include "model/wire.h"
#include "wire/counters.h"

namespace chime::wire {

/// A wire before fault injection: what the factory puts into a FaultyWire.
class BareWire : public model::Wire {
 public:
  // As in Port.
  virtual Result<> ready() noexcept { return {}; }
  virtual void begin() noexcept {}
  virtual void end() noexcept {}
  virtual int descriptor() const noexcept { return -1; }
  const WireCounters& counters() const noexcept { return counters_; }

 protected:
  WireCounters counters_;
};

}  // namespace chime::wire
