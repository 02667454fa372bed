// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace chime::serve {

/// A listening UNIX stream socket with a name in the file system, which goes with it.
class Listener {
 public:
  /// A socket that an earlier process left at the path is taken away; nothing else is.
  /// @return EADDRINUSE: somebody listens there
  static Result<Listener> listen(const std::string& path);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();

  int fd() const noexcept { return socket_.get(); }
  /// One that waits to be connected, none when there is none. Never blocks, nor will what it returns.
  FileDescriptor accept() const noexcept;
  /// Those that wait are hung up on, and whoever connects from now on is refused. The name stays.
  void refuse() const noexcept;

 private:
  Listener(std::string path, FileDescriptor socket) noexcept;
  void remove_name() const noexcept;

  std::string path_;
  FileDescriptor socket_;
  dev_t device_ = 0;  ///< which file the name is of
  ino_t inode_ = 0;
};

}  // namespace chime::serve
