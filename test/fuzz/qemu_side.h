// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/file_descriptor.h"
#include "input.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// What a hostile QEMU has: a guest's memory in a file, and its end of a card's socket.

namespace chime::fuzz {

/// The guest's memory: the same file for all runs.
class GuestFile {
 public:
  static constexpr std::size_t size = 1 << 20;
  static constexpr std::uint64_t queue = 0x10000;  ///< where the command queue lies

  GuestFile() : file_(memfd_create("guest", MFD_CLOEXEC)) {
    want(ftruncate(file_.get(), size) == 0);
    data_ = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    want(data_ != MAP_FAILED);
  }
  int fd() const noexcept { return file_.get(); }
  void empty() noexcept { std::memset(data_, 0, size); }

  /// What software would write somewhere behind the queue's beginning: 2 bytes of offset, 1 of count, bytes.
  void write(Input& input) noexcept {
    const std::size_t at = queue + input.u16() * std::size_t{4} % 0x20000;
    put(at, input.take(input.u8()));
  }
  /// An entry of the command queue, in part as it should be. @return its slot
  unsigned command(Input& input) noexcept {
    using Entry = prm::cmd_queue_entry;
    const unsigned slot = input.u8() & 31;
    const std::size_t at = queue + slot * 64;
    put(at, input.take(input.u8() % 65));
    const std::uint8_t how = input.u8();
    const prm::View<Entry> view(std::span(data_ + at, 64));
    if (!(how & 1)) view.set(Entry::type, 7);
    if (!(how & 2))
      view.set(Entry::input_length, 16 + (how >> 4) * 64u).set(Entry::output_length, 16 + (how >> 4) * 64u);
    if (!(how & 4))
      view.set(Entry::input_mailbox_pointer, 0x20000).set(Entry::output_mailbox_pointer, 0x21000);
    if (!(how & 8)) view.set(Entry::ownership, 1);
    return slot;
  }

 private:
  void put(std::size_t at, std::span<const std::uint8_t> bytes) noexcept {
    std::transform(bytes.begin(), bytes.end(), data_ + at, [](std::uint8_t byte) { return std::byte{byte}; });
  }

  FileDescriptor file_;
  std::byte* data_;
};

/// Places of BAR 0 where something is.
constexpr std::array<std::uint64_t, 8> bar_places = {0,       0x1000,  0x8000,    0x9000,
                                                     0x10000, 0x20000, 0x1fff000, 0x2000000};

/// QEMU's end.
class QemuEnd {
 public:
  explicit QemuEnd(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  /// @param descriptors how many come with it, at most 2; all are `fd`
  void send(std::span<const std::byte> bytes, unsigned descriptors, int fd) noexcept {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 2)]{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptors) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
      cmsghdr* const c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
      const int both[] = {fd, fd};
      std::memcpy(CMSG_DATA(c), both, sizeof(int) * descriptors);
    }
    (void)::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void take_answers() noexcept {
    char answers[4096];
    while (::recv(socket_.get(), answers, sizeof answers, MSG_DONTWAIT) > 0) continue;
  }

 private:
  FileDescriptor socket_;
};

/// Lets QEMU do all that the input says, and the device serve it, until the connection ends with a reason.
template <class Qemu, class Device, class Function>
void operate(Qemu& qemu, Device& device, Function& function, Input& input) noexcept {
  while (!input.empty()) {
    qemu.operate(input);
    const auto served = device.serve();
    function.step();
    qemu.take_answers();
    if (served) continue;
    want(*served.error().text);
    return;
  }
}

}  // namespace chime::fuzz
