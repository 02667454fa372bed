// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "proxy_message.h"

/// @file
/// QEMU's side: a stream socket, messages, and guest memory in a file without a name.

namespace chime::serve::test {

inline FileDescriptor memory_file(std::size_t size) {
  FileDescriptor file(memfd_create("guest", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return FileDescriptor();
  return file;
}

/// One region at guest address 0.
inline ProxySysmem one_region(std::uint64_t size) {
  ProxySysmem map{};
  map.size[0] = size;
  return map;
}

/// Open descriptors of this process: none may leak.
std::size_t open_descriptors();

/// @param descriptors sent with the bytes
void send_with_descriptors(int socket, std::span<const std::byte> bytes, const std::vector<int>& descriptors);

class Qemu {
 public:
  Qemu();
  /// The other end, once.
  FileDescriptor take_end() { return std::move(other_); }

  void send(ProxyCommand command, std::span<const std::byte> payload = {}, std::vector<int> descriptors = {});
  template <class T>
  void send(ProxyCommand command, const T& payload, std::vector<int> descriptors = {}) {
    send(command, std::as_bytes(std::span(&payload, 1)), std::move(descriptors));
  }
  void send_bytes(std::span<const std::byte> bytes, std::vector<int> descriptors = {});
  void config(bool write, std::uint32_t offset, std::uint32_t value, std::int32_t length);
  void bar(bool write, std::uint64_t address, std::uint64_t value, std::uint32_t size, bool memory = true);
  /// The next answer's value. @return false: there is none
  bool answer(std::uint64_t& value);
  void hang_up() { ours_ = FileDescriptor(); }
  int fd() const { return ours_.get(); }

 private:
  FileDescriptor ours_, other_;
};

}  // namespace chime::serve::test
