// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/memory.h"

#include <sys/resource.h>

#include <cerrno>

#include "hca/verbs/failure.h"

namespace chime::hca::verbs {
namespace {

constexpr std::uintptr_t page = 4096;

int access_flags(Access access) noexcept {
  return (access.local_write ? IBV_ACCESS_LOCAL_WRITE : 0) |
         (access.remote_read ? IBV_ACCESS_REMOTE_READ : 0) |
         (access.remote_write ? IBV_ACCESS_REMOTE_WRITE : 0) |
         (access.remote_atomic ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/// The kernel pins the pages, and counts them against the limit of locked memory.
Error pin_failure(const char* call, std::size_t length, int errnum) noexcept {
  rlimit limit{};
  if (errnum == ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return Error::make(ENOMEM,
                       "%s of %zu bytes: not enough memory may be locked (%llu KiB a process); "
                       "`ulimit -l unlimited` in the shell, LimitMEMLOCK=infinity of a service, or the "
                       "capability CAP_IPC_LOCK",
                       call, length, static_cast<unsigned long long>(limit.rlim_cur >> 10));
  }
  return call_failure(call, errnum).within("%zu bytes of memory", length);
}

}  // namespace

Result<RegisteredRange> register_range(const Handle& pd, void* address, std::size_t length,
                                       Access access) noexcept {
  if (!pd.pd()) return fail(EINVAL, "memory is registered on a protection domain; this is none");
  Mr region(ibv_reg_mr(pd.pd(), address, length, access_flags(access)));
  if (!region) return fail(pin_failure("ibv_reg_mr", length, errno));
  const std::uint32_t lkey = region->lkey;
  const std::uint32_t rkey = region->rkey;
  auto handle = make_owned<OwnedHandle<Mr>>("registered memory", prm::cmd_opcode::create_mkey, lkey >> 8,
                                            std::move(region));
  if (!handle) return fail(handle.error());
  return RegisteredRange{std::move(*handle), lkey, rkey};
}

Result<Owned<Handle>> make_umem(ibv_context& context, void* address, std::size_t length,
                                Access access) noexcept {
  if (reinterpret_cast<std::uintptr_t>(address) % page != 0) {
    return fail(EINVAL, "umem at %p; it begins on a page of %u bytes", address, unsigned{page});
  }
  if (access.remote_atomic) {
    return fail(EPERM, "a umem gives no right to remote atomics; register_memory does");
  }
  const auto flags = static_cast<std::uint32_t>(access_flags(access));
  DevxUmem umem(mlx5dv_devx_umem_reg(&context, address, length, flags));
  if (!umem) return fail(pin_failure("mlx5dv_devx_umem_reg", length, errno));
  const std::uint32_t id = umem->umem_id;
  auto handle =
      make_owned<OwnedHandle<DevxUmem>>("a umem", prm::cmd_opcode::create_umem, id, std::move(umem));
  if (!handle) return fail(handle.error());
  return Owned<Handle>(std::move(*handle));
}

}  // namespace chime::hca::verbs
