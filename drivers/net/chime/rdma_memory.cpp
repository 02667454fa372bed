// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cstring>

#include "rdma_api.h"
#include "rdma_error.h"
#include "rdma_port.h"

namespace chime::net {

namespace {

static_assert(sizeof(rte_pmd_chime_mem_desc) == sizeof(rdma::MemoryDescriptor) &&
              offsetof(rte_pmd_chime_mem_desc, rkey) == offsetof(rdma::MemoryDescriptor, rkey) &&
              offsetof(rte_pmd_chime_mem_desc, check) == offsetof(rdma::MemoryDescriptor, check));
static_assert(RTE_PMD_CHIME_LOCAL_WRITE == rdma::local_write &&
              RTE_PMD_CHIME_REMOTE_READ == rdma::remote_read &&
              RTE_PMD_CHIME_REMOTE_WRITE == rdma::remote_write &&
              RTE_PMD_CHIME_REMOTE_ATOMIC == rdma::remote_atomic);

rdma::HeldMemory* held(rte_pmd_chime_mem* mem) noexcept {
  return reinterpret_cast<rdma::HeldMemory*>(mem);
}
const rdma::Memory& memory(const rte_pmd_chime_mem* mem) noexcept {
  return *reinterpret_cast<const rdma::HeldMemory*>(mem)->object;
}

rte_pmd_chime_mem* handle(const Result<rdma::HeldMemory*>& made) noexcept {
  if (made) return reinterpret_cast<rte_pmd_chime_mem*>(*made);
  refused(made.error());
  return nullptr;
}

Result<> check_attached(const rdma::Memory& memory) noexcept {
  if (memory.attached()) return {};
  return fail(ENODEV, "the port of this memory was closed, which ended its keys");
}

}  // namespace

}  // namespace chime::net

using namespace chime;
using namespace chime::net;

extern "C" {

rte_pmd_chime_mem* rte_pmd_chime_mem_register(uint16_t port_id, void* address, size_t length,
                                              uint32_t rights) {
  return handle(with_session(
      port_id, [&](rdma::Session& session) { return session.make_memory(address, length, rights); }));
}

rte_pmd_chime_mem* rte_pmd_chime_mem_register_pool(uint16_t port_id, rte_mempool* pool, uint32_t rights) {
  return handle(with_session(port_id, [&](rdma::Session& session) -> Result<rdma::HeldMemory*> {
    if (pool == nullptr) return fail(EINVAL, "no mempool to register");
    return session.make_memory(*pool, rights);
  }));
}

void rte_pmd_chime_mem_unregister(rte_pmd_chime_mem* mem) {
  if (mem == nullptr) return;
  const PortsStay stay;
  rdma::Session::free(held(mem));
}

uint32_t rte_pmd_chime_mem_parts(const rte_pmd_chime_mem* mem) {
  return static_cast<uint32_t>(memory(mem).parts());
}

int rte_pmd_chime_mem_lkey(const rte_pmd_chime_mem* mem, const void* address, uint32_t* lkey) {
  const PortsStay stay;
  if (Result<> good = check_attached(memory(mem)); !good) return refused(good.error());
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const rdma::Memory::Part* part = memory(mem).find(at);
  if (part == nullptr) return refused(Error::make(ENOENT, "%p lies in no part of this memory", address));
  *lkey = part->region.lkey;
  return 0;
}

int rte_pmd_chime_mem_export(const rte_pmd_chime_mem* mem, uint32_t part, rte_pmd_chime_mem_desc* desc) {
  const PortsStay stay;
  if (Result<> good = check_attached(memory(mem)); !good) return refused(good.error());
  if (part >= memory(mem).parts())
    return refused(Error::make(EINVAL, "part %u of memory that has %zu", part, memory(mem).parts()));
  const rdma::MemoryDescriptor descriptor = memory(mem).descriptor(part);
  std::memcpy(desc, &descriptor, sizeof *desc);
  return 0;
}

int rte_pmd_chime_mem_desc_check(const rte_pmd_chime_mem_desc* desc, uint64_t offset, uint64_t length,
                                 uint32_t right) {
  return answer(rdma::check(std::bit_cast<rdma::MemoryDescriptor>(*desc), offset, length, right));
}
}
