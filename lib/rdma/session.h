// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mempool.h>

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "rdma/capabilities.h"
#include "rdma/keys.h"
#include "rdma/memory.h"
#include "rdma/queue_pair.h"
#include "rdma/worker.h"

/// @file
/// Everything of the private API on one port. Its users hold handles that may outlive it: when it ends, what
/// they reach is detached from the card, and only freeing is left.

namespace chime::rdma {

class Session;

/// A handle in a session's list.
template <class T>
struct Held {
  Owned<T> object;
  Session* session = nullptr;  ///< nullptr: the port is gone
  Held* next = nullptr;
  Held* previous = nullptr;
};
using HeldWorker = Held<WorkerControl>;
using HeldQp = Held<QpControl>;
using HeldMemory = Held<Memory>;

/// Control path; the caller locks.
class Session {
 public:
  /// @param pd of the port: memory keys and queue pairs are of it. Device and pd outlive the session.
  static Result<Owned<Session>> create(hca::Device& device, const hca::Object& pd) noexcept;
  Session(hca::Device& device, const hca::Object& pd, const Capabilities& capabilities) noexcept
      : device_(device), pd_(pd), capabilities_(capabilities) {}
  ~Session() { detach(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  hca::Device& device() const noexcept { return device_; }
  const Capabilities& capabilities() const noexcept { return capabilities_; }
  const KeyBook& keys() const noexcept { return keys_; }
  /// Handles that are not freed.
  unsigned handles() const noexcept { return handles_; }

  Result<HeldWorker*> make_worker(const WorkerControl::Config& config) noexcept;
  Result<HeldQp*> make_qp(HeldWorker& worker, const QpControl::Config& config) noexcept;
  Result<HeldMemory*> make_memory(void* address, std::size_t length, std::uint32_t rights) noexcept;
  Result<HeldMemory*> make_memory(rte_mempool& pool, std::uint32_t rights) noexcept;

  // Freeing works with and without a session.
  /// EBUSY as long as it has queue pairs.
  static Result<> free(HeldWorker* worker) noexcept;
  static void free(HeldQp* qp) noexcept;
  static void free(HeldMemory* memory) noexcept;

 private:
  template <class T>
  Result<Held<T>*> hold(Held<T>*& list, Result<Owned<T>> made) noexcept;
  template <class T>
  void let_go(Held<T>*& list, Held<T>& held) noexcept;
  template <class T>
  void detach(Held<T>*& list) noexcept;
  void detach() noexcept;

  hca::Device& device_;
  const hca::Object& pd_;
  const Capabilities capabilities_;
  KeyBook keys_;
  HeldWorker* workers_ = nullptr;
  HeldQp* qps_ = nullptr;
  HeldMemory* memories_ = nullptr;
  unsigned handles_ = 0;
};

}  // namespace chime::rdma
