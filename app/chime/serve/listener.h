// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace chime::serve {

/// A listening UNIX stream socket with a name in the file system, which goes with it.
class Listener {
 public:
  /// A socket that an earlier process left at the path is taken away; nothing else is.
  static Result<Listener> listen(const std::string& path);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();

  int fd() const noexcept { return socket_.get(); }
  /// One that waits to be connected, none when there is none. Never blocks, nor will what it returns.
  FileDescriptor accept() const noexcept;

 private:
  Listener(std::string path, FileDescriptor socket) noexcept
      : path_(std::move(path)), socket_(std::move(socket)) {}

  std::string path_;
  FileDescriptor socket_;
};

}  // namespace chime::serve
