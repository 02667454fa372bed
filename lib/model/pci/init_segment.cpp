// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/init_segment.h"

#include "model/pci/command_queue.h"

namespace chime::model::pci {
namespace {

using S = prm::initial_seg;
using B = prm::health_buffer;

constexpr std::uint32_t queue_high = 0x10;
constexpr std::uint32_t queue_low = 0x14;
constexpr std::uint32_t doorbell_vector = 0x18;
constexpr std::uint32_t initializing = 0x1fc;
constexpr std::uint32_t reset_supported = 1u << 30;  // Linux: MLX5_FW_RESET_SUPPORTED_OFFSET
constexpr std::uint32_t timer_high = 0x1000;
constexpr std::uint32_t timer_low = 0x1004;
constexpr std::uint32_t health = 0x1010;
constexpr std::uint32_t real_time_high = 0x1040;  // Linux: struct mlx5_init_seg
constexpr std::uint32_t real_time_low = 0x1044;   // the same

constexpr std::uint32_t interface_revision = 5;
constexpr std::uint64_t health_period = 10'000'000;  ///< nanoseconds between two beats
constexpr std::uint64_t second = 1'000'000'000;

}  // namespace

InitSegment::InitSegment(const Identity& identity, Clock& clock) noexcept : clock_(&clock) {
  registers_.set(S::fw_rev_major, identity.firmware_major)
      .set(S::fw_rev_minor, identity.firmware_minor)
      .set(S::fw_rev_subminor, identity.firmware_subminor)
      .set(S::cmd_interface_rev, interface_revision)
      .set(S::log_cmdq_size, CommandQueue::log_size)
      .set(S::log_cmdq_stride, CommandQueue::log_stride)
      .set(S::nic_interface_supported, 1u << static_cast<unsigned>(NicInterface::full_driver));
  registers_.view()
      .at(S::health_buffer)
      .set(B::fw_version, static_cast<std::uint32_t>(identity.firmware_major) << 24 |
                              static_cast<std::uint32_t>(identity.firmware_minor) << 16 |
                              identity.firmware_subminor)
      .set(B::hw_id, identity.device_id);
}

std::uint32_t InitSegment::read(std::uint32_t offset) noexcept {
  const std::uint64_t now = clock_->nanoseconds();
  switch (offset) {
    case queue_high:
      return static_cast<std::uint32_t>(queue_ >> 32);
    case queue_low:
      registers_.set(S::nic_interface, static_cast<std::uint32_t>(interface_));
      return static_cast<std::uint32_t>(prm::get_bits(registers_.bytes().data(), queue_low * 8, 32)) |
             static_cast<std::uint32_t>(queue_);
    case doorbell_vector:
      return 0;
    case initializing:
      return reset_supported |
             static_cast<std::uint32_t>(prm::get_bits(registers_.bytes().data(), offset * 8, 32));
    case timer_high:
      return static_cast<std::uint32_t>(now >> 32);
    case timer_low:
      return static_cast<std::uint32_t>(now);
    case health:
      return fatal_ ? 0 : static_cast<std::uint32_t>(now / health_period) & 0xffffff;
    case real_time_high:
      return static_cast<std::uint32_t>(now / second);
    case real_time_low:
      return static_cast<std::uint32_t>(now % second);
    default:
      return offset + 4 <= S::size
                 ? static_cast<std::uint32_t>(prm::get_bits(registers_.bytes().data(), offset * 8, 32))
                 : 0;
  }
}

InitSegment::Effect InitSegment::write(std::uint32_t offset, std::uint32_t value) noexcept {
  constexpr std::uint64_t low = 0xffffffff;
  constexpr std::uint32_t address_bits = 0xfffff000;
  switch (offset) {
    case queue_high:
      queue_ = (queue_ & low) | std::uint64_t{value} << 32;
      return Effect::none;
    case queue_low: {
      queue_ = (queue_ & ~low) | (value & address_bits);
      const auto asked = static_cast<NicInterface>(value >> 8 & 7);
      if (asked == NicInterface::software_reset) {
        interface_ = NicInterface::disabled;
        queue_ = 0;
        set_health(0, false);
        return Effect::reset;
      }
      if (asked == interface_) return Effect::none;
      interface_ = asked;
      return Effect::interface;
    }
    case doorbell_vector:
      doorbell_ = value;
      return Effect::doorbell;
    default:
      return Effect::none;
  }
}

void InitSegment::set_health(std::uint8_t syndrome, bool fatal) noexcept {
  registers_.view()
      .at(S::health_buffer)
      .set(B::synd, syndrome)
      .set(B::rfr, fatal)
      .set(B::valid, syndrome != 0);
  fatal_ = fatal;
}

}  // namespace chime::model::pci
