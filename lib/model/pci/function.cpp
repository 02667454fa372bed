// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/function.h"

#include <bit>

#include "model/card.h"
#include "model/pci/bus_memory.h"
#include "model/pci/command_queue.h"
#include "model/pci/init_segment.h"
#include "model/pci/vendor_space.h"
#include "prm/doorbell.h"

namespace chime::model::pci {
namespace {

constexpr std::uint32_t msix_table = 0x8000;
constexpr std::uint32_t msix_pending = 0x9000;
constexpr std::uint64_t first_uar = 0x10000;
constexpr std::uint32_t msix_bytes = Function::vectors * Msix::entry_size;
constexpr std::uint32_t pending_bytes = Function::vectors / 8;

ConfigIdentity config_of(const Profile& profile) noexcept {
  return {.vendor_id = profile.identity.vendor_id,
          .device_id = profile.identity.device_id,
          .subsystem_id = profile.identity.device_id,
          .bar_size = Function::bar_size,
          .vectors = Function::vectors,
          .msix_table = msix_table,
          .msix_pending = msix_pending};
}

/// Steps of the datapath that fit between the last doorbell of a queue and a command; on a card they are
/// microseconds, and the command's way through the kernel is longer.
constexpr unsigned steps_before_command = 16;

constexpr std::uint32_t swapped(std::uint32_t value) noexcept {
  return __builtin_bswap32(value);
}

}  // namespace

struct Function::State {
  State(const Profile& p, const Bus& b) noexcept
      : profile(p),
        bus(b),
        config(config_of(p)),
        msix(config, b.messages, vectors),
        memory(b.memory, config),
        segment(p.identity, b.clock) {}

  Result<> make_card() noexcept;
  void remake_card() noexcept;
  void restart() noexcept;
  static bool is_vendor(std::uint32_t offset, unsigned length) noexcept;
  void write_segment(std::uint32_t offset, std::uint32_t value) noexcept;
  void write_uar(std::uint64_t offset, std::uint64_t value, unsigned size) noexcept;
  std::uint32_t read_word(std::uint32_t offset) noexcept;

  const Profile& profile;
  Bus bus;
  ConfigSpace config;
  Msix msix;
  BusMemory memory;
  InitSegment segment;
  VendorSpace vendor;
  Owned<CommandQueue> commands;
  Owned<Hca> hca;  ///< none when memory ran out at a reset
  /// The first half of a doorbell of 8 bytes that comes as two writes.
  std::uint64_t half_at = 0;
  std::uint32_t half = 0;
};

Result<Owned<Function>> Function::create(const Profile& profile, const Bus& bus) noexcept {
  auto state = make_owned<State>("a PCI function", profile, bus);
  if (!state) return fail(state.error());
  auto commands = CommandQueue::create();
  if (!commands) return fail(commands.error());
  (*state)->commands = std::move(*commands);
  if (auto made = (*state)->make_card(); !made) return fail(made.error());
  Owned<Function> function(new (std::nothrow) Function(std::move(*state)));
  if (!function) return fail(ENOMEM, "no memory for a PCI function");
  return function;
}

Function::Function(Owned<State> state) noexcept : state_(std::move(state)) {}
Function::~Function() = default;

Result<> Function::State::make_card() noexcept {
  hca.reset();  // first: there is one wire
  auto made = Hca::create(profile, {memory, bus.wire, msix, bus.clock, bus.diagnostics});
  if (!made) return fail(made.error());
  hca = std::move(*made);
  hca->card().vectors = vectors;
  return {};
}

/// Without memory for it the card is dead, and says so.
void Function::State::remake_card() noexcept {
  half_at = 0;
  if (!make_card()) segment.set_health(static_cast<std::uint8_t>(Health::internal_error), true);
}

/// Everything but the configuration space as at power-on.
void Function::State::restart() noexcept {
  segment = InitSegment(profile.identity, bus.clock);
  vendor = {};
  msix.reset();
  remake_card();
}

/// A register of the gateway: whole words only.
bool Function::State::is_vendor(std::uint32_t offset, unsigned length) noexcept {
  return length == 4 && offset % 4 == 0 && offset >= ConfigSpace::vendor + 4 &&
         offset < ConfigSpace::vendor + VendorSpace::size;
}

std::uint32_t Function::read_config(std::uint32_t offset, unsigned length) noexcept {
  if (State::is_vendor(offset, length)) return state_->vendor.read(offset - ConfigSpace::vendor);
  return state_->config.read(offset, length);
}

void Function::write_config(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept {
  State& s = *state_;
  if (State::is_vendor(offset, length)) return s.vendor.write(offset - ConfigSpace::vendor, value);
  switch (s.config.write(offset, value, length)) {
    case ConfigSpace::Effect::none:
      break;
    case ConfigSpace::Effect::changed:
      s.memory.config_changed();
      s.msix.config_changed();
      break;
    case ConfigSpace::Effect::reset:  // "Initiate Function Level Reset"
      reset();
      break;
  }
}

std::uint64_t Function::bar_address() const noexcept {
  return state_->config.memory_enabled() ? state_->config.bar() : 0;
}

std::uint32_t Function::State::read_word(std::uint32_t offset) noexcept {
  if (offset < InitSegment::size) return swapped(segment.read(offset));
  if (offset >= msix_table && offset < msix_table + msix_bytes) return msix.read_table(offset - msix_table);
  if (offset >= msix_pending && offset < msix_pending + pending_bytes)
    return msix.read_pending(offset - msix_pending);
  return 0;  // UARs are written only
}

std::uint64_t Function::read_bar(std::uint64_t offset, unsigned size) noexcept {
  if (size == 0 || size > 8 || offset >= bar_size) return ~std::uint64_t{0};
  const auto at = static_cast<std::uint32_t>(offset);
  std::uint64_t value = state_->read_word(at & ~3u) >> (at & 3) * 8;
  if (size == 8) value |= std::uint64_t{state_->read_word((at & ~3u) + 4)} << 32;
  return size == 8 ? value : value & ((std::uint64_t{1} << size * 8) - 1);
}

void Function::write_bar(std::uint64_t offset, std::uint64_t value, unsigned size) noexcept {
  State& s = *state_;
  if (offset >= bar_size || (size != 4 && size != 8) || offset % size) {
    if (s.hca) {
      s.hca->card().find("bar.access", Severity::error, 0,
                         "a store of %u bytes at %#llx of BAR 0; registers take 4 or 8 aligned bytes", size,
                         static_cast<unsigned long long>(offset));
    }
    return;
  }
  if (offset >= first_uar) return s.write_uar(offset, value, size);
  for (unsigned i = 0; i < size; i += 4) {
    const auto at = static_cast<std::uint32_t>(offset) + i;
    const auto word = static_cast<std::uint32_t>(value >> i * 8);
    if (at < InitSegment::size) {
      s.write_segment(at, swapped(word));
    } else if (at >= msix_table && at < msix_table + msix_bytes) {
      s.msix.write_table(at - msix_table, word);
    }
  }
}

void Function::State::write_segment(std::uint32_t offset, std::uint32_t value) noexcept {
  switch (segment.write(offset, value)) {
    case InitSegment::Effect::none:
      break;
    case InitSegment::Effect::doorbell:
      // Failed firmware answers nothing; software's time-out finds that.
      if (!hca || segment.failed()) break;
      // Both may have been waiting in one socket: a resize of a CQ has to find the completions of what was
      // rung.
      for (unsigned i = 0; i < steps_before_command && hca->step() != 0; ++i) {
      }
      commands->ring(*hca, segment.command_queue(), segment.doorbell());
      break;
    case InitSegment::Effect::interface:
      // A fast teardown ends so: nothing may reach host memory any more.
      if (segment.interface() == NicInterface::disabled) remake_card();
      break;
    case InitSegment::Effect::reset:
      remake_card();
      break;
  }
}

void Function::State::write_uar(std::uint64_t offset, std::uint64_t value, unsigned size) noexcept {
  if (!hca) return;
  const auto page = static_cast<std::uint32_t>(offset / prm::uar_page_size);
  auto in_page = static_cast<std::uint32_t>(offset % prm::uar_page_size);
  const bool eq = in_page == prm::uar_eq_arm || in_page == prm::uar_eq_update;
  if (size == 4 && !eq) {
    if (offset % 8 == 0) {
      half_at = offset;
      half = static_cast<std::uint32_t>(value);
      return;
    }
    if (half_at != offset - 4) return;
    value = value << 32 | half;
    in_page -= 4;
    half_at = 0;
  }
  hca->doorbell(page, in_page, value);
}

void Function::reset() noexcept {
  State& s = *state_;
  s.config = ConfigSpace(config_of(s.profile));
  s.memory.config_changed();
  s.restart();
}

unsigned Function::step() noexcept {
  return state_->hca && !state_->segment.failed() ? state_->hca->step() : 0;
}

void Function::set_health(Health health, bool fatal) noexcept {
  state_->segment.set_health(static_cast<std::uint8_t>(health), fatal);
}

Hca* Function::hca() noexcept {
  return state_->hca.get();
}

const Msix& Function::interrupts() const noexcept {
  return state_->msix;
}

}  // namespace chime::model::pci
