// SPDX-License-Identifier: BSD-3-Clause
#include "machine.h"

#include <algorithm>

#include "../../support/quiet_wire.h"

namespace chime::test {
namespace {

constexpr std::size_t in_entry = 16;
constexpr std::size_t in_box = 512;

}  // namespace

struct Machine::Around final : model::pci::MessageTarget, model::Clock, model::Diagnostics {
  explicit Around(Machine& m) : machine(m) {}
  void write(std::uint64_t address, std::uint32_t data) noexcept override {
    machine.messages.emplace_back(address, data);
  }
  std::uint64_t nanoseconds() noexcept override { return machine.now; }
  void report(const model::Finding& finding) noexcept override {
    machine.rules.emplace_back(finding.rule);
    machine.words = finding.text;
  }

  Machine& machine;
  QuietWire wire;
};

Machine::Machine(const char* profile, bool ready) : around_(std::make_unique<Around>(*this)) {
  auto named = model::Profile::named(profile);
  if (!named) throw std::runtime_error(named.error().text);
  profile_ = std::move(*named);
  auto made = model::pci::Function::create(profile_, {memory, *around_, around_->wire, *around_, *around_});
  if (!made) throw std::runtime_error(made.error().text);
  function_ = std::move(*made);
  if (ready) {
    set_up();
    set_up_commands();
  }
}

Machine::~Machine() = default;

std::uint32_t Machine::config(std::uint32_t offset, unsigned length) {
  return function_->read_config(offset, length);
}

void Machine::set_config(std::uint32_t offset, std::uint32_t value, unsigned length) {
  function_->write_config(offset, value, length);
}

std::uint32_t Machine::capability(std::uint8_t id) {
  unsigned seen = 0;
  for (std::uint32_t at = config(0x34, 1); at != 0 && seen < 48; at = config(at + 1, 1), ++seen) {
    if (config(at, 1) == id) return at;
  }
  return 0;
}

void Machine::set_up() {
  set_config(0x10, bar);
  set_config(0x04, 0x0006, 2);
  set_config(capability(0x11) + 2, 0x8000, 2);
}

void Machine::set_up_commands() {
  if (!queue) queue = memory.allocate(4096);
  set_segment(0x10, static_cast<std::uint32_t>(queue >> 32));
  set_segment(0x14, static_cast<std::uint32_t>(queue));
}

std::uint32_t Machine::segment(std::uint32_t offset) {
  return __builtin_bswap32(static_cast<std::uint32_t>(function_->read_bar(offset, 4)));
}

void Machine::set_segment(std::uint32_t offset, std::uint32_t value) {
  function_->write_bar(offset, __builtin_bswap32(value), 4);
}

void Machine::set_vector(unsigned vector, std::uint64_t address, std::uint32_t data, bool masked) {
  const std::uint64_t entry = 0x8000 + vector * 16;
  function_->write_bar(entry, static_cast<std::uint32_t>(address), 4);
  function_->write_bar(entry + 4, address >> 32, 4);
  function_->write_bar(entry + 8, data, 4);
  function_->write_bar(entry + 12, masked, 4);
}

Laid Machine::lay(std::span<const std::byte> input, std::size_t output_length, unsigned slot) {
  using Entry = prm::cmd_queue_entry;
  using Box = prm::cmd_if_box;
  Laid laid;
  laid.entry = queue + slot * 64;
  laid.output_length = output_length;
  const auto chain = [&](std::size_t bytes, std::vector<std::uint64_t>& boxes) {
    for (std::size_t i = 0; i < (bytes + in_box - 1) / in_box; ++i) {
      boxes.push_back(memory.allocate(4096));
      view<Box>(boxes[i]).set(Box::block_number, static_cast<std::uint32_t>(i)).set(Box::token, token);
      if (i) view<Box>(boxes[i - 1]).set(Box::next_pointer, boxes[i]);
    }
  };
  chain(input.size() > in_entry ? input.size() - in_entry : 0, laid.in_boxes);
  chain(output_length > in_entry ? output_length - in_entry : 0, laid.out_boxes);
  std::byte* const entry = memory.map(laid.entry, 64);
  std::fill(entry, entry + 64, std::byte{0});
  std::copy_n(input.begin(), std::min(in_entry, input.size()), entry + 0x10);
  for (std::size_t i = 0; i < laid.in_boxes.size(); ++i) {
    const auto part = input.subspan(in_entry + i * in_box);
    std::copy_n(part.begin(), std::min(in_box, part.size()), at(laid.in_boxes[i]));
  }
  view<Entry>(laid.entry)
      .set(Entry::type, 7)
      .set(Entry::input_length, static_cast<std::uint32_t>(input.size()))
      .set(Entry::output_length, static_cast<std::uint32_t>(output_length))
      .set(Entry::input_mailbox_pointer, laid.in_boxes.empty() ? 0 : laid.in_boxes[0])
      .set(Entry::output_mailbox_pointer, laid.out_boxes.empty() ? 0 : laid.out_boxes[0])
      .set(Entry::token, token)
      .set(Entry::ownership, 1);
  return laid;
}

void Machine::ring(std::uint32_t vector) {
  set_segment(0x18, vector);
}

Delivery Machine::delivery(const Laid& laid) {
  return static_cast<Delivery>(view<prm::cmd_queue_entry>(laid.entry).get(prm::cmd_queue_entry::status));
}

bool Machine::done(const Laid& laid) {
  return !view<prm::cmd_queue_entry>(laid.entry).get(prm::cmd_queue_entry::ownership);
}

std::vector<std::byte> Machine::output(const Laid& laid) {
  const std::byte* const inside = at(laid.entry + 0x20);
  std::vector<std::byte> all(inside, inside + std::min(in_entry, laid.output_length));
  for (const std::uint64_t box : laid.out_boxes) {
    const std::byte* const data = at(box);
    all.insert(all.end(), data, data + std::min(in_box, laid.output_length - all.size()));
  }
  return all;
}

std::uint32_t Machine::bring_up(std::uint64_t event_types, unsigned vector) {
  Call<prm::enable_hca> enable;
  EXPECT_EQ(run(enable), prm::cmd_status::ok);
  Call<prm::init_hca> init;
  EXPECT_EQ(run(init), prm::cmd_status::ok);
  Call<prm::alloc_uar> page;
  EXPECT_EQ(run(page), prm::cmd_status::ok);
  uar = page.out.get(prm::alloc_uar_out::uar);
  events = memory.allocate(4096);
  Call<prm::create_eq, 8> call;
  call.in.at(prm::create_eq_in::eq_context_entry)
      .set(prm::eqc::log_eq_size, 5)
      .set(prm::eqc::uar_page, uar)
      .set(prm::eqc::intr, vector);
  prm::set_bits(call.in.bytes().data(), 704, 64, event_types);
  prm::set_bits(call.in.bytes().data(), prm::create_eq_in::size * 8, 64, events);
  EXPECT_EQ(run(call), prm::cmd_status::ok) << words;
  return call.out.get(prm::create_eq_out::eq_number);
}

bool Machine::has(const std::string& rule) const {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

}  // namespace chime::test
