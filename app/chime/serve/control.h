// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "listener.h"
#include "nic.h"

namespace chime::serve {

/// The control socket: one command a line, one answer of JSON a line.
///
///     link NIC up|down              what the wire's other end does
///     faults NIC loss=PPM,...       loss duplicate reorder corrupt (parts of a million), delay (us), seed
///     health NIC SYNDROME [fatal]   the health buffer from now on; a reset of the card mends it
///     counters NIC                  wire, interrupts, findings
///     objects NIC                   live objects by kind
class Control {
 public:
  static Result<Control> listen(const std::string& path);

  /// Descriptors to wait for.
  std::vector<int> descriptors() const;
  /// Takes connections and lines that have come. @return commands executed
  unsigned serve(const std::vector<Owned<Nic>>& nics, wire::Factory& wires);

 private:
  explicit Control(Listener listener) noexcept : listener_(std::move(listener)) {}

  Listener listener_;
  std::map<int, std::pair<FileDescriptor, std::string>> clients_;
};

/// One command. @return the answer, without a line's end: {"ok":true,...} or {"ok":false,"error":"..."}
std::string execute_control(const std::string& line, const std::vector<Owned<Nic>>& nics,
                            wire::Factory& wires);

}  // namespace chime::serve
