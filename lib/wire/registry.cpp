// SPDX-License-Identifier: BSD-3-Clause
#include "wire/registry.h"

#include "wire/port_list.h"

namespace chime::wire {

namespace {
bool is_ethdev(const char* wire) noexcept {
  return std::strcmp(wire, "loop") != 0 && !is_cable(wire);
}
}  // namespace

bool is_cable(const char* wire) noexcept {
  return std::strncmp(wire, "cable:", 6) == 0;
}

Result<> Registry::add(Entry& entry) noexcept {
  std::lock_guard guard(lock_);
  if (const Entry* other = find(entry.port.text())) {
    return fail(EEXIST, "%s has a wire already: %s", entry.port.text(), other->wire_name.text());
  }
  if (is_ethdev(entry.wire_name.text())) {
    if (auto ok = check_chain(entry); !ok) return ok;
  }
  entry.next = first_;
  entry.listed = true;
  first_ = &entry;
  return {};
}

Result<> Registry::check_chain(const Entry& entry) noexcept {
  PortList ports(entry.port.text());
  if (entry.wire_name == entry.port.text()) {
    return fail(ELOOP, "%s can't be its own wire; ports there are: %s; or loop", entry.port.text(),
                ports.text());
  }
  for (const Entry* other = first_; other; other = other->next) {
    if (other->wire_name == entry.wire_name.text()) {
      return fail(EBUSY, "%s is the wire of %s already, and can't be that of %s; ports there are: %s",
                  entry.wire_name.text(), other->port.text(), entry.port.text(), ports.text());
    }
  }
  // No two ports share a wire, so that there is one way to follow, and it ends.
  for (const Entry* next = find(entry.wire_name.text()); next; next = find(next->wire_name.text())) {
    if (next->wire_name == entry.port.text()) {
      return fail(ELOOP, "%s with wire %s is a cycle: the wires of %s lead back to it; ports there are: %s",
                  entry.port.text(), entry.wire_name.text(), entry.wire_name.text(), ports.text());
    }
  }
  return {};
}

void Registry::publish(Entry& entry, Port& wire) noexcept {
  std::lock_guard guard(lock_);
  entry.wire = &wire;
}

void Registry::remove(Entry& entry) noexcept {
  std::lock_guard guard(lock_);
  if (!entry.listed) return;
  Entry** link = &first_;
  while (*link != &entry) link = &(*link)->next;
  *link = entry.next;
  entry.listed = false;
}

Registry::Entry* Registry::find(const char* port_name) noexcept {
  Entry* entry = first_;
  while (entry && !(entry->port == port_name)) entry = entry->next;
  return entry;
}

}  // namespace chime::wire
