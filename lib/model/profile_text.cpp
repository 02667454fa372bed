// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile_text.h"

namespace chime::model {
namespace {

std::string_view trim(std::string_view s) noexcept {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = s.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

/// A remark begins at the first # that is not within a string.
std::string_view without_remark(std::string_view line) noexcept {
  bool within = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') within = !within;
    if (line[i] == '#' && !within) return line.substr(0, i);
  }
  return line;
}

bool is_bare(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Bare words joined by single dots.
bool is_path(std::string_view s) noexcept {
  bool word = false;
  for (char c : s) {
    if (c == '.') {
      if (!word) return false;
      word = false;
    } else if (is_bare(c)) {
      word = true;
    } else {
      return false;
    }
  }
  return word;
}

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

}  // namespace

ProfileText::Item ProfileText::next() noexcept {
  if (*mistake_) return Item::mistake;
  while (!rest_.empty()) {
    ++line_;
    const std::size_t end = rest_.find('\n');
    const std::string_view line = trim(without_remark(rest_.substr(0, end)));
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    is_entry_ = false;
    if (!line.empty() && !read_line(line)) {
      rest_ = {};
      return Item::mistake;
    }
    if (is_entry_) return Item::entry;
  }
  return Item::end;
}

bool ProfileText::read_line(std::string_view line) noexcept {
  if (line.front() == '[') return read_section(line);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return wrong("neither [section] nor key = value");
  key_ = trim(line.substr(0, equals));
  if (!is_path(key_)) return wrong("a key has letters, digits, _ and -, joined by dots");
  is_entry_ = true;
  return read_value(trim(line.substr(equals + 1)));
}

bool ProfileText::read_section(std::string_view line) noexcept {
  if (line.size() < 2 || line.back() != ']') return wrong("a section ends with ]");
  section_ = trim(line.substr(1, line.size() - 2));
  if (!is_path(section_)) return wrong("a section's name has letters, digits, _ and -, joined by dots");
  return true;
}

bool ProfileText::read_value(std::string_view text) noexcept {
  value_ = {};
  if (text.empty()) return wrong("the value is missing");
  if (text == "true" || text == "false") {
    value_.type = TextValue::Type::boolean;
    value_.number = text == "true";
    return true;
  }
  if (text.front() == '"') {
    value_.type = TextValue::Type::string;
    value_.text = text.substr(1);
    const std::size_t end = value_.text.find('"');
    if (end == std::string_view::npos) return wrong("the string has no end");
    if (end + 1 != value_.text.size()) return wrong("something follows the string");
    value_.text = value_.text.substr(0, end);
    for (char c : value_.text) {
      if (c == '\\') return wrong("strings have no escapes here");
      if (static_cast<unsigned char>(c) < 0x20) return wrong("a control character in a string");
    }
    return true;
  }
  return read_number(text);
}

bool ProfileText::read_number(std::string_view text) noexcept {
  constexpr const char* what = "a value is an integer that is not negative, true, false or a \"string\"";
  constexpr const char* spelling = "an integer is spelt 123 or 0x7b, with _ between digits only";
  const bool hex = text.starts_with("0x");
  const int base = hex ? 16 : 10;
  if (hex) text.remove_prefix(2);
  if (text.empty() || digit(text.front()) >= base) return wrong(what);
  if (!hex && text.size() > 1 && text.front() == '0') return wrong(spelling);
  bool after_digit = false;
  for (char c : text) {
    if (c == '_') {
      if (!after_digit) return wrong(spelling);
      after_digit = false;
      continue;
    }
    const int d = digit(c);
    if (d >= base) return wrong(spelling);
    after_digit = true;
    if (__builtin_mul_overflow(value_.number, static_cast<std::uint64_t>(base), &value_.number) ||
        __builtin_add_overflow(value_.number, static_cast<std::uint64_t>(d), &value_.number)) {
      return wrong("an integer has 64 bits at most");
    }
  }
  return after_digit || wrong(spelling);
}

}  // namespace chime::model
