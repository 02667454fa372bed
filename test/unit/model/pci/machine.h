// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "../support/host.h"
#include "model/pci/command_queue.h"
#include "model/pci/function.h"

/// @file
/// A machine with a card in its only slot: what a kernel driver would do, by accesses to registers and
/// memory.

namespace chime::test {

using Delivery = model::pci::CommandQueue::Delivery;

/// A command laid out in host memory as software does it, before it rings.
struct Laid {
  std::uint64_t entry = 0;  ///< bus addresses
  std::vector<std::uint64_t> in_boxes, out_boxes;
  std::size_t output_length = 0;
};

class Machine {
 public:
  static constexpr std::uint32_t bar = 0xe0000000;
  static constexpr std::uint8_t token = 0x5a;

  /// @param ready whether BAR, bus master, MSI-X and command queue are set up
  explicit Machine(const char* profile = "connectx6dx", bool ready = true);
  ~Machine();

  model::pci::Function& function() { return *function_; }
  std::uint32_t config(std::uint32_t offset, unsigned length = 4);
  void set_config(std::uint32_t offset, std::uint32_t value, unsigned length = 4);
  /// @return offset of the capability, 0: there is none
  std::uint32_t capability(std::uint8_t id);
  void set_up();
  void set_up_commands();

  /// Words of the initialization segment, and of the MSI-X table, in the host's order.
  std::uint32_t segment(std::uint32_t offset);
  void set_segment(std::uint32_t offset, std::uint32_t value);
  void set_vector(unsigned vector, std::uint64_t address, std::uint32_t data, bool masked = false);
  std::uint32_t pending() { return static_cast<std::uint32_t>(function_->read_bar(0x9000, 4)); }

  Laid lay(std::span<const std::byte> input, std::size_t output_length, unsigned slot = 0);
  void ring(std::uint32_t vector);
  Delivery delivery(const Laid& laid);
  bool done(const Laid& laid);
  std::vector<std::byte> output(const Laid& laid);
  std::byte* at(std::uint64_t address) { return memory.map(address, 1); }
  template <class L>
  prm::View<L> view(std::uint64_t address) {
    return prm::View<L>(std::span(memory.map(address, L::size), L::size));
  }

  /// Lays a command out, rings, and reads the answer; delivery must be good.
  template <class C>
  prm::cmd_status run(C& call) {
    const Laid laid = lay(call.in.bytes(), call.out.bytes().size());
    ring(1);
    EXPECT_TRUE(done(laid));
    EXPECT_EQ(delivery(laid), Delivery::ok);
    const auto answer = output(laid);
    std::copy(answer.begin(), answer.end(), call.out.bytes().begin());
    return call.out.get(C::out_type::status);
  }
  /// ENABLE_HCA, INIT_HCA, a UAR, and an EQ for these event types.
  std::uint32_t bring_up(std::uint64_t event_types, unsigned vector);
  bool has(const std::string& rule) const;

  HostMemory memory{8 << 20};
  std::vector<std::pair<std::uint64_t, std::uint32_t>> messages;  ///< interrupts: address and data
  std::vector<std::string> rules;                                 ///< of the findings
  std::string words;                                              ///< of the last one
  std::uint64_t now = 1'000'000'000;
  std::uint64_t queue = 0;  ///< command queue
  std::uint32_t uar = 0;
  std::uint64_t events = 0;  ///< the EQ's ring

 private:
  struct Around;
  std::unique_ptr<Around> around_;
  model::Profile profile_;
  Owned<model::pci::Function> function_;
};

}  // namespace chime::test
