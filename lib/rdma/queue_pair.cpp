// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/queue_pair.h"

#include <rte_random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "rdma/polling.h"
#include "rdma/post.h"
#include "rdma/request.h"

namespace chime::rdma {
namespace {

constexpr std::uint32_t least_send_depth = most_blocks;  // the longest request fits
constexpr std::uint32_t least_receive_depth = 4;         // a line of WQEs
constexpr std::uint8_t usual_hop_limit = 64;
constexpr std::uint32_t roce_headers = 40 + 8 + 12 + 16 + 28 + 4;  // IPv6, UDP, BTH, RETH, AtomicETH, ICRC
// UDP source ports of RoCE v2 connections, by habit of the Linux driver.
constexpr std::uint16_t first_udp_port = 0xc000;

std::uint8_t log2_of(std::uint32_t value) noexcept {
  return static_cast<std::uint8_t>(std::bit_width(value) - 1);
}

/// prm::qpc_mtu of a payload of so many bytes.
std::uint8_t mtu_code(std::uint32_t mtu) noexcept {
  return static_cast<std::uint8_t>(log2_of(mtu) - 7);
}

/// The largest payload whose packet the port's MTU carries.
std::uint16_t largest_mtu(std::uint32_t port_mtu) noexcept {
  const std::uint32_t room = port_mtu > roce_headers ? port_mtu - roce_headers : 0;
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(std::bit_floor(room), 256, 4096));
}

Result<> check_depth(const char* what, std::uint32_t depth, std::uint32_t least,
                     std::uint32_t most) noexcept {
  if (std::has_single_bit(depth) && depth >= least && depth <= most) return {};
  return fail(EINVAL, "%s depth %u; a power of two from %u to %u is possible", what, depth, least, most);
}

Result<> check_config(const QpControl::Config& config, const Capabilities& capabilities) noexcept {
  const std::uint32_t most = 1u << capabilities.log_max_depth;
  Result<> good = check_depth("send", config.send_depth, least_send_depth, most);
  if (good && config.receive_depth != 0)
    good = check_depth("receive", config.receive_depth, least_receive_depth, most);
  if (good)
    good = check_depth("initiator", config.initiator_depth, 1,
                       std::min(128u, 1u << std::min<unsigned>(capabilities.log_max_initiator_depth, 7)));
  if (good)
    good = check_depth("responder", config.responder_depth, 1,
                       std::min(128u, 1u << std::min<unsigned>(capabilities.log_max_responder_depth, 7)));
  if (!good) return good;
  // Control and remote-address segment, and the count before the bytes.
  const std::uint32_t most_inline = (capabilities.max_ds - 2u) * 16 - 4;
  if (config.most_inline > most_inline)
    return fail(EINVAL, "%u bytes in line; a request of this card has room for %u", config.most_inline,
                most_inline);
  if (config.rights & ~(remote_read | remote_write | remote_atomic))
    return fail(EINVAL, "rights %#x of a queue pair; remote read, write and atomic are possible",
                config.rights);
  if (config.rights & remote_atomic && capabilities.operations == 0)
    return fail(ENOTSUP, "this card answers no atomics (QUERY_HCA_CAP: atomic)");
  if (config.atomic_writes && capabilities.operations == 0)
    return fail(ENOTSUP, "this card has no atomics that a write could be atomic against");
  return {};
}

}  // namespace

QpControl::~QpControl() {
  detach();
  if (worker_ != nullptr) worker_->leave();
}

Result<Owned<QpControl>> QpControl::create(hca::Device& device, const hca::Object& pd,
                                           const Capabilities& capabilities, WorkerControl& worker,
                                           const Config& config) noexcept {
  if (Result<> good = check_config(config, capabilities); !good) return fail(good.error());
  auto made = make_owned<QpControl>("a queue pair");
  if (!made) return made;
  QpControl& c = **made;
  c.config_ = config;
  c.capabilities_ = capabilities;
  c.worker_ = &worker;
  worker.enter();
  // Its packets come and go whether the ethdev port is started or not.
  Result<> done = device.port().prepare();
  if (done) done = c.make_rings(device, pd);
  if (done) done = c.make_endpoint(device);
  if (done) done = c.card_.to_init(c.rights());
  if (done) done = worker.add(c.fast(), c.completions());
  if (!done) return fail(done.error());
  c.attached_ = true;
  c.wire_ = device.port().use();
  return made;
}

Result<> QpControl::make_rings(hca::Device& device, const hca::Object& pd) noexcept {
  const auto keep = [](auto& where, auto made) -> Result<> {
    if (!made) return fail(made.error());
    where = std::move(*made);
    return {};
  };
  const int socket = config_.socket;
  const std::uint32_t blocks = config_.send_depth;
  Result<> done = keep(qp_, make_eal_array<Qp>(1, socket, "chime_qp"));
  if (done) done = keep(slots_, make_eal_array<SendSlot>(blocks, socket, "chime_qp"));
  if (done) done = keep(results_, make_eal_array<std::uint64_t>(blocks, socket, "chime_qp"));
  if (done && config_.receive_depth != 0)
    done = keep(receives_, make_eal_array<Receive>(config_.receive_depth, socket, "chime_qp"));
  if (done)
    done = keep(results_region_, device.register_memory(pd, results_.get(), blocks * sizeof(std::uint64_t),
                                                        {.local_write = true}));
  if (done && config_.wide) {
    done = keep(operands_, make_eal_array<std::byte>(blocks * wide_operands, socket, "chime_qp"));
    if (done)
      done = keep(operands_region_, device.register_memory(pd, operands_.get(), blocks * wide_operands, {}));
  }
  if (done) {
    const hca::QueuePair::Config config{
        .log_send_size = log2_of(blocks),
        .log_receive_size = config_.receive_depth != 0 ? log2_of(config_.receive_depth) : std::uint8_t{0},
        .has_receive = config_.receive_depth != 0,
        .send_cqn = worker_->cq().number(),
        .receive_cqn = worker_->cq().number(),
        .uar_page = worker_->uar().page_id(),
        .pd = pd.number(),
        .socket = socket};
    done = keep(card_, hca::QueuePair::create(device, config));
  }
  if (!done) return done;

  Qp& qp = fast();
  qp.wqes = card_.send_ring();
  qp.slots = slots_.get();
  qp.send_record = &card_.record()->send.raw;
  qp.worker = &worker_->fast();
  qp.qpn_shifted = card_.number() << 8;
  qp.mask = blocks - 1;
  qp.results = results_.get();
  qp.result_key = prm::host_to_be(std::uint64_t{8} << 32 | results_region_.lkey);
  qp.flags = static_cast<std::uint8_t>(
      (config_.signal_all ? qp_signal_all : 0) | (capabilities_.plain() ? qp_plain_atomics : 0) |
      (worker_->thread_safe() ? qp_locked : 0) | (worker_->checked() ? qp_checked : 0) |
      (capabilities_.host_replies ? qp_host_replies : 0));
  prepare_posting(qp);
  qp.most_inline = config_.most_inline;
  qp.max_ds = capabilities_.max_ds;
  if (config_.wide) {
    qp.operands = operands_.get();
    qp.operands_lkey = prm::host_to_be(operands_region_.lkey);
  }
  if (config_.receive_depth != 0) {
    qp.receive_wqes = reinterpret_cast<prm::WqeData*>(card_.receive_ring());
    qp.receives = receives_.get();
    qp.receive_mask = config_.receive_depth - 1;
  }
  qp.receive_record = &card_.record()->receive.raw;
  rewind(Refusal::not_connected);
  return {};
}

/// Rings as those of a new queue pair. A closed one is full, so that posting needs no other look.
void QpControl::rewind(Refusal closed) noexcept {
  Qp& qp = fast();
  qp.produced = 0;
  qp.limit = closed == Refusal::none ? qp.mask + 1 : 0;
  qp.signaled_at = 0;
  qp.closed = closed;
  qp.refusal = Refusal::none;
  qp.receive_produced = qp.receive_completed = 0;
  qp.receive_size = config_.receive_depth;
  qp.failure = {};
  std::atomic_ref(*qp.send_record).store(0, std::memory_order_release);
  std::atomic_ref(*qp.receive_record).store(0, std::memory_order_release);
}

Result<> QpControl::make_endpoint(hca::Device& device) noexcept {
  auto gid = device.port().gid(config_.gid_index);
  if (!gid) return fail(gid.error());
  auto mtu = device.port().mtu();
  if (!mtu) return fail(mtu.error());
  local_ = {.qpn = card_.number(),
            .psn = static_cast<std::uint32_t>(rte_rand() & 0xffffff),
            .gid = gid->raw,
            .mac = gid->mac,
            .mtu = largest_mtu(*mtu),
            .depth = config_.responder_depth,
            .reserved = 0,
            .check = 0};
  seal(local_);
  return {};
}

hca::QueuePair::Rights QpControl::rights() const noexcept {
  return {.read = (config_.rights & remote_read) != 0,
          .write = (config_.rights & remote_write) != 0,
          .atomic = (config_.rights & remote_atomic) != 0,
          .atomic_mode = capabilities_.atomic_mode(),
          .atomic_like_write = config_.atomic_writes};
}

Result<> QpControl::connect(const Endpoint& remote, const Path& path) noexcept {
  if (Result<> good = check(remote); !good) return good;
  if (path.ack_timeout > 31 || path.retry_count > 7 || path.rnr_retry > 7 || path.min_rnr_timer > 31)
    return fail(
        EINVAL,
        "connection with ack_timeout %u, retry_count %u, rnr_retry %u, min_rnr_timer %u; up to 31, 7, 7 "
        "and 31 are possible",
        path.ack_timeout, path.retry_count, path.rnr_retry, path.min_rnr_timer);
  const std::uint16_t mtu = path.mtu != 0 ? path.mtu : std::min(local_.mtu, remote.mtu);
  if (!std::has_single_bit(mtu) || mtu < 256 || mtu > local_.mtu || mtu > remote.mtu)
    return fail(EINVAL,
                "connection with MTU %u; 256, 512, 1024, ... up to %u are possible between these ends", mtu,
                std::min(local_.mtu, remote.mtu));
  if (fast().closed == Refusal::none)
    return fail(EISCONN, "queue pair %#x is connected: reset it first", card_.number());

  const auto chosen = static_cast<std::uint16_t>(first_udp_port | ((local_.qpn ^ remote.qpn * 31) & 0x3fff));
  const hca::QueuePair::Peer peer{
      .qpn = remote.qpn,
      .receive_psn = remote.psn,
      .gid = remote.gid,
      .mac = remote.mac,
      .gid_index = config_.gid_index,
      .mtu = mtu_code(mtu),
      .hop_limit = path.hop_limit != 0 ? path.hop_limit : usual_hop_limit,
      .traffic_class = path.traffic_class,
      .ack_timeout = path.ack_timeout,
      .min_rnr_timer = path.min_rnr_timer,
      .log_responder_depth = log2_of(config_.responder_depth),
      .udp_source_port = path.udp_source_port != 0 ? path.udp_source_port : chosen};
  // The other end keeps no more than it says.
  const std::uint32_t depth = std::min<std::uint32_t>(config_.initiator_depth, std::bit_floor(remote.depth));
  Result<> done = card_.to_rtr(peer, rights());
  if (done)
    done = card_.to_rts({.send_psn = local_.psn,
                         .retry_count = path.retry_count,
                         .rnr_retry = path.rnr_retry,
                         .ack_timeout = path.ack_timeout,
                         .log_initiator_depth = log2_of(depth)});
  if (!done) {
    // To where it was: the next try begins there.
    Result<> back = card_.to_reset();
    if (back) back = card_.to_init(rights());
    if (!back)
      return fail(back.error().within("after a failed connection of queue pair %#x", card_.number()));
    return fail(done.error().within("connection of queue pair %#x", card_.number()));
  }
  remote_ = remote;
  Qp& qp = fast();
  const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
  qp.limit = qp.produced + qp.mask + 1;
  qp.closed = Refusal::none;
  return {};
}

Result<> QpControl::reset() noexcept {
  if (Result<> done = card_.to_reset(); !done) return done;
  Qp& qp = fast();
  {
    const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
    drop_completions(*qp.worker, qp.qpn());
    rewind(Refusal::not_connected);
  }
  // Packets of the connection before must not be taken for the next one's.
  local_.psn = (local_.psn + (1u << 22) + static_cast<std::uint32_t>(rte_rand() & 0x3fffff)) & 0xffffff;
  seal(local_);
  remote_ = {};
  return card_.to_init(rights());
}

Result<> QpControl::fail_all() noexcept {
  return card_.to_error();
}

Result<QpControl::Status> QpControl::query() const noexcept {
  auto card = card_.query();
  if (!card) return fail(card.error());
  const Qp& qp = fast();
  const std::uint32_t room = qp.closed == Refusal::none ? qp.limit - qp.produced : qp.mask + 1;
  return Status{.card = *card,
                .posted = static_cast<std::uint16_t>(qp.produced),
                .recorded = static_cast<std::uint16_t>(prm::Be32::from_raw(*qp.send_record)),
                .outstanding = qp.mask + 1 - room,
                .failure = qp.failure};
}

void QpControl::detach() noexcept {
  card_ = {};  // from here on nothing comes from the card
  wire_ = {};
  if (attached_) {
    worker_->remove(fast(), completions());
    Qp& qp = fast();
    const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
    qp.limit = qp.produced;
    qp.receive_size = 0;
    qp.closed = Refusal::gone;
  }
  attached_ = false;
  results_region_.mkey = {};
  results_region_.umem = {};
  operands_region_.mkey = {};
  operands_region_.umem = {};
}

}  // namespace chime::rdma
