// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

#include "base/error.h"
#include "wire/factory.h"
#include "wire/name.h"

namespace chime::wire {

/// The wire's name is "cable:...".
bool is_cable(const char* wire) noexcept;

/// The living wires of a process: which model port is plugged into what.
class Registry {
 public:
  struct Entry {
    Name port, wire_name;
    Port* wire = nullptr;  // once it is complete
    Entry* next = nullptr;
    bool listed = false;
  };

  /// @return EEXIST: the port has a wire; EBUSY: the ethdev is another port's wire; ELOOP: the ethdev is the
  /// port itself, or its wires lead back to it
  Result<> add(Entry& entry) noexcept;
  void publish(Entry& entry, Port& wire) noexcept;
  void remove(Entry& entry) noexcept;

  /// Calls `f(Port&)` for the wire of the port named, which can't go meanwhile; ENODEV when there is none.
  template <class F>
  auto with(const char* port_name, F&& f) noexcept -> decltype(f(*static_cast<Port*>(nullptr))) {
    std::lock_guard guard(lock_);
    Entry* entry = find(port_name);
    if (!entry || !entry->wire)
      return fail(ENODEV, "%s has no wire: it is not an open port of the software HCA", port_name);
    return f(*entry->wire);
  }

 private:
  Entry* find(const char* port_name) noexcept;
  Result<> check_chain(const Entry& entry) noexcept;

  std::mutex lock_;
  Entry* first_ = nullptr;
};

}  // namespace chime::wire
