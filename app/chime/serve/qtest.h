// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "model/pci/msix.h"

namespace chime::serve {

/// Delivers message-signalled interrupts through QEMU's qtest socket ("writel ADDRESS DATA"), of which a QEMU
/// has one: its functions share this. Messages are kept until flush(), for QEMU may be waiting for an answer
/// of the function that raised them.
class Qtest final : public model::pci::MessageTarget {
 public:
  explicit Qtest(std::string path) : path_(std::move(path)) {}

  void write(std::uint64_t address, std::uint32_t data) noexcept override;
  /// Sends what is kept and takes QEMU's replies. Connects first; while there is no socket yet, keeps on.
  Result<> flush() noexcept;
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  struct Kept {
    std::uint64_t address;
    std::uint32_t data;
    bool operator==(const Kept&) const noexcept = default;
  };
  Result<bool> connect() noexcept;
  Result<> take_replies() noexcept;

  std::string path_;
  FileDescriptor socket_;
  std::array<Kept, 256> kept_;
  std::size_t count_ = 0;
  std::size_t unanswered_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace chime::serve
