// SPDX-License-Identifier: BSD-3-Clause
// Any commands, in any order, from anybody, at a software HCA that is up. The input is a list of commands:
//
//     1 byte  index in the manual's list of commands; 255: the opcode is what the bytes say
//     1 byte  uid
//     2 bytes length of what is behind the first 8 bytes of the command's input, at most 4096
//     ...     these bytes: they overwrite zeros, so that short inputs say something
//
// Wants no crash, no leak, and answers with a status that the manual has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/hca.h"
#include "prm/layouts.h"
#include "prm/tables.h"
#include "prm/view.h"

namespace {

using namespace chime;

class Memory final : public model::HostMemory {
 public:
  std::byte* map(std::uint64_t address, std::size_t length) noexcept override {
    return address < bytes_.size() && length <= bytes_.size() - address ? bytes_.data() + address : nullptr;
  }
  std::uint64_t generation() const noexcept override { return 1; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1 << 16);
};

class Wire final : public model::Wire {
 public:
  void plug(model::WirePort* port) noexcept override { port_ = port; }
  void transmit(std::span<const model::Frame> frames) noexcept override {
    if (port_) port_->deliver(frames);
  }
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return {true, 10'000}; }
  std::uint32_t largest_frame() const noexcept override { return 1518; }

 private:
  model::WirePort* port_ = nullptr;
};

class Interrupts final : public model::Interrupts {
  void raise(unsigned) noexcept override {}
};

class Clock final : public model::Clock {
  std::uint64_t nanoseconds() noexcept override { return now_ += 1000; }
  std::uint64_t now_ = 0;
};

class Diagnostics final : public model::Diagnostics {
  void report(const model::Finding& finding) noexcept override {
    if (!finding.rule || !finding.text || !*finding.text) std::abort();
  }
};

struct Bytes {
  const std::uint8_t* at;
  std::size_t left;

  std::uint32_t take() { return left ? (--left, *at++) : 0; }
};

void command(model::Hca& hca, Bytes& input) {
  const auto known = prm::commands();
  const std::uint32_t index = input.take();
  const std::uint32_t uid = input.take();
  std::size_t length = input.take() << 8;
  length = std::min<std::size_t>({length | input.take(), 4096, input.left});
  const prm::CommandInfo* info = index < known.size() ? &known[index] : nullptr;

  std::vector<std::byte> in(std::max<std::size_t>({info ? info->input->size : 0, length + 8, 16}));
  std::vector<std::byte> out(std::max<std::size_t>(info ? info->output->size + 256 : 0, 512));
  if (info) prm::set_bits(in.data(), 0, 16, info->opcode);
  prm::set_bits(in.data(), 16, 16, uid);
  const std::size_t at = info ? 6 : 0;  // the op_mod on, or all
  std::memcpy(in.data() + at, input.at, length);
  input.at += length;
  input.left -= length;
  hca.command(in, out);
  const auto* statuses = prm::find_enum("cmd_status");
  if (!prm::find_enumerator(*statuses, prm::get_bits(out.data(), 0, 8))) std::abort();
}

void bring_up(model::Hca& hca) {
  std::byte out[16];
  prm::Box<prm::enable_hca_in> enable;
  hca.command(enable.bytes(), out);
  prm::Box<prm::init_hca_in> init;
  hca.command(init.bytes(), out);
  prm::Box<prm::create_uctx_in> context;
  context.at(prm::create_uctx_in::uctx).set(prm::uctx::cap, prm::uctx_cap::raw_tx);
  hca.command(context.bytes(), out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto profile = model::Profile::named("connectx6dx");
  Memory memory;
  Wire wire;
  Interrupts interrupts;
  Clock clock;
  Diagnostics diagnostics;
  auto hca = model::Hca::create(*profile, {memory, wire, interrupts, clock, diagnostics});
  if (!hca) std::abort();
  bring_up(**hca);
  for (Bytes input{data, size}; input.left > 0;) {
    command(**hca, input);
    (*hca)->step();
  }
  return 0;
}
