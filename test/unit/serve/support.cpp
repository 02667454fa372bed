// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace chime::serve::test {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

Qemu::Qemu() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ours_ = FileDescriptor(ends[0]);
  other_ = FileDescriptor(ends[1]);
}

void send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           const std::vector<int>& descriptors) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size() * sizeof(int));
  }
  EXPECT_EQ(sendmsg(socket, &header, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

void Qemu::send_bytes(std::span<const std::byte> bytes, std::vector<int> descriptors) {
  send_with_descriptors(ours_.get(), bytes, descriptors);
}

void Qemu::send(ProxyCommand command, std::span<const std::byte> payload, std::vector<int> descriptors) {
  const ProxyHeader header{static_cast<std::int32_t>(command), 0, payload.size()};
  send_bytes(std::as_bytes(std::span(&header, 1)), std::move(descriptors));
  if (!payload.empty()) send_bytes(payload);
}

void Qemu::config(bool write, std::uint32_t offset, std::uint32_t value, std::int32_t length) {
  send(write ? ProxyCommand::config_write : ProxyCommand::config_read,
       ProxyConfigAccess{offset, value, length});
}

void Qemu::bar(bool write, std::uint64_t address, std::uint64_t value, std::uint32_t size, bool memory) {
  send(write ? ProxyCommand::bar_write : ProxyCommand::bar_read,
       ProxyBarAccess{address, value, size, memory, {}});
}

bool Qemu::answer(std::uint64_t& value) {
  struct {
    ProxyHeader header;
    std::uint64_t value;
  } message;
  if (recv(ours_.get(), &message, sizeof message, MSG_DONTWAIT) != sizeof message) return false;
  EXPECT_EQ(message.header.command, static_cast<std::int32_t>(ProxyCommand::ret));
  EXPECT_EQ(message.header.size, 8u);
  value = message.value;
  return true;
}

}  // namespace chime::serve::test
