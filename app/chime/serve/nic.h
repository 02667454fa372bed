// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "base/array.h"
#include "base/error.h"
#include "guest_memory.h"
#include "model/pci/function.h"
#include "qtest.h"
#include "transport.h"
#include "vfio_interrupts.h"
#include "wire/factory.h"

namespace chime::serve {

/// What one card is: `--nic name=...,vfio-user=...,...` or `--nic name=...,fd=...,qtest=...,...`.
struct NicOptions {
  std::string name;
  std::string vfio_user;  ///< path of our socket, which QEMU's vfio-user-pci connects to
  int fd = -1;            ///< or our end of the socket pair whose other end x-pci-proxy-dev has,
  std::string qtest;      ///< and the path of its QEMU's qtest socket
  std::string wire = "loop";
  std::string profile;    ///< compiled-in name or file; empty: the default
  std::uint64_t mac = 0;  ///< 48 bits; 0: the profile's, plus `place`
  unsigned place = 0;     ///< among its server's cards: no two of them have one address

  /// @param text "name=net0,vfio-user=PATH,wire=loop,profile=connectx7,mac=02:00:00:00:00:01"
  static Result<NicOptions> parse(const std::string& text);
};

/// Findings of a card, on standard error.
class FindingsToStderr final : public model::Diagnostics {
 public:
  explicit FindingsToStderr(const std::string& name) : name_(name) {}
  void report(const model::Finding& finding) noexcept override;
  std::uint64_t errors() const noexcept { return errors_; }

 private:
  const std::string& name_;
  std::uint64_t errors_ = 0;
};

/// One card with all that surrounds it, served to one QEMU. Used by one thread.
class Nic {
 public:
  /// @param qtest of its QEMU, none with vfio-user; outlives the card, as do the factory and executor
  static Result<Owned<Nic>> create(const NicOptions& options, Qtest* qtest, wire::Factory& wires,
                                   wire::Executor& executor);
  Nic(const NicOptions& options, Qtest* qtest) : options_(options), qtest_(qtest), findings_(options_.name) {}

  const std::string& name() const noexcept { return options_.name; }
  int fd() const noexcept { return device_ ? device_->fd() : -1; }
  short events() const noexcept { return device_ ? device_->events() : short{0}; }
  /// Readable when frames have arrived; -1 for wires that have to be asked.
  int wire_descriptor() const noexcept { return wire_->descriptor(); }
  bool connected() const noexcept { return device_ != nullptr; }
  /// Messages and a step of the card. @return units of work; an error ends the connection
  Result<unsigned> serve() noexcept;

  model::pci::Function& function() noexcept { return *function_; }
  GuestMemory& memory() noexcept { return memory_; }
  /// What is wrong with its wire, all of it: each control command replaces a part.
  wire::FaultSpec& faults() noexcept { return faults_; }
  /// Interrupts that found no way to the guest.
  std::uint64_t undelivered() const noexcept { return qtest_ ? qtest_->lost() : 0; }
  std::uint64_t errors() const noexcept { return findings_.errors(); }

 private:
  Result<> connect();

  NicOptions options_;
  Qtest* const qtest_;
  VfioInterrupts vectors_;
  FindingsToStderr findings_;
  model::SystemClock clock_;
  GuestMemory memory_;
  model::Profile profile_;
  wire::FaultSpec faults_;
  Owned<wire::Port> wire_;
  Owned<model::pci::Function> function_;
  Owned<Transport> device_;
};

}  // namespace chime::serve
