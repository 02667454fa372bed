// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/kernel.h"

#include <rte_log.h>

#include <algorithm>

#include "hca/model/gid_table.h"
#include "hca/model/vport.h"
#include "hca/refusal.h"
#include "prm/text.h"

namespace chime::hca::embedded {
namespace {

constexpr unsigned asynchronous_vector = 0;
constexpr unsigned first_completion_vector = 1;

constexpr std::uint64_t bit(prm::event_type type) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(type);
}
constexpr std::uint64_t asynchronous_events =
    bit(prm::event_type::path_migrated) | bit(prm::event_type::communication_established) |
    bit(prm::event_type::send_queue_drained) | bit(prm::event_type::cq_error) |
    bit(prm::event_type::wq_catastrophic_error) | bit(prm::event_type::path_migration_failed) |
    bit(prm::event_type::port_change) | bit(prm::event_type::nic_vport_change) |
    bit(prm::event_type::wq_invalid_request) | bit(prm::event_type::wq_access_error) |
    bit(prm::event_type::srq_catastrophic_error) | bit(prm::event_type::last_wqe_reached) |
    bit(prm::event_type::srq_rq_limit);

// Every output has room for the 16 bytes that the card writes at least.
template <class C>
using Out = prm::Box < typename C::out,
      C::out::size<16 ? 16 - C::out::size : 0>;

}  // namespace

Result<> Kernel::execute(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (in.size() < 16 || out.size() < 16) {
    return fail(EINVAL, "a command of %zu bytes with room for an answer of %zu; both have 16 at least",
                in.size(), out.size());
  }
  const auto opcode = prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::opcode);
  if (fails_in_ != 0 && --fails_in_ == 0) {
    std::fill(out.begin(), out.end(), std::byte{0});
    prm::View<prm::cmd_out>(out).set(prm::cmd_out::status, prm::cmd_status::internal_err);
    trace_.answered(in, out);
    return fail(refusal(opcode, prm::cmd_status::internal_err, 0, "this command was made to fail"));
  }
  findings_.begin_command();
  hca_.command(in, out);
  const char* words = findings_.end_command();
  trace_.answered(in, out);
  const prm::ConstView<prm::cmd_out> answer(out);
  const auto status = answer.get(prm::cmd_out::status);
  if (status == prm::cmd_status::ok) return {};
  return fail(refusal(opcode, status, answer.get(prm::cmd_out::syndrome), words));
}

void Kernel::undo(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (auto done = execute(in, out); !done) report(done.error());
}

void Kernel::report(const Error& error) noexcept {
  rte_log(RTE_LOG_ERR, static_cast<std::uint32_t>(findings_.log_type()), "%s\n", error.text);
}

Result<> Kernel::start(const MacAddress& mac) noexcept {
  auto up = bring_up(mac);
  if (!up) stop();
  return up;
}

Result<> Kernel::bring_up(const MacAddress& mac) noexcept {
  prm::Box<prm::enable_hca_in> enable;
  Out<prm::enable_hca> enabled;
  if (auto done = execute(enable, enabled); !done) return done;
  enabled_ = true;
  if (auto done = set_issi(); !done) return done;
  if (auto done = give_pages(prm::query_pages_op_mod::boot_pages); !done) return done;
  if (auto done = set_capabilities(); !done) return done;
  if (auto done = give_pages(prm::query_pages_op_mod::init_pages); !done) return done;
  prm::Box<prm::init_hca_in> init;
  Out<prm::init_hca> initialized;
  if (auto done = execute(init, initialized); !done) return done;
  initialized_ = true;
  if (auto done = write_address(*this, mac); !done) return done;
  if (auto done = disable_local_loopback(*this); !done) return done;
  if (auto done = enable_roce(*this, mac); !done) return done;
  if (auto done = make_event_queues(); !done) return done;
  return open_user_context();
}

Result<> Kernel::set_issi() noexcept {
  prm::Box<prm::query_issi_in> query;
  Out<prm::query_issi> supported;
  if (auto done = execute(query, supported); !done) return done;
  if (!(supported.get(prm::query_issi_out::supported_issi_dw0) & 1u << 1)) {
    return fail(ENOTSUP, "the card does not support ISSI 1, the interface that this driver speaks");
  }
  prm::Box<prm::set_issi_in> in;
  Out<prm::set_issi> out;
  in.set(prm::set_issi_in::current_issi, 1);
  return execute(in, out);
}

/// The embedded card works in this process's memory and has no use for pages; one that asks all the same, as
/// a profile may have it, gets addresses where nothing is.
Result<> Kernel::give_pages(prm::query_pages_op_mod which) noexcept {
  prm::Box<prm::query_pages_in> query;
  Out<prm::query_pages> wanted;
  query.set(prm::query_pages_in::op_mod, which);
  if (auto done = execute(query, wanted); !done) return done;
  constexpr std::size_t at_once = 512;
  constexpr std::uint64_t nowhere = 0xffff'0000'0000'0000;
  std::size_t left = wanted.get(prm::query_pages_out::num_pages);
  for (std::uint64_t page = 0; left > 0;) {
    prm::Box<prm::manage_pages_in, at_once * 8> in;
    Out<prm::manage_pages> out;
    const std::size_t now = std::min(left, at_once);
    in.set(prm::manage_pages_in::op_mod, prm::manage_pages_op_mod::allocation_success)
        .set(prm::manage_pages_in::input_num_entries, static_cast<std::uint32_t>(now));
    for (std::size_t i = 0; i < now; ++i) in.set(prm::manage_pages_in::pas, i, nowhere + (page++ << 12));
    const std::size_t bytes = prm::manage_pages_in::size + now * 8;
    if (auto done = execute(in.bytes().first(bytes), out.bytes()); !done) return done;
    left -= now;
  }
  return {};
}

/// Atomic replies in host order where the card can, as Linux sets it.
Result<> Kernel::set_capabilities() noexcept {
  using Caps = prm::atomic_caps;
  constexpr auto type = static_cast<std::uint32_t>(prm::hca_cap_type::atomic);
  prm::Box<prm::query_hca_cap_in> query;
  prm::Box<prm::query_hca_cap_out> general, atomic;
  query.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  if (auto done = execute(query, general); !done) return done;
  const prm::ConstView<prm::cmd_hca_cap> card(general.bytes().subspan(0x10));
  if (!card.get(prm::cmd_hca_cap::atomic)) return {};
  query.set(prm::query_hca_cap_in::op_mod, type << 1 | static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  if (auto done = execute(query, atomic); !done) return done;
  const prm::ConstView<Caps> current(atomic.bytes().subspan(0x10));
  if (!current.get(Caps::supported_atomic_req_8B_endianness_mode_1)) return {};
  prm::Box<prm::set_hca_cap_in> set;
  Out<prm::set_hca_cap> done_out;
  set.set(prm::set_hca_cap_in::op_mod, type << 1);
  prm::View<Caps>(set.bytes().subspan(0x10)).set(Caps::atomic_req_8B_endianness_mode, 1);
  return execute(set, done_out);
}

Result<> Kernel::make_event_queues() noexcept {
  prm::Box<prm::alloc_uar_in> in;
  Out<prm::alloc_uar> out;
  if (auto done = execute(in, out); !done) return done;
  uar_ = out.get(prm::alloc_uar_out::uar);
  has_uar_ = true;
  if (auto done = asynchronous_.create(*this, hca_, memory_, asynchronous_vector, asynchronous_events, uar_);
      !done) {
    return done;
  }
  unsigned vector = first_completion_vector;
  for (EventQueue& queue : completions_) {
    if (auto done = queue.create(*this, hca_, memory_, vector++, 0, uar_); !done) return done;
  }
  return {};
}

Result<> Kernel::open_user_context() noexcept {
  prm::Box<prm::query_hca_cap_in> query;
  prm::Box<prm::query_hca_cap_out> general;
  query.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  if (auto done = execute(query, general); !done) return done;
  const prm::ConstView<prm::cmd_hca_cap> card(general.bytes().subspan(0x10));
  if (card.get(prm::cmd_hca_cap::log_max_uctx) == 0) {
    return fail(ENOTSUP, "the card has no user contexts (log_max_uctx 0); a profile that has them would do");
  }
  prm::Box<prm::create_uctx_in> in;
  Out<prm::create_uctx> out;
  in.at(prm::create_uctx_in::uctx)
      .set(prm::uctx::cap,
           card.get(prm::cmd_hca_cap::uctx_cap) & (prm::uctx_cap::raw_tx | prm::uctx_cap::internal_dev_res));
  if (auto done = execute(in, out); !done) return done;
  uid_ = static_cast<std::uint16_t>(out.get(prm::create_uctx_out::uid));
  return {};
}

void Kernel::stop() noexcept {
  if (uid_ != 0) {
    prm::Box<prm::destroy_uctx_in> in;
    Out<prm::destroy_uctx> out;
    in.set(prm::destroy_uctx_in::uid, std::exchange(uid_, std::uint16_t{0}));
    undo(in.bytes(), out.bytes());
  }
  for (EventQueue& queue : completions_) queue.destroy(*this, memory_);
  asynchronous_.destroy(*this, memory_);
  if (std::exchange(has_uar_, false)) {
    prm::Box<prm::dealloc_uar_in> in;
    Out<prm::dealloc_uar> out;
    in.set(prm::dealloc_uar_in::uar, uar_);
    undo(in.bytes(), out.bytes());
  }
  if (std::exchange(initialized_, false)) {
    prm::Box<prm::teardown_hca_in> in;
    Out<prm::teardown_hca> out;
    undo(in.bytes(), out.bytes());
  }
  if (std::exchange(enabled_, false)) {
    prm::Box<prm::disable_hca_in> in;
    Out<prm::disable_hca> out;
    undo(in.bytes(), out.bytes());
  }
}

unsigned Kernel::serve(std::uint64_t vectors) noexcept {
  unsigned events = 0;
  if (vectors & 1u << asynchronous_vector && asynchronous_.exists())
    events += asynchronous_.poll(hca_, sink_);
  for (unsigned i = 0; i < completion_vectors; ++i) {
    if (vectors & 1u << (first_completion_vector + i) && completions_[i].exists()) {
      events += completions_[i].poll(hca_, sink_);
    }
  }
  return events;
}

}  // namespace chime::hca::embedded
