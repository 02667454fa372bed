// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/model/command_trace.h"
#include "hca/model/embedded.h"
#include "hca/model/event_queue.h"
#include "hca/model/findings.h"
#include "hca/model/memory.h"
#include "hca/port.h"
#include "model/hca.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {

/// Plays the kernel driver on the embedded card: brings it up, keeps its event queues, opens the user
/// context. Used by the thread that steps the HCA.
class Kernel final : public InterruptHandler {
 public:
  static constexpr unsigned completion_vectors = 4;

  Kernel(model::Hca& hca, RegisteredMemory& memory, Findings& findings, EventSink& sink) noexcept
      : hca_(hca), memory_(memory), findings_(findings), sink_(sink), trace_(findings.name()) {}
  ~Kernel() override { stop(); }

  /// From power-on to an initialized device with event queues and one user context. On failure everything is
  /// taken back.
  Result<> start(const MacAddress& mac) noexcept;
  /// The other way round. What fails is reported and passed over.
  void stop() noexcept;

  /// Executes a command as it is. The Error names the command, the status in the manual's words, and what
  /// the card says of it.
  Result<> execute(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  template <class In, class Out>
  Result<> execute(In& in, Out& out) noexcept {
    return execute(std::span<const std::byte>(in.bytes()), std::span<std::byte>(out.bytes()));
  }

  /// Executes a command that takes something back; a failure is reported.
  void undo(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  void report(const Error& error) noexcept;

  std::uint16_t uid() const noexcept { return uid_; }
  /// Number of the event queue behind a completion vector.
  std::uint32_t eqn(unsigned vector) const noexcept { return completions_[vector].number(); }

  unsigned serve(std::uint64_t vectors) noexcept override;

  /// Fault injection: the n-th command from now, 1 being the next, is answered INTERNAL_ERR without reaching
  /// the card; 0 takes it back.
  void fail_command(unsigned n) noexcept { fails_in_ = n; }

 private:
  Result<> bring_up(const MacAddress& mac) noexcept;
  Result<> set_issi() noexcept;
  Result<> give_pages(prm::query_pages_op_mod which) noexcept;
  Result<> set_capabilities() noexcept;
  Result<> make_event_queues() noexcept;
  Result<> open_user_context() noexcept;

  model::Hca& hca_;
  RegisteredMemory& memory_;
  Findings& findings_;
  EventSink& sink_;
  CommandTrace trace_;
  bool enabled_ = false;
  bool initialized_ = false;
  std::uint32_t uar_ = 0;
  bool has_uar_ = false;
  EventQueue asynchronous_;
  std::array<EventQueue, completion_vectors> completions_;
  std::uint16_t uid_ = 0;
  unsigned fails_in_ = 0;
};

}  // namespace chime::hca::embedded
