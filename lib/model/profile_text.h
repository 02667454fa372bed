// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

/// @file
/// Reads a profile's text: the part of TOML that profiles need. (A library would allocate by throwing, which
/// nothing in lib/ may.)
///
///     # a remark
///     base = "connectx6dx"
///     [general]
///     log_max_sq = 12
///     [flow_table]
///     flow_table_properties_nic_receive.max_ft_level = 0x40
///     [behaviour]
///     context_with_objects_goes = true
///
/// Integers are decimal or hexadecimal, not negative; strings have no escapes; arrays, inline tables, dates
/// and floats are mistakes.

namespace chime::model {

struct TextValue {
  enum class Type : std::uint8_t { integer, boolean, string };
  Type type = Type::integer;
  std::uint64_t number = 0;  ///< of booleans 0 or 1
  std::string_view text;     ///< of strings
};

/// Walks through the text, which must outlive it.
class ProfileText {
 public:
  enum class Item : std::uint8_t { entry, end, mistake };

  explicit ProfileText(std::string_view text) noexcept : rest_(text) {}

  /// The next `key = value`, or the end, or the first mistake; nothing follows these two.
  Item next() noexcept;

  std::string_view section() const noexcept { return section_; }  ///< "" before the first
  std::string_view key() const noexcept { return key_; }          ///< dots included
  const TextValue& value() const noexcept { return value_; }
  unsigned line() const noexcept { return line_; }           ///< from 1
  const char* mistake() const noexcept { return mistake_; }  ///< what is wrong with the line

 private:
  bool read_line(std::string_view line) noexcept;
  bool read_section(std::string_view line) noexcept;
  bool read_value(std::string_view text) noexcept;
  bool read_number(std::string_view text) noexcept;
  bool wrong(const char* what) noexcept {
    mistake_ = what;
    return false;
  }

  std::string_view rest_;
  std::string_view section_;
  std::string_view key_;
  TextValue value_;
  unsigned line_ = 0;
  bool is_entry_ = false;
  const char* mistake_ = "";
};

}  // namespace chime::model
