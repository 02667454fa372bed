// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/port.h"
#include "hca/queue_pair.h"
#include "rdma/capabilities.h"
#include "rdma/eal_object.h"
#include "rdma/endpoint.h"
#include "rdma/queue.h"
#include "rdma/worker.h"

namespace chime::rdma {

/// The control side of a reliable-connection queue pair. Control path, called by the worker's owner.
class QpControl {
 public:
  struct Config {
    std::uint32_t send_depth;     ///< basic blocks; a power of two
    std::uint32_t receive_depth;  ///< receives; 0, or a power of two
    std::uint32_t most_inline;    ///< bytes
    bool signal_all;
    std::uint8_t initiator_depth;  ///< reads and atomics outstanding
    std::uint8_t responder_depth;  ///< reads and atomics of the other end, answered at once
    std::uint32_t rights;          ///< remote_read, remote_write, remote_atomic: what the other end may do
    bool atomic_writes;
    bool wide;  ///< room for operands that no request holds
    std::uint8_t gid_index;
    int socket;
  };
  static Result<Owned<QpControl>> create(hca::Device& device, const hca::Object& pd,
                                         const Capabilities& capabilities, WorkerControl& worker,
                                         const Config& config) noexcept;
  QpControl() noexcept = default;
  ~QpControl();
  QpControl(const QpControl&) = delete;
  QpControl& operator=(const QpControl&) = delete;

  Qp& fast() const noexcept { return qp_[0]; }
  WorkerControl& worker() const noexcept { return *worker_; }
  /// What the other end must know, until the next reset.
  const Endpoint& local() const noexcept { return local_; }
  const Endpoint& remote() const noexcept { return remote_; }

  struct Path {
    std::uint16_t mtu;              ///< 0: the smaller of both ends'
    std::uint16_t udp_source_port;  ///< 0: chosen by both numbers
    std::uint8_t traffic_class;
    std::uint8_t hop_limit;    ///< 0: 64
    std::uint8_t ack_timeout;  ///< 4.096 us << n
    std::uint8_t retry_count;
    std::uint8_t rnr_retry;
    std::uint8_t min_rnr_timer;
  };
  Result<> connect(const Endpoint& remote, const Path& path) noexcept;

  /// To RESET and INIT, with a new first PSN; what was outstanding is forgotten, its completions too.
  Result<> reset() noexcept;
  /// Everything outstanding is flushed.
  Result<> fail_all() noexcept;

  struct Status {
    hca::QueuePair::Status card;
    std::uint16_t posted;       ///< basic blocks posted, modulo 2^16
    std::uint16_t recorded;     ///< as the doorbell record has it
    std::uint32_t outstanding;  ///< basic blocks whose completion was not polled
    Failure failure;
  };
  Result<Status> query() const noexcept;

  /// The port goes: nothing is posted any more.
  void detach() noexcept;
  bool attached() const noexcept { return attached_; }

 private:
  Result<> make_rings(hca::Device& device, const hca::Object& pd) noexcept;
  Result<> make_endpoint(hca::Device& device) noexcept;
  void rewind(Refusal closed) noexcept;
  hca::QueuePair::Rights rights() const noexcept;
  std::uint32_t completions() const noexcept { return config_.send_depth + config_.receive_depth; }

  Config config_{};
  Capabilities capabilities_{};
  WorkerControl* worker_ = nullptr;
  hca::WireUse wire_;
  EalArray<Qp> qp_;
  EalArray<SendSlot> slots_;
  EalArray<Receive> receives_;
  EalArray<std::uint64_t> results_;
  hca::MemoryRegion results_region_;
  EalArray<std::byte> operands_;
  hca::MemoryRegion operands_region_;
  hca::QueuePair card_;
  Endpoint local_{};
  Endpoint remote_{};
  bool attached_ = false;
};

}  // namespace chime::rdma
