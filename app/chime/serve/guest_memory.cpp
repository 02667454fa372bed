// SPDX-License-Identifier: BSD-3-Clause
#include "guest_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace chime::serve {
namespace {

unsigned long long number(std::uint64_t value) noexcept {
  return value;
}

}  // namespace

GuestMemory::~GuestMemory() {
  release(regions_);
}

void GuestMemory::release(Regions& regions) noexcept {
  for (Region& region : regions.used()) {
    if (region.data) munmap(region.data, region.piece.size);
  }
  regions.count = 0;
}

void GuestMemory::clear() noexcept {
  release(regions_);
  ++generation_;
}

/// Checks a piece and writes it down; it is not mapped yet.
Result<> GuestMemory::append(Regions& regions, const MemoryPiece& piece, int descriptor) noexcept {
  const std::size_t i = regions.count;
  if (i == regions.all.size()) {
    return fail(ENOSPC, "the guest's memory has more than %zu regions", regions.all.size());
  }
  struct stat file;
  if (fstat(descriptor, &file) != 0 || file.st_size < 0) {
    return fail(errno, "the guest's memory region %zu: %s", i, std::strerror(errno));
  }
  const auto length = static_cast<std::uint64_t>(file.st_size);
  const auto offset = static_cast<std::uint64_t>(piece.offset);
  if (piece.size == 0 || piece.offset < 0 || offset > length || piece.size > length - offset ||
      piece.address + piece.size < piece.address) {
    return fail(EINVAL, "the guest's memory region %zu (%#llx bytes at %#llx of a file of %#llx) is none", i,
                number(piece.size), number(offset), number(length));
  }
  const Region region{nullptr, piece, file.st_dev, file.st_ino};
  for (std::size_t j = 0; j < i; ++j) {
    if (region.overlaps(regions.all[j])) {
      return fail(EEXIST, "the guest's memory regions %zu and %zu overlap at %#llx", j, i,
                  number(piece.address));
    }
  }
  regions.all[i] = region;
  regions.count = i + 1;
  return {};
}

Result<> GuestMemory::map_region(Region& region, int descriptor) noexcept {
  void* const data =
      mmap(nullptr, region.piece.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, region.piece.offset);
  if (data == MAP_FAILED) {
    return fail(errno, "mapping the guest's memory region of %#llx bytes at %#llx: %s",
                number(region.piece.size), number(region.piece.address), std::strerror(errno));
  }
  region.data = static_cast<std::byte*>(data);
  return {};
}

Result<> GuestMemory::replace(std::span<const MemoryPiece> pieces,
                              std::span<const int> descriptors) noexcept {
  Regions next;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (auto added = append(next, pieces[i], descriptors[i]); !added) {
      clear();
      return added;
    }
  }
  bool changed = next.count != regions_.count;
  for (std::size_t i = 0; i < next.count; ++i) changed |= !next.all[i].same_piece(regions_.all[i]);
  if (!changed) return {};

  for (std::size_t i = 0; i < next.count; ++i) {
    if (auto mapped = map_region(next.all[i], descriptors[i]); !mapped) {
      release(next);
      clear();
      return mapped;
    }
  }
  clear();
  regions_ = next;
  return {};
}

Result<> GuestMemory::add(const MemoryPiece& piece, int descriptor) noexcept {
  if (auto added = append(regions_, piece, descriptor); !added) return added;
  if (auto mapped = map_region(regions_.all[regions_.count - 1], descriptor); !mapped) {
    --regions_.count;
    return mapped;
  }
  ++generation_;
  return {};
}

Result<> GuestMemory::remove(std::uint64_t address, std::uint64_t size) noexcept {
  const Region range{nullptr, {address, size, 0}, 0, 0};
  if (size == 0 || address + size < address) {
    return fail(EINVAL, "%#llx bytes at %#llx are no range of the guest's memory", number(size),
                number(address));
  }
  for (const Region& region : regions_.used()) {
    const MemoryPiece& piece = region.piece;
    if (range.overlaps(region) &&
        (piece.address < address || piece.size > size - (piece.address - address))) {
      return fail(EINVAL, "of the guest's memory region of %#llx bytes at %#llx only a part is to go",
                  number(piece.size), number(piece.address));
    }
  }
  for (std::size_t i = 0; i < regions_.count;) {
    Region& region = regions_.all[i];
    if (!range.overlaps(region)) {
      ++i;
      continue;
    }
    munmap(region.data, region.piece.size);
    region = std::exchange(regions_.all[--regions_.count], {});
    ++generation_;
  }
  return {};
}

std::byte* GuestMemory::map(std::uint64_t address, std::size_t length) noexcept {
  for (const Region& region : regions_.used()) {
    const MemoryPiece& piece = region.piece;
    if (address < piece.address || address - piece.address >= piece.size) continue;
    const std::uint64_t offset = address - piece.address;
    return length <= piece.size - offset ? region.data + offset : nullptr;
  }
  return nullptr;
}

}  // namespace chime::serve
