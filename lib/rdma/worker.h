// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/queues.h"
#include "rdma/capabilities.h"
#include "rdma/eal_object.h"
#include "rdma/keys.h"
#include "rdma/queue.h"

namespace chime::rdma {

/// The control side of a worker: a UAR and a completion queue that one lcore owns. Control path, called by
/// the worker's owner.
class WorkerControl {
 public:
  struct Config {
    std::uint32_t completions;  ///< entries of the completion queue; a power of two
    bool thread_safe;
    bool checked;
    int socket;
  };
  static Result<Owned<WorkerControl>> create(hca::Device& device, const Capabilities& capabilities,
                                             const KeyBook& keys, const Config& config) noexcept;
  WorkerControl() noexcept = default;
  WorkerControl(const WorkerControl&) = delete;
  WorkerControl& operator=(const WorkerControl&) = delete;

  Worker& fast() const noexcept { return worker_[0]; }
  const hca::CompletionQueue& cq() const noexcept { return cq_; }
  const hca::Uar& uar() const noexcept { return uar_; }
  bool thread_safe() const noexcept { return worker_[0].locked; }
  bool checked() const noexcept { return checked_; }
  /// Queue pairs that were made on it and are not freed, detached ones too.
  std::uint32_t users() const noexcept { return users_; }
  void enter() noexcept { ++users_; }
  void leave() noexcept { --users_; }

  /// A queue pair that can have `completions` unpolled ones: there is room for all of all, so that the
  /// completion queue never overruns.
  Result<> add(Qp& qp, std::uint32_t completions) noexcept;
  void remove(Qp& qp, std::uint32_t completions) noexcept;

  /// The port goes: nothing is polled any more.
  void detach() noexcept;

 private:
  Result<> grow() noexcept;
  void put(Qp& qp) noexcept;

  EalArray<Worker> worker_;
  EalArray<Qp*> table_;
  hca::Uar uar_;  // outlives cq_
  hca::CompletionQueue cq_;
  EalArray<prm::Cqe> nothing_;  ///< what a detached worker polls
  std::uint32_t users_ = 0;
  std::uint32_t count_ = 0;  ///< in the table
  std::uint32_t room_ = 0;
  int socket_ = 0;
  bool checked_ = false;
};

}  // namespace chime::rdma
