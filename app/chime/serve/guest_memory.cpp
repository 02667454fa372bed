// SPDX-License-Identifier: BSD-3-Clause
#include "guest_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace chime::serve {

GuestMemory::~GuestMemory() {
  release(regions_);
}

void GuestMemory::release(Regions& regions) noexcept {
  for (Region& region : regions) {
    if (region.data) munmap(region.data, region.size);
    region = {};
  }
}

void GuestMemory::clear() noexcept {
  release(regions_);
  ++generation_;
}

Result<> GuestMemory::replace(const ProxySysmem& map, std::span<const int> descriptors) noexcept {
  Regions next;
  if (descriptors.size() > next.size()) {
    clear();
    return fail(EINVAL, "the guest's memory has %zu regions; there is room for %u", descriptors.size(),
                proxy_regions);
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    struct stat file;
    if (fstat(descriptors[i], &file) != 0 || file.st_size < 0) {
      clear();
      return fail(errno, "the guest's memory region %zu: %s", i, std::strerror(errno));
    }
    next[i] = {nullptr, map.address[i], map.size[i], map.offset[i], file.st_dev, file.st_ino};
    const auto length = static_cast<std::uint64_t>(file.st_size);
    const auto offset = static_cast<std::uint64_t>(map.offset[i]);
    if (map.size[i] == 0 || map.offset[i] < 0 || offset > length || map.size[i] > length - offset ||
        map.address[i] + map.size[i] < map.address[i]) {
      clear();
      return fail(EINVAL, "the guest's memory region %zu (%#llx bytes at %#llx of a file of %#llx) is none",
                  i, static_cast<unsigned long long>(map.size[i]), static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(length));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!next[i].overlaps(next[j])) continue;
      clear();
      return fail(EINVAL, "the guest's memory regions %zu and %zu overlap at %#llx", j, i,
                  static_cast<unsigned long long>(map.address[i]));
    }
  }
  bool changed = false;
  for (std::size_t i = 0; i < next.size(); ++i) changed |= !next[i].same_piece(regions_[i]);
  if (!changed) return {};

  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    void* data =
        mmap(nullptr, next[i].size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[i], next[i].offset);
    if (data == MAP_FAILED) {
      const int error = errno;
      release(next);
      clear();
      return fail(error, "mapping the guest's memory region %zu of %#llx bytes: %s", i,
                  static_cast<unsigned long long>(map.size[i]), std::strerror(error));
    }
    next[i].data = static_cast<std::byte*>(data);
  }
  release(regions_);
  regions_ = next;
  ++generation_;
  return {};
}

std::byte* GuestMemory::map(std::uint64_t address, std::size_t length) noexcept {
  for (const Region& region : regions_) {
    if (address < region.address || address - region.address >= region.size) continue;
    const std::uint64_t offset = address - region.address;
    return length <= region.size - offset ? region.data + offset : nullptr;
  }
  return nullptr;
}

}  // namespace chime::serve
