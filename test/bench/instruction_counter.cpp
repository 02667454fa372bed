// SPDX-License-Identifier: BSD-3-Clause
#include "instruction_counter.h"

#include <signal.h>

namespace chime::bench {
namespace {

volatile std::uint64_t instructions;
struct sigaction former;

void on_trap(int) {
  instructions = instructions + 1;
}

}  // namespace

InstructionCounter::InstructionCounter() noexcept {
  struct sigaction action {};
  action.sa_handler = on_trap;
  if (sigaction(SIGTRAP, &action, &former) != 0) return;
  const std::uint64_t before = count();
  start();
  stop();
  ok_ = count() != before;
}

InstructionCounter::~InstructionCounter() {
  sigaction(SIGTRAP, &former, nullptr);
}

std::uint64_t InstructionCounter::count() noexcept {
  return instructions;
}

}  // namespace chime::bench
