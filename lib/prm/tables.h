// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// @file
/// The layouts of the manual as data at run time: what text.h prints and the tool lists. The tables are made
/// from the same layouts/*.toml as the typed headers; they are constant and may be read by any thread.

namespace chime::prm {

/// A named value of an enumeration, or a named bit of a set of flags.
struct EnumeratorInfo {
  std::uint64_t value;
  const char* name;
  const char* meaning;  ///< may be empty
};

struct EnumInfo {
  const char* name;
  const char* meaning;
  bool flags;  ///< a field may hold several at once
  std::span<const EnumeratorInfo> values;
};

/// Bits that decide something about a field: which variant, how many elements, whether it is there.
struct PlaceInfo {
  enum class Scope : std::uint8_t {
    none,
    self,  ///< counted from the start of the struct that holds the field
    input  ///< counted from the start of the input of the command whose output holds the field
  };
  Scope scope;
  std::uint8_t width;
  std::uint8_t shift;  ///< low bits to drop
  std::uint32_t bit;
};

struct StructInfo;

struct FieldInfo {
  const char* name;
  const char* meaning;  ///< may be empty
  std::uint32_t bit;    ///< from the start of the struct, bit 0 = most significant bit of byte 0
  std::uint8_t width;   ///< bits of one element; 0: a nested struct
  bool array;
  std::uint16_t count;     ///< elements; 0 of an array: a tail, as many as counted or as the buffer holds
  std::uint16_t stride;    ///< bits from one element to the next, of arrays of bits
  const StructInfo* type;  ///< of nested structs
  const EnumInfo* enumeration;    ///< of bits, or null
  PlaceInfo chooser;              ///< of a union: what chooses the member
  PlaceInfo counter;              ///< of a tail: what counts its elements
  PlaceInfo condition;            ///< the field is there only if this
  std::uint64_t condition_value;  ///< ... has this value,
  bool condition_equal;           ///< ... or, if false, has not
  const char* after;              ///< name of the tail that this tail follows, or null
  const char* access;             ///< "ro", "rw", ... or empty
};

/// A member of a union and a value of the chooser that means it.
struct CaseInfo {
  std::uint64_t value;
  std::uint16_t member;
};

struct StructInfo {
  static constexpr std::uint16_t no_member = 0xffff;

  const char* name;
  const char* meaning;
  std::uint32_t size;  ///< bytes, without tails
  bool is_union;
  PlaceInfo chooser;                  ///< of a union that chooses by its own bits
  std::uint16_t other;                ///< member of a union for values that no case names, or no_member
  const EnumInfo* enumeration;        ///< what a union's cases are called, or null
  std::span<const FieldInfo> fields;  ///< in the order of their bits
  std::span<const CaseInfo> cases;
};

struct CommandInfo {
  std::uint16_t opcode;
  const char* name;
  const char* meaning;
  const StructInfo* input;
  const StructInfo* output;
};

struct RegisterInfo {
  std::uint16_t id;
  const char* name;
  const char* meaning;
  const StructInfo* layout;
  bool dynamic;  ///< changes while nobody writes it
};

/// Everything there is, sorted by name; commands by opcode and registers by id.
std::span<const EnumInfo> enums() noexcept;
std::span<const StructInfo> structs() noexcept;
std::span<const CommandInfo> commands() noexcept;
std::span<const RegisterInfo> registers() noexcept;

/// Null if there is none.
const EnumInfo* find_enum(std::string_view name) noexcept;
const StructInfo* find_struct(std::string_view name) noexcept;
const CommandInfo* find_command(std::uint32_t opcode) noexcept;
const CommandInfo* find_command(std::string_view name) noexcept;
const RegisterInfo* find_register(std::uint32_t id) noexcept;
const RegisterInfo* find_register(std::string_view name) noexcept;
const FieldInfo* find_field(const StructInfo& layout, std::string_view name) noexcept;

/// Name of a value, or null. Of flags: the name of a bit.
const EnumeratorInfo* find_enumerator(const EnumInfo& enumeration, std::uint64_t value) noexcept;

/// The member of union `layout` that `value` of its chooser means, or null.
const FieldInfo* find_member(const StructInfo& layout, std::uint64_t value) noexcept;

}  // namespace chime::prm
