// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"

namespace chime::hca {

/// What to open. Strings must live until open() returns.
struct OpenOptions {
  const char* name = "";  ///< of the port that opens it, for messages and wires ("net_chime0")
  const char* ibdev =
      nullptr;                ///< RDMA device, PCI address or netdev name; nullptr: the embedded software HCA
  const char* wire = "loop";  ///< "loop", "cable:NAME", "tap:INTERFACE", or the name of an ethdev
  const char* profile = nullptr;       ///< capability profile by name, or a file's path
  const char* model_thread = nullptr;  ///< "shared" (default), "own" or "caller"
  int model_cpu = -1;
  std::uint32_t link_mbps = 0;  ///< that the embedded HCA's port announces, at most; 0: the wire's
  std::uint32_t mac_seed = 0;   ///< makes the embedded HCA's address: port index
  // Faults of the wire, in parts of a million; 0 is a good wire.
  std::uint32_t loss_ppm = 0, duplicate_ppm = 0, reorder_ppm = 0, corrupt_ppm = 0;
  std::uint32_t delay_us = 0;
  std::uint64_t fault_seed = 1;
  bool responder = false;  ///< beside the embedded HCA's wire: answers ARP and ND for the port's GIDs
};

/// Everything that the open HCAs of a process share: the model thread, cables, claimed wire ports, registered
/// memory. The driver's registration owns the one instance of a process. Thread-safe.
class Runtime {
 public:
  static Result<Owned<Runtime>> create() noexcept;
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Result<Owned<Device>> open(const OpenOptions& options) noexcept;

  /// Devices opened with model_thread=caller: steps each once. @return units of work done
  unsigned step() noexcept;

 private:
  struct State;
  explicit Runtime(Owned<State> state) noexcept;
  Owned<State> state_;
};

}  // namespace chime::hca
