// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "model/host_memory.h"
#include "proxy_message.h"

namespace chime::serve {

/// The guest's memory as QEMU last described it, mapped here.
class GuestMemory final : public model::HostMemory {
 public:
  GuestMemory() noexcept = default;
  ~GuestMemory() override;
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  /// Replaces the whole map. Descriptors are borrowed. On an error there is no memory at all.
  Result<> replace(const ProxySysmem& map, std::span<const int> descriptors) noexcept;
  void clear() noexcept;

  std::byte* map(std::uint64_t address, std::size_t length) noexcept override;
  std::uint64_t generation() const noexcept override { return generation_; }

 private:
  /// One mapped piece, and which file's it is: QEMU repeats the map often, with the same pieces.
  struct Region {
    std::byte* data = nullptr;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::int64_t offset = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool overlaps(const Region& other) const noexcept {
      return address < other.address + other.size && other.address < address + size;
    }
    bool same_piece(const Region& other) const noexcept {
      return address == other.address && size == other.size && offset == other.offset &&
             device == other.device && inode == other.inode;
    }
  };
  using Regions = std::array<Region, proxy_regions>;
  static void release(Regions& regions) noexcept;

  Regions regions_;
  std::uint64_t generation_ = 1;
};

}  // namespace chime::serve
