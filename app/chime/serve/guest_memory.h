// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "model/host_memory.h"

namespace chime::serve {

/// A piece of the guest's memory: so many bytes of a file, at a guest-physical address.
struct MemoryPiece {
  std::uint64_t address;
  std::uint64_t size;
  std::int64_t offset;  ///< in the file
};

/// The guest's memory as QEMU described it, mapped here.
class GuestMemory final : public model::HostMemory {
 public:
  static constexpr std::size_t most_pieces = 64;

  GuestMemory() noexcept = default;
  ~GuestMemory() override;
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  /// Replaces the whole map; a piece that stays keeps its place here. Descriptors, one a piece, are borrowed.
  /// On an error there is no memory at all.
  Result<> replace(std::span<const MemoryPiece> pieces, std::span<const int> descriptors) noexcept;
  /// @param descriptor borrowed. EEXIST: there is memory already. On an error all is as before
  Result<> add(const MemoryPiece& piece, int descriptor) noexcept;
  /// Takes away all pieces within these addresses. EINVAL when only a part of one is.
  Result<> remove(std::uint64_t address, std::uint64_t size) noexcept;
  void clear() noexcept;

  std::byte* map(std::uint64_t address, std::size_t length) noexcept override;
  std::uint64_t generation() const noexcept override { return generation_; }

 private:
  /// One mapped piece, and which file's it is: QEMU's proxy repeats the map often, with the same pieces.
  struct Region {
    std::byte* data = nullptr;
    MemoryPiece piece{};
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool overlaps(const Region& other) const noexcept {
      return piece.address < other.piece.address + other.piece.size &&
             other.piece.address < piece.address + piece.size;
    }
    bool same_piece(const Region& other) const noexcept {
      return piece.address == other.piece.address && piece.size == other.piece.size &&
             piece.offset == other.piece.offset && device == other.device && inode == other.inode;
    }
  };
  struct Regions {
    std::array<Region, most_pieces> all;
    std::size_t count = 0;
    std::span<Region> used() noexcept { return std::span(all).first(count); }
  };
  static Result<> append(Regions& regions, const MemoryPiece& piece, int descriptor) noexcept;
  static Result<> map_region(Region& region, int descriptor) noexcept;
  static void release(Regions& regions) noexcept;

  Regions regions_;
  std::uint64_t generation_ = 1;
};

}  // namespace chime::serve
