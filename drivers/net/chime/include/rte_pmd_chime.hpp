/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTE_PMD_CHIME_HPP
#define RTE_PMD_CHIME_HPP

/**
 * @file
 * Owners for C++ over rte_pmd_chime.h: they free what they hold, and are nothing more. Functions answer as
 * the C ones do; an owner that could not be made is false, and rte_errno and rte_pmd_chime_last_error() say
 * why. Nothing throws. Members of a class go in reverse order: name the worker before its queue pairs.
 */

#include <rte_pmd_chime.h>

#include <memory>

namespace rte_pmd_chime {

/** Deleter of the handles. */
struct Free {
  /** rte_pmd_chime_worker_free() */
  void operator()(rte_pmd_chime_worker* worker) const noexcept { rte_pmd_chime_worker_free(worker); }
  /** rte_pmd_chime_qp_destroy() */
  void operator()(rte_pmd_chime_qp* qp) const noexcept { rte_pmd_chime_qp_destroy(qp); }
  /** rte_pmd_chime_mem_unregister() */
  void operator()(rte_pmd_chime_mem* mem) const noexcept { rte_pmd_chime_mem_unregister(mem); }
};

/** Registered memory. Unlike the C functions it ends with its scope. */
class Memory {
 public:
  /** None. */
  Memory() noexcept = default;
  /** rte_pmd_chime_mem_register() */
  Memory(uint16_t port, void* address, size_t length, uint32_t rights) noexcept
      : handle_(rte_pmd_chime_mem_register(port, address, length, rights)) {}
  /** rte_pmd_chime_mem_register_pool() */
  Memory(uint16_t port, rte_mempool* pool, uint32_t rights) noexcept
      : handle_(rte_pmd_chime_mem_register_pool(port, pool, rights)) {}
  /** Whether it was made; rte_pmd_chime_last_error() says why not. */
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /** The handle, for the C functions. */
  rte_pmd_chime_mem* get() const noexcept { return handle_.get(); }
  /** rte_pmd_chime_mem_parts() */
  uint32_t parts() const noexcept { return rte_pmd_chime_mem_parts(get()); }
  /** rte_pmd_chime_mem_lkey() */
  int lkey(const void* address, uint32_t& key) const noexcept {
    return rte_pmd_chime_mem_lkey(get(), address, &key);
  }
  /** rte_pmd_chime_mem_export() */
  int descriptor(rte_pmd_chime_mem_desc& descriptor, uint32_t part = 0) const noexcept {
    return rte_pmd_chime_mem_export(get(), part, &descriptor);
  }

 private:
  std::unique_ptr<rte_pmd_chime_mem, Free> handle_;
};

/** A worker. Unlike the C functions it ends with its scope. */
class Worker {
 public:
  /** None. */
  Worker() noexcept = default;
  /** rte_pmd_chime_worker_create() with defaults */
  explicit Worker(uint16_t port) noexcept : handle_(rte_pmd_chime_worker_create(port, nullptr)) {}
  /** rte_pmd_chime_worker_create() */
  Worker(uint16_t port, const rte_pmd_chime_worker_conf& conf) noexcept
      : handle_(rte_pmd_chime_worker_create(port, &conf)) {}
  /** Whether it was made; rte_pmd_chime_last_error() says why not. */
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /** The handle, for the C functions. */
  rte_pmd_chime_worker* get() const noexcept { return handle_.get(); }
  /** rte_pmd_chime_poll() */
  uint16_t poll(rte_pmd_chime_completion* completions, uint16_t count) const noexcept {
    return rte_pmd_chime_poll(get(), completions, count);
  }

 private:
  std::unique_ptr<rte_pmd_chime_worker, Free> handle_;
};

/** A queue pair. Unlike the C functions it ends with its scope. */
class QueuePair {
 public:
  /** None. */
  QueuePair() noexcept = default;
  /** rte_pmd_chime_qp_create() */
  QueuePair(const Worker& worker, const rte_pmd_chime_qp_conf& conf) noexcept
      : handle_(rte_pmd_chime_qp_create(worker.get(), &conf)) {}
  /** Whether it was made; rte_pmd_chime_last_error() says why not. */
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /** The handle, for the C functions. */
  rte_pmd_chime_qp* get() const noexcept { return handle_.get(); }
  /** rte_pmd_chime_qp_local() */
  int local(rte_pmd_chime_endpoint& endpoint) const noexcept {
    return rte_pmd_chime_qp_local(get(), &endpoint);
  }
  /** rte_pmd_chime_qp_connect() */
  int connect(const rte_pmd_chime_endpoint& remote, const rte_pmd_chime_path* path = nullptr) const noexcept {
    return rte_pmd_chime_qp_connect(get(), &remote, path);
  }
  /** rte_pmd_chime_qp_reset() */
  int reset() const noexcept { return rte_pmd_chime_qp_reset(get()); }
  /** rte_pmd_chime_qp_query() */
  int query(rte_pmd_chime_qp_info& info) const noexcept { return rte_pmd_chime_qp_query(get(), &info); }
  /** rte_pmd_chime_post() */
  uint16_t post(const rte_pmd_chime_op* ops, uint16_t count) const noexcept {
    return rte_pmd_chime_post(get(), ops, count);
  }
  /** rte_pmd_chime_post_recv() */
  uint16_t post(const rte_pmd_chime_recv* recvs, uint16_t count) const noexcept {
    return rte_pmd_chime_post_recv(get(), recvs, count);
  }

 private:
  std::unique_ptr<rte_pmd_chime_qp, Free> handle_;
};

}  // namespace rte_pmd_chime

#endif
