// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/memory.h"

#include <algorithm>
#include <utility>

#include "hca/mempool_ranges.h"
#include "rdma/checksum.h"

namespace chime::rdma {
namespace {

hca::Access access_of(std::uint32_t rights) noexcept {
  return {.local_write = (rights & local_write) != 0,
          .remote_read = (rights & remote_read) != 0,
          .remote_write = (rights & remote_write) != 0,
          .remote_atomic = (rights & remote_atomic) != 0};
}

Result<> check_rights(std::uint32_t rights) noexcept {
  if (rights & ~all_rights) return fail(EINVAL, "rights %#x; there are %#x", rights, all_rights);
  if (rights & (remote_write | remote_atomic) && !(rights & local_write))
    return fail(EINVAL,
                "memory that others may write or change by atomics needs RTE_PMD_CHIME_LOCAL_WRITE too");
  return {};
}

std::uint16_t check_of(const MemoryDescriptor& descriptor) noexcept {
  const std::uint32_t sum = checksum(&descriptor, offsetof(MemoryDescriptor, check));
  return static_cast<std::uint16_t>(sum ^ sum >> 16);
}

const char* name_of(std::uint32_t right) noexcept {
  return right == remote_read ? "read" : right == remote_write ? "write" : "atomic";
}

struct Chunks {
  hca::Range* at;
  std::size_t room;
  std::size_t count;
};

void add_chunk(rte_mempool*, void* argument, rte_mempool_memhdr* chunk, unsigned) {
  Chunks& chunks = *static_cast<Chunks*>(argument);
  if (chunk->addr == nullptr || chunk->len == 0 || chunks.count == chunks.room) return;
  const auto start = reinterpret_cast<std::uintptr_t>(chunk->addr);
  chunks.at[chunks.count++] = {start, start + chunk->len};
}

/// Of a pool of anything: its chunks, those that touch as one.
Result<hca::Ranges> chunks_of(rte_mempool& pool) noexcept {
  auto storage = Array<hca::Range>::make(pool.nb_mem_chunks, "the memory chunks of a mempool");
  if (!storage) return fail(storage.error());
  Chunks chunks{storage->data(), storage->size(), 0};
  rte_mempool_mem_iter(&pool, add_chunk, &chunks);
  std::sort(chunks.at, chunks.at + chunks.count,
            [](const hca::Range& a, const hca::Range& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < chunks.count; ++i) {
    if (kept > 0 && chunks.at[i].start <= chunks.at[kept - 1].end)
      chunks.at[kept - 1].end = std::max(chunks.at[kept - 1].end, chunks.at[i].end);
    else
      chunks.at[kept++] = chunks.at[i];
  }
  return hca::Ranges{std::move(*storage), kept};
}

}  // namespace

void seal(MemoryDescriptor& descriptor) noexcept {
  descriptor.check = check_of(descriptor);
}

Result<> check(const MemoryDescriptor& descriptor, std::uint64_t offset, std::uint64_t length,
               std::uint32_t right) noexcept {
  if (descriptor.check != check_of(descriptor)) {
    return fail(EBADMSG,
                "a memory descriptor whose check is wrong: it was torn, cut, or comes from a host of another "
                "byte order (send it as text then)");
  }
  if (offset > descriptor.length || length > descriptor.length - offset) {
    return fail(ERANGE, "bytes %llu to %llu of a memory descriptor of %llu bytes",
                static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + length),
                static_cast<unsigned long long>(descriptor.length));
  }
  if (right != 0 && !(descriptor.rights & right)) {
    return fail(EACCES, "the memory behind rkey %#x was registered without the right to remote %s",
                descriptor.rkey, name_of(right));
  }
  if (right == remote_atomic && (length == 0 || (descriptor.address + offset) % length != 0))
    return fail(EINVAL, "an atomic of %llu bytes at %#llx is not aligned to its size",
                static_cast<unsigned long long>(length),
                static_cast<unsigned long long>(descriptor.address + offset));
  return {};
}

Result<> Memory::add(hca::Device& device, const hca::Object& pd, std::size_t i, std::uint64_t address,
                     std::uint64_t length) noexcept {
  auto region = device.register_memory(pd, reinterpret_cast<void*>(address), length, access_of(rights_));
  if (!region) return fail(region.error());
  Part& part = parts_[i];
  part = {std::move(*region), address, length};
  return keys_->add(
      {.key = part.region.lkey, .rights = rights_, .address = address, .length = length, .live = true});
}

Result<Owned<Memory>> Memory::create(hca::Device& device, const hca::Object& pd, KeyBook& keys, void* address,
                                     std::size_t length, std::uint32_t rights) noexcept {
  if (Result<> good = check_rights(rights); !good) return fail(good.error());
  if (address == nullptr || length == 0)
    return fail(EINVAL, "no memory to register: %zu bytes at %p", length, address);
  auto memory = make_owned<Memory>("registered memory", rights);
  if (!memory) return memory;
  auto parts = Array<Part>::make(1, "registered memory");
  if (!parts) return fail(parts.error());
  (*memory)->parts_ = std::move(*parts);
  (*memory)->keys_ = &keys;
  if (Result<> done = (*memory)->add(device, pd, 0, reinterpret_cast<std::uintptr_t>(address), length);
      !done) {
    return fail(done.error());
  }
  return memory;
}

Result<Owned<Memory>> Memory::create(hca::Device& device, const hca::Object& pd, KeyBook& keys,
                                     rte_mempool& pool, std::uint32_t rights) noexcept {
  if (Result<> good = check_rights(rights); !good) return fail(good.error());
  auto ranges = hca::holds_mbufs(pool) ? hca::ranges_of(pool) : chunks_of(pool);
  if (!ranges) return fail(ranges.error());
  if (ranges->count == 0) return fail(EINVAL, "mempool %s has no memory yet: populate it first", pool.name);
  auto memory = make_owned<Memory>("registered memory", rights);
  if (!memory) return memory;
  auto parts = Array<Part>::make(ranges->count, "registered memory");
  if (!parts) return fail(parts.error());
  (*memory)->parts_ = std::move(*parts);
  (*memory)->keys_ = &keys;
  std::size_t i = 0;
  for (const hca::Range& range : *ranges) {
    if (Result<> done = (*memory)->add(device, pd, i++, range.start, range.end - range.start); !done)
      return fail(done.error().within("mempool %s", pool.name));
  }
  return memory;
}

const Memory::Part* Memory::find(std::uint64_t address) const noexcept {
  if (keys_ == nullptr) return nullptr;
  for (const Part& part : parts_)
    if (address - part.address < part.length) return &part;
  return nullptr;
}

MemoryDescriptor Memory::descriptor(std::size_t i) const noexcept {
  const Part& part = parts_[i];
  MemoryDescriptor descriptor{.address = part.address,
                              .length = part.length,
                              .rkey = part.region.rkey,
                              .rights = static_cast<std::uint16_t>(rights_),
                              .check = 0};
  seal(descriptor);
  return descriptor;
}

void Memory::detach() noexcept {
  if (keys_ == nullptr) return;
  for (Part& part : parts_) {
    if (part.region.mkey) keys_->end(part.region.lkey);
    part.region.mkey = {};
    part.region.umem = {};
  }
  keys_ = nullptr;
}

}  // namespace chime::rdma
