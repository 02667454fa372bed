// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "rdma/diagnosis.h"
#include "rdma_api.h"
#include "rdma_error.h"
#include "rdma_port.h"

/// @file
/// Workers and queue pairs. A handle is what the datapath uses, rdma::Worker or rdma::Qp; those lead back to
/// their owners.

namespace chime::net {

namespace {

constexpr std::uint32_t usual_completions = 4096;
constexpr std::uint32_t usual_send_depth = 128;
constexpr std::uint32_t usual_ra_depth = 16;
constexpr std::uint32_t worker_flags = RTE_PMD_CHIME_WORKER_THREAD_SAFE | RTE_PMD_CHIME_WORKER_CHECKED;
constexpr std::uint32_t qp_flags =
    RTE_PMD_CHIME_QP_SIGNAL_ALL | RTE_PMD_CHIME_QP_ATOMIC_WRITES | RTE_PMD_CHIME_QP_WIDE;

rdma::HeldWorker& held(const rte_pmd_chime_worker* worker) noexcept {
  return *static_cast<rdma::HeldWorker*>(reinterpret_cast<const rdma::Worker*>(worker)->handle);
}
rdma::HeldQp& held(const rte_pmd_chime_qp* qp) noexcept {
  return *static_cast<rdma::HeldQp*>(reinterpret_cast<const rdma::Qp*>(qp)->handle);
}

template <class Handle, class T>
Handle* handle(const Result<rdma::Held<T>*>& made) noexcept {
  if (made) return reinterpret_cast<Handle*>(&(*made)->object->fast());
  refused(made.error());
  return nullptr;
}

Error port_is_gone() noexcept {
  return Error::make(ENODEV, "the port was closed: only freeing is left");
}

Result<> check_socket(int socket) noexcept {
  if (socket < SOCKET_ID_ANY || socket >= RTE_MAX_NUMA_NODES)
    return fail(EINVAL, "NUMA node %d; -1 means any", socket);
  return {};
}

/// What is 0 in the application's configuration.
std::uint8_t depth_or_usual(std::uint16_t depth, std::uint8_t log_most) noexcept {
  if (depth == 0)
    return static_cast<std::uint8_t>(std::min(usual_ra_depth, 1u << std::min<unsigned>(log_most, 7)));
  // More than there ever is stays wrong.
  return static_cast<std::uint8_t>(std::min<std::uint16_t>(depth, 255));
}

Result<rdma::QpControl::Config> config_of(const rte_pmd_chime_qp_conf& conf,
                                          const rdma::Capabilities& capabilities) noexcept {
  if (conf.flags & ~qp_flags)
    return fail(EINVAL, "flags %#x of a queue pair; there are %#x", conf.flags, qp_flags);
  if (conf.gid_index >= capabilities.gids)
    return fail(EINVAL, "GID %u; this card has places 0 to %u", conf.gid_index, capabilities.gids - 1);
  if (Result<> good = check_socket(conf.socket); !good) return fail(good.error());
  return rdma::QpControl::Config{
      .send_depth = conf.send_depth != 0 ? conf.send_depth : usual_send_depth,
      .receive_depth = conf.receive_depth,
      .most_inline = conf.max_inline,
      .signal_all = (conf.flags & RTE_PMD_CHIME_QP_SIGNAL_ALL) != 0,
      .initiator_depth = depth_or_usual(conf.initiator_depth, capabilities.log_max_initiator_depth),
      .responder_depth = depth_or_usual(conf.responder_depth, capabilities.log_max_responder_depth),
      .rights = conf.rights,
      .atomic_writes = (conf.flags & RTE_PMD_CHIME_QP_ATOMIC_WRITES) != 0,
      .wide = (conf.flags & RTE_PMD_CHIME_QP_WIDE) != 0,
      .gid_index = static_cast<std::uint8_t>(conf.gid_index),
      .socket = conf.socket};
}

/// Calls `f(QpControl&)` on a queue pair whose port is there.
template <class F>
Result<> with_qp(const rte_pmd_chime_qp* qp, F f) noexcept {
  if (qp == nullptr) return fail(EINVAL, "no queue pair (NULL)");
  const PortsStay stay;
  rdma::HeldQp& h = held(qp);
  if (h.session == nullptr) return fail(port_is_gone());
  return f(*h.object, *h.session);
}

}  // namespace

}  // namespace chime::net

using namespace chime;
using namespace chime::net;

extern "C" {

rte_pmd_chime_worker* rte_pmd_chime_worker_create(uint16_t port_id, const rte_pmd_chime_worker_conf* conf) {
  const rte_pmd_chime_worker_conf defaults{.completions = 0, .flags = 0, .socket = SOCKET_ID_ANY};
  const rte_pmd_chime_worker_conf& c = conf != nullptr ? *conf : defaults;
  return handle<rte_pmd_chime_worker>(
      with_session(port_id, [&](rdma::Session& session) -> Result<rdma::HeldWorker*> {
        if (c.flags & ~worker_flags)
          return fail(EINVAL, "flags %#x of a worker; there are %#x", c.flags, worker_flags);
        if (Result<> good = check_socket(c.socket); !good) return fail(good.error());
        return session.make_worker({.completions = c.completions != 0 ? c.completions : usual_completions,
                                    .thread_safe = (c.flags & RTE_PMD_CHIME_WORKER_THREAD_SAFE) != 0,
                                    .checked = (c.flags & RTE_PMD_CHIME_WORKER_CHECKED) != 0,
                                    .socket = c.socket});
      }));
}

int rte_pmd_chime_worker_free(rte_pmd_chime_worker* worker) {
  if (worker == nullptr) return 0;
  const PortsStay stay;
  return answer(rdma::Session::free(&held(worker)));
}

rte_pmd_chime_qp* rte_pmd_chime_qp_create(rte_pmd_chime_worker* worker, const rte_pmd_chime_qp_conf* conf) {
  if (worker == nullptr || conf == nullptr) {
    refused(Error::make(EINVAL, "a queue pair needs a worker and a configuration, and one is NULL"));
    return nullptr;
  }
  const PortsStay stay;
  rdma::HeldWorker& h = held(worker);
  if (h.session == nullptr) {
    refused(port_is_gone());
    return nullptr;
  }
  auto config = config_of(*conf, h.session->capabilities());
  if (!config) {
    refused(config.error());
    return nullptr;
  }
  return handle<rte_pmd_chime_qp>(h.session->make_qp(h, *config));
}

void rte_pmd_chime_qp_destroy(rte_pmd_chime_qp* qp) {
  if (qp == nullptr) return;
  const PortsStay stay;
  rdma::Session::free(&held(qp));
}

int rte_pmd_chime_qp_local(const rte_pmd_chime_qp* qp, rte_pmd_chime_endpoint* endpoint) {
  return answer(with_qp(qp, [&](rdma::QpControl& control, rdma::Session&) -> Result<> {
    *endpoint = std::bit_cast<rte_pmd_chime_endpoint>(control.local());
    return {};
  }));
}

void rte_pmd_chime_path_default(rte_pmd_chime_path* path) {
  *path = {.mtu = 0,
           .udp_source_port = 0,
           .traffic_class = 0,
           .hop_limit = 0,
           .ack_timeout = 14,
           .retry_count = 7,
           .rnr_retry = 7,
           .min_rnr_timer = 12};
}

int rte_pmd_chime_qp_connect(rte_pmd_chime_qp* qp, const rte_pmd_chime_endpoint* remote,
                             const rte_pmd_chime_path* path) {
  rte_pmd_chime_path way;
  rte_pmd_chime_path_default(&way);
  if (path != nullptr) way = *path;
  return answer(with_qp(qp, [&](rdma::QpControl& control, rdma::Session&) -> Result<> {
    if (remote == nullptr) return fail(EINVAL, "no endpoint to connect to (NULL)");
    return control.connect(std::bit_cast<rdma::Endpoint>(*remote), {.mtu = way.mtu,
                                                                    .udp_source_port = way.udp_source_port,
                                                                    .traffic_class = way.traffic_class,
                                                                    .hop_limit = way.hop_limit,
                                                                    .ack_timeout = way.ack_timeout,
                                                                    .retry_count = way.retry_count,
                                                                    .rnr_retry = way.rnr_retry,
                                                                    .min_rnr_timer = way.min_rnr_timer});
  }));
}

int rte_pmd_chime_qp_reset(rte_pmd_chime_qp* qp) {
  return answer(with_qp(qp, [](rdma::QpControl& control, rdma::Session&) { return control.reset(); }));
}

int rte_pmd_chime_qp_fail(rte_pmd_chime_qp* qp) {
  return answer(with_qp(qp, [](rdma::QpControl& control, rdma::Session&) { return control.fail_all(); }));
}

int rte_pmd_chime_qp_query(const rte_pmd_chime_qp* qp, rte_pmd_chime_qp_info* info) {
  return answer(with_qp(qp, [&](rdma::QpControl& control, rdma::Session&) -> Result<> {
    auto status = control.query();
    if (!status) return fail(status.error());
    *info = {.qpn = control.fast().qpn(),
             .state = static_cast<std::uint32_t>(status->card.state),
             .send_psn = status->card.send_psn,
             .receive_psn = status->card.receive_psn,
             .outstanding = status->outstanding,
             .posted = status->posted,
             .recorded = status->recorded,
             .known = status->card.known_blocks,
             .taken = status->card.taken_blocks,
             .failure = status->failure.status,
             .failure_vendor = status->failure.vendor_syndrome,
             .failure_opcode = status->failure.kind,
             .reserved = 0};
    return {};
  }));
}

int rte_pmd_chime_qp_diagnose(const rte_pmd_chime_qp* qp, char* text, size_t size) {
  int length = 0;
  const Result<> done = with_qp(qp, [&](rdma::QpControl& control, rdma::Session& session) -> Result<> {
    auto status = control.query();
    if (!status) return fail(status.error());
    length = std::snprintf(text, size, "%s", rdma::diagnose(*status, session.keys()).text);
    return {};
  });
  return done ? length : refused(done.error());
}
}
