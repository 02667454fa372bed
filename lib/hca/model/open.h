// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/model/device.h"
#include "hca/runtime.h"
#include "wire/factory.h"

namespace chime::hca::embedded {

/// What the embedded HCAs of a process share: the model thread and the wires. Thread-safe.
class Process {
 public:
  static Result<Owned<Process>> create() noexcept;
  explicit Process(Owned<wire::Factory> wires) noexcept : wires_(std::move(wires)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Result<Owned<Device>> open(const OpenOptions& options) noexcept;
  /// Steps what the caller steps. @return units of work done
  unsigned step() noexcept;

 private:
  Result<> choose_loop(const OpenOptions& options, DeviceConfig& config) noexcept;
  Result<SteppedLoop*> shared_loop(int cpu) noexcept;
  Result<SteppedLoop*> caller_loop() noexcept;

  Owned<wire::Factory> wires_;
  std::mutex mutex_;  ///< of the loops
  Owned<SteppedLoop> shared_;
  int shared_cpu_ = -1;
  Owned<SteppedLoop> caller_;
};

}  // namespace chime::hca::embedded
