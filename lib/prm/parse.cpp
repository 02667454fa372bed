// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>

#include "prm/text.h"
#include "prm/view.h"

namespace chime::prm {

namespace {

using Bytes = std::span<std::byte>;

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Takes a number off the front of `text`, as C writes it.
bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  text = trimmed(text);
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Takes two hex digits off the front of `text`.
bool take_octet(std::string_view& text, std::uint64_t& value) noexcept {
  if (text.size() < 2) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 2, value, 16);
  if (error != std::errc{} || end != text.data() + 2) return false;
  text.remove_prefix(2);
  return true;
}

/// Where the text is: a struct within the structs above it.
struct Scope {
  const StructInfo* layout = nullptr;
  std::size_t offset = 0;  // of the struct in the buffer
  std::size_t indent = 0;  // of the fields in it
};

class Parser {
 public:
  Parser(std::string_view text, Bytes bytes) noexcept : text_(text), bytes_(bytes) {}

  ParseResult run() noexcept {
    std::fill(bytes_.begin(), bytes_.end(), std::byte{});
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      const std::string_view content = trimmed(line.substr(0, line.find('#')));
      if (content.empty()) continue;
      const char* mistake = one(content, line.find_first_not_of(' '));
      if (mistake != nullptr) return {line_, mistake, scopes_[0].layout};
    }
    if (depth_ == 0) return {std::max(line_, 1u), "names no struct", nullptr};
    return {0, "", scopes_[0].layout};
  }

 private:
  const char* one(std::string_view content, std::size_t indent) noexcept {
    if (depth_ == 0) return begin(content, indent);
    while (depth_ > 1 && indent < scopes_[depth_ - 1].indent) --depth_;
    if (indent != scopes_[depth_ - 1].indent) return "is not indented as its neighbours";
    const Scope& scope = scopes_[depth_ - 1];

    const std::size_t equals = content.find('=');
    std::string_view name = trimmed(content.substr(0, equals));
    std::uint64_t index = 0;
    const std::size_t bracket = name.find('[');
    const bool indexed = bracket != std::string_view::npos;
    if (indexed) {
      std::string_view digits = name.substr(bracket + 1);
      if (!take_number(digits, index) || digits != "]") return "has an index that is no number";
      // No element is narrower than a bit; a larger index could wrap around to the buffer's start below.
      if (index >= bytes_.size() * 8) return "is past the end of the buffer";
      name = name.substr(0, bracket);
    }
    if (equals == std::string_view::npos) return enter(scope, name, index, indexed);
    const std::string_view value = content.substr(equals + 1);
    if (indexed && name == "bytes") return octets(scope, index, value);
    if (indexed && name == "reserved") return reserved(scope, index, value);
    return field(scope, name, index, indexed, value);
  }

  const char* begin(std::string_view name, std::size_t indent) noexcept {
    const StructInfo* layout = find_struct(name);
    if (layout == nullptr && name != "unknown") return "names no struct that is known";
    scopes_[depth_++] = {layout, 0, indent + 2};
    return nullptr;
  }

  /// First bit of a field's element in the buffer.
  std::size_t place(const Scope& scope, const FieldInfo& field) const noexcept {
    if (field.after == nullptr) return scope.offset * 8 + field.bit;
    std::size_t bytes = scope.layout->size;
    for (const FieldInfo& tail : scope.layout->fields) {
      if (&tail == &field) break;
      if (!tail.array || tail.count != 0 || tail.type == nullptr) continue;
      if (tail.condition.scope == PlaceInfo::Scope::self &&
          (decide(scope, tail.condition) == tail.condition_value) != tail.condition_equal) {
        continue;
      }
      bytes += decide(scope, tail.counter) * tail.type->size;
    }
    return (scope.offset + bytes) * 8;
  }

  std::uint64_t decide(const Scope& scope, const PlaceInfo& from) const noexcept {
    const std::size_t bit = scope.offset * 8 + from.bit;
    const bool within = from.scope == PlaceInfo::Scope::self && bit + from.width <= bytes_.size() * 8;
    return within ? get_bits(bytes_.data(), bit, from.width) >> from.shift : 0;
  }

  const char* enter(const Scope& scope, std::string_view name, std::uint64_t index, bool indexed) noexcept {
    const FieldInfo* field = scope.layout != nullptr ? find_field(*scope.layout, name) : nullptr;
    if (field == nullptr) return "is no field of its struct";
    if (field->type == nullptr) return "is a field without a value";
    if (indexed != field->array || (field->count != 0 && index >= field->count)) return "has a wrong index";
    const std::size_t offset = place(scope, *field) / 8 + index * field->type->size;
    if (offset > bytes_.size()) return "is past the end of the buffer";
    if (depth_ == scopes_.size()) return "is nested too deeply";
    scopes_[depth_] = {field->type, offset, scope.indent + 2};
    ++depth_;
    return nullptr;
  }

  const char* field(const Scope& scope, std::string_view name, std::uint64_t index, bool indexed,
                    std::string_view value) noexcept {
    const FieldInfo* field = scope.layout != nullptr ? find_field(*scope.layout, name) : nullptr;
    if (field == nullptr) return "is no field of its struct";
    if (field->type != nullptr) return "is a struct and has no value of its own";
    if (indexed != field->array) return "has a wrong index";
    const bool hex_digits = field->array && field->width == 8;
    if (hex_digits) value = trimmed(value);
    std::size_t bit = place(scope, *field) + index * field->stride;
    for (std::uint64_t number = 0; hex_digits ? take_octet(value, number) : take_number(value, number);) {
      if (bit + field->width > bytes_.size() * 8) return "is past the end of the buffer";
      if (field->count != 0 && index++ >= field->count) return "has too many values";
      if (number & ~detail::mask(field->width)) return "has a value that does not fit";
      set_bits(bytes_.data(), bit, field->width, number);
      bit += field->stride;
      if (!field->array) break;
    }
    value = trimmed(value);
    return value.empty() || value.front() == '(' ? nullptr : "has a value that is no number";
  }

  const char* octets(const Scope& scope, std::uint64_t at, std::string_view value) noexcept {
    value = trimmed(value);
    std::uint64_t octet = 0;
    for (std::size_t i = scope.offset + at; take_octet(value, octet); ++i) {
      if (i >= bytes_.size()) return "is past the end of the buffer";
      bytes_[i] = static_cast<std::byte>(octet);
    }
    return value.empty() ? nullptr : "are not pairs of hex digits";
  }

  const char* reserved(const Scope& scope, std::uint64_t at, std::string_view value) noexcept {
    std::uint64_t bits = 0;
    if (!take_number(value, bits) || !trimmed(value).empty() || bits >> 32) return "is no 32-bit number";
    const std::size_t offset = scope.offset + at;
    for (unsigned i = 0; i < 4; ++i) {
      const auto part = static_cast<std::byte>(bits >> (24 - 8 * i) & 0xff);
      if (part == std::byte{}) continue;
      if (offset + i >= bytes_.size()) return "is past the end of the buffer";
      bytes_[offset + i] |= part;
    }
    return nullptr;
  }

  std::string_view text_;
  Bytes bytes_;
  unsigned line_ = 0;
  std::array<Scope, 16> scopes_{};
  std::size_t depth_ = 0;
};

}  // namespace

ParseResult parse(std::string_view text, Bytes bytes) noexcept {
  return Parser(text, bytes).run();
}

}  // namespace chime::prm
