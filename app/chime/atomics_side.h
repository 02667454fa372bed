// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_pmd_chime.h>

#include <cstdint>
#include <rte_pmd_chime.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// What the parts of `chime atomics` share: EAL, ports, connections, one operation at a time.

namespace chime::app {

/// Ends the subcommand with a sentence.
struct Failure : std::runtime_error {
  using runtime_error::runtime_error;
};
/// A function of the driver's failed: what was tried, and the driver's sentence.
[[noreturn]] void fail(std::string_view tried);

/// Nothing to do just now: where there are fewer CPUs than threads, another one may have.
void idle();

/// EAL with some vdevs; ends with the object.
class Eal {
 public:
  /// @param devices "net_chime0,wire=...": as --vdev has them; @param more further EAL arguments
  Eal(const std::vector<std::string>& devices, const std::vector<std::string>& more);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;
  static std::uint16_t port(const std::string& name);
  /// A wire between processes has a link when both are there; before, requests are sent in vain.
  static void wait_for_link(std::uint16_t port, unsigned seconds);
};

/// One queue pair with a worker of its own.
struct Side {
  explicit Side(std::uint16_t port);
  rte_pmd_chime_endpoint local() const;
  /// @param ack_timeout of the path: 4.096 us << this, eight times in all
  void connect(const rte_pmd_chime_endpoint& remote, unsigned ack_timeout) const;
  /// The next completion; a failed one ends the subcommand with the driver's diagnosis.
  bool poll(rte_pmd_chime_completion& completion) const;
  /// Posts one, waits for its completion. @return the original value of an atomic
  std::uint64_t execute(rte_pmd_chime_op op) const;
  void post(const rte_pmd_chime_op* ops, std::uint16_t count) const;

  rte_pmd_chime::Worker worker;
  rte_pmd_chime::QueuePair qp;
};

/// Zeroed EAL memory, registered with all rights.
class Shared {
 public:
  Shared(std::uint16_t port, std::size_t bytes);
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(bytes_);
  }
  std::uint32_t lkey() const;
  rte_pmd_chime_mem_desc descriptor() const;

 private:
  void* bytes_;
  rte_pmd_chime::Memory memory_;
};

}  // namespace chime::app
