// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_interrupts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace chime::serve {
namespace {

constexpr std::size_t vectors = model::pci::Function::vectors;

Result<> check(unsigned start, std::size_t count) noexcept {
  if (start <= vectors && count <= vectors - start) return {};
  return fail(EINVAL, "vectors %u to %zu: the card has %zu", start, start + count, vectors);
}

/// Files without a name have no type; a pipe would end us when nobody reads it.
bool may_be_eventfd(int fd) noexcept {
  struct stat file;
  return fstat(fd, &file) == 0 && (file.st_mode & S_IFMT) == 0;
}

}  // namespace

bool VfioInterrupts::signal(unsigned vector) noexcept {
  if (vector >= vectors || !events_[vector]) return false;
  // A full counter has been signalled as well. One that would block must not: other cards want their turn.
  if (pollfd room{events_[vector].get(), POLLOUT, 0}; ::poll(&room, 1, 0) == 0) return true;
  return eventfd_write(events_[vector].get(), 1) == 0 || errno == EAGAIN;
}

Result<> VfioInterrupts::assign(unsigned start, std::span<const int> events) noexcept {
  if (auto fits = check(start, events.size()); !fits) return fits;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!may_be_eventfd(events[i])) return fail(EINVAL, "what came for vector %zu is no eventfd", start + i);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    FileDescriptor event(fcntl(events[i], F_DUPFD_CLOEXEC, 0));
    if (!event) return fail(errno, "the eventfd of vector %zu: %s", start + i, std::strerror(errno));
    events_[start + i] = std::move(event);
  }
  return {};
}

Result<> VfioInterrupts::take_away(unsigned start, unsigned count) noexcept {
  if (auto fits = check(start, count); !fits) return fits;
  for (FileDescriptor& event : std::span(events_).subspan(start, count)) event = FileDescriptor();
  return {};
}

void VfioInterrupts::take_all() noexcept {
  for (FileDescriptor& event : events_) event = FileDescriptor();
}

}  // namespace chime::serve
