// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "prm/enums.h"

/// @file
/// What the kernel lets a user context do, as data. A user context never destroys: the kernel prepares the
/// destroy command when it creates an object, and sends it when the handle ends.

namespace chime::hca {

/// Where a command names an object.
struct NumberAt {
  std::uint8_t offset;  ///< bytes; the number is in the low bits of the dword there
  std::uint8_t bits;
};

/// A command that creates an object.
struct Creator {
  prm::cmd_opcode create;
  prm::cmd_opcode destroy;
  NumberAt number;       ///< of the new object
  bool number_in_input;  ///< software chose it; else it is in the output
  NumberAt number_in_destroy;
  std::uint8_t copied_from;  ///< input bytes [copied_from, copied_to) go into the destroy command as they are
  std::uint8_t copied_to;
  std::uint8_t destroy_size;  ///< bytes
  bool umem_form;             ///< the kernel sets the *_umem_valid bits
};

/// A command that changes or reads an object.
struct Accessor {
  prm::cmd_opcode opcode;
  prm::cmd_opcode created_by;  ///< the kind of object
  NumberAt number;
};

std::span<const Creator> creators() noexcept;
std::span<const Accessor> modifiers() noexcept;
std::span<const Accessor> queries() noexcept;
/// Commands that are about no object.
std::span<const prm::cmd_opcode> generals() noexcept;

/// SET_FLOW_TABLE_ENTRY creates with op_mod 0 and changes with 1.
const Creator* find_creator(prm::cmd_opcode opcode, std::uint32_t op_mod) noexcept;
const Accessor* find_modifier(prm::cmd_opcode opcode, std::uint32_t op_mod) noexcept;
const Accessor* find_query(prm::cmd_opcode opcode) noexcept;
bool is_general(prm::cmd_opcode opcode) noexcept;

/// The range that is general without being listed.
inline constexpr std::uint32_t first_general = 0xb00;
inline constexpr std::uint32_t last_general = 0xcff;

std::uint32_t number_at(std::span<const std::byte> bytes, NumberAt at) noexcept;
prm::cmd_opcode opcode_of(std::span<const std::byte> in) noexcept;

// Every backend asks these before it lets a command go. EINVAL: a buffer is too small for a command. EPERM:
// no user context may do it, and what would work instead.
Result<> check_general(std::span<const std::byte> in, std::span<const std::byte> out) noexcept;
Result<const Creator*> check_creation(std::span<const std::byte> in, std::span<const std::byte> out) noexcept;
/// Also EINVAL: the command is about other objects than this one.
/// @param created_by,number the object
Result<const Accessor*> check_modification(prm::cmd_opcode created_by, std::uint32_t number,
                                           std::span<const std::byte> in,
                                           std::span<const std::byte> out) noexcept;
Result<const Accessor*> check_query(prm::cmd_opcode created_by, std::uint32_t number,
                                    std::span<const std::byte> in, std::span<const std::byte> out) noexcept;

/// What would work in place of a command that is refused, as the end of a sentence.
const char* instead_of(prm::cmd_opcode opcode) noexcept;

}  // namespace chime::hca
