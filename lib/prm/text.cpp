// SPDX-License-Identifier: BSD-3-Clause
#include "prm/text.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "prm/view.h"

namespace chime::prm {

namespace {

using Bytes = std::span<const std::byte>;

/// Prints one buffer, struct by struct.
class Printer {
 public:
  Printer(Sink sink, const PrintOptions& options, Bytes input) noexcept
      : sink_(sink), options_(options), input_(input), level_(options.indent) {}

  void whole(const StructInfo& layout, const char* remark, Bytes bytes) noexcept {
    indent();
    sink_(layout.name);
    if (*remark) write("  # %s", remark);
    sink_("\n");
    level_ += 2;
    const std::size_t used = body(layout, bytes);
    if (bytes.size() < layout.size) {
      indent();
      write("# ends at %#zx of %#x bytes\n", bytes.size(), layout.size);
    }
    rows(bytes, used);
  }

  /// What no layout explains.
  void raw(Bytes bytes, const char* title) noexcept {
    indent();
    write("%s\n", title);
    level_ += 2;
    rows(bytes, 0);
  }

 private:
  template <class... Args>
  void write(const char* format, Args... args) noexcept {
    char line[160];
    const int length = std::snprintf(line, sizeof line, format, args...);
    if (length > 0) sink_({line, std::min(static_cast<std::size_t>(length), sizeof line - 1)});
  }

  void indent() noexcept {
    static constexpr std::string_view blanks = "                                ";
    for (unsigned left = level_; left > 0;) {
      const unsigned now = std::min(left, static_cast<unsigned>(blanks.size()));
      sink_(blanks.substr(0, now));
      left -= now;
    }
  }

  std::uint64_t decide(const PlaceInfo& place, Bytes bytes, bool& known) const noexcept {
    const Bytes from = place.scope == PlaceInfo::Scope::input ? input_ : bytes;
    known = place.scope != PlaceInfo::Scope::none && place.bit + place.width <= from.size() * 8;
    return known ? get_bits(from.data(), place.bit, place.width) >> place.shift : 0;
  }

  /// Returns how many bytes the struct takes, its tail included.
  std::size_t body(const StructInfo& layout, Bytes bytes) noexcept {
    if (layout.is_union) return member(layout, layout.chooser, bytes, bytes);
    std::size_t named = 0;  // bits up to here are named by a field, or have been looked at
    std::size_t used = layout.size;
    for (const FieldInfo& field : layout.fields) {
      if (field.condition.scope != PlaceInfo::Scope::none) {
        bool known = false;
        const bool equal = decide(field.condition, bytes, known) == field.condition_value;
        if (!known || equal != field.condition_equal) continue;
      }
      const std::size_t bit = field.after != nullptr ? used * 8 : field.bit;
      if (bit > named) unnamed(bytes, named, bit);
      named = std::max(named, one(layout, field, bit, bytes));
      used = std::max(used, named / 8);
    }
    const std::size_t size = std::size_t{layout.size} * 8;
    if (named < size) unnamed(bytes, named, size);
    return used;
  }

  /// Prints a field that begins at `bit`; returns the bit where it ends.
  std::size_t one(const StructInfo& owner, const FieldInfo& field, std::size_t bit, Bytes bytes) noexcept {
    if (field.type == nullptr) return field.array ? values(field, bit, bytes) : value(field, bit, bytes);
    const std::size_t offset = bit / 8;
    const std::size_t size = field.type->size;
    if (!field.array) {
      if (offset >= bytes.size()) return (offset + size) * 8;
      // What ends where its owner ends shares the owner's tail.
      const std::size_t rest = bytes.size() - offset;
      const Bytes inner = bytes.subspan(offset, offset + size >= owner.size ? rest : std::min(size, rest));
      return (offset + nested(field, -1, inner, bytes)) * 8;
    }
    std::size_t count = field.count;
    const std::size_t room = offset < bytes.size() && size > 0 ? (bytes.size() - offset) / size : 0;
    if (count == 0) {
      bool known = false;
      const std::uint64_t wanted = decide(field.counter, bytes, known);
      count = known ? wanted : room;  // what is cut off has its place too: the next list begins behind it
    }
    for (std::size_t i = 0; i < std::min(count, room); ++i) {
      nested(field, static_cast<long>(i), bytes.subspan(offset + i * size, size), bytes);
    }
    if (room < count) unnamed(bytes, (offset + room * size) * 8, (offset + count * size) * 8);  // cut off
    return (offset + count * size) * 8;
  }

  std::size_t nested(const FieldInfo& field, long index, Bytes inner, Bytes outer) noexcept {
    const StructInfo& layout = *field.type;
    if (!options_.zeros && all_zero(inner)) return layout.size;
    indent();
    index < 0 ? write("%s\n", field.name) : write("%s[%ld]\n", field.name, index);
    level_ += 2;
    const std::size_t used = layout.is_union && field.chooser.scope != PlaceInfo::Scope::none
                                 ? member(layout, field.chooser, outer, inner)
                                 : body(layout, inner);
    level_ -= 2;
    return used;
  }

  /// Prints the member of a union that bits of `deciding` choose.
  std::size_t member(const StructInfo& layout, const PlaceInfo& chooser, Bytes deciding,
                     Bytes bytes) noexcept {
    bool known = false;
    const std::uint64_t chosen = decide(chooser, deciding, known);
    const FieldInfo* field = nullptr;
    if (known) {
      field = find_member(layout, chosen);
    } else if (layout.other != StructInfo::no_member) {
      field = &layout.fields[layout.other];
    }
    std::size_t used = 0;
    if (field != nullptr) {
      // A union without a size of its own leaves its member the tail.
      const std::size_t size = std::min(std::size_t{field->type->size}, bytes.size());
      used = nested(*field, -1, layout.size == 0 ? bytes : bytes.first(size), bytes);
    }
    const std::size_t end = layout.size == 0 ? used : std::min(std::size_t{layout.size}, bytes.size());
    if (used < end) rows(bytes.first(end), used);
    return std::max(used, std::size_t{layout.size});
  }

  std::size_t value(const FieldInfo& field, std::size_t bit, Bytes bytes) noexcept {
    const std::size_t end = bit + field.width;
    if (end > bytes.size() * 8) {
      unnamed(bytes, bit, end);  // cut off
      return end;
    }
    const std::uint64_t v = get_bits(bytes.data(), bit, field.width);
    if (v == 0 && !options_.zeros) return end;
    indent();
    write("%s = %#" PRIx64, field.name, v);
    if (field.enumeration != nullptr) names(*field.enumeration, v);
    if (options_.meanings && *field.meaning) write("  # %s", field.meaning);
    sink_("\n");
    return end;
  }

  void names(const EnumInfo& enumeration, std::uint64_t v) noexcept {
    if (!enumeration.flags) {
      if (const EnumeratorInfo* e = find_enumerator(enumeration, v)) write(" (%s)", e->name);
      return;
    }
    const char* before = " (";
    for (const EnumeratorInfo& e : enumeration.values) {
      if ((v & e.value) == 0) continue;
      write("%s%s", before, e.name);
      before = " | ";
    }
    if (*before == ' ' && before[1] == '|') sink_(")");
  }

  /// An array of bits: rows of values, each row with the index of its first.
  std::size_t values(const FieldInfo& field, std::size_t bit, Bytes bytes) noexcept {
    const std::size_t room = bit < bytes.size() * 8 ? (bytes.size() * 8 - bit) / field.stride : 0;
    std::size_t count = field.count;
    if (count == 0) {
      bool known = false;
      const std::uint64_t wanted = decide(field.counter, bytes, known);
      count = known ? wanted : room;
    }
    const std::size_t end = bit + count * field.stride;
    const bool octets = field.width == 8;
    const std::size_t row = octets ? 32 : 8;
    for (std::size_t i = 0; i < std::min(count, room); i += row) {
      const std::size_t stop = std::min({i + row, count, room});
      bool zero = true;
      for (std::size_t k = i; k < stop; ++k)
        zero &= get_bits(bytes.data(), bit + k * field.stride, field.width) == 0;
      if (zero && !options_.zeros) continue;
      indent();
      write(octets ? "%s[%zu] = " : "%s[%zu] =", field.name, i);
      for (std::size_t k = i; k < stop; ++k) {
        write(octets ? "%02" PRIx64 : " %#" PRIx64,
              get_bits(bytes.data(), bit + k * field.stride, field.width));
      }
      sink_("\n");
    }
    if (room < count) unnamed(bytes, bit + room * field.stride, end);  // cut off
    return end;
  }

  /// Bits [from, to) that no field names, dword by dword, where they are not zero.
  void unnamed(Bytes bytes, std::size_t from, std::size_t to) noexcept {
    to = std::min(to, bytes.size() * 8);
    while (from < to) {
      const std::size_t dword = from / 32;
      const std::size_t stop = std::min(to, dword * 32 + 32);
      const auto width = static_cast<unsigned>(stop - from);
      const std::uint64_t v = get_bits(bytes.data(), from, width);
      if (v != 0) {
        indent();
        write("reserved[%#zx] = %#" PRIx64 "\n", dword * 4, v << (dword * 32 + 32 - stop));
      }
      from = stop;
    }
  }

  /// Bytes from `from` on, where they are not zero.
  void rows(Bytes bytes, std::size_t from) noexcept {
    bool zeros = false;
    for (std::size_t i = from; i < bytes.size(); i += 32) {
      const Bytes row = bytes.subspan(i, std::min<std::size_t>(32, bytes.size() - i));
      if (all_zero(row)) {
        zeros = true;
        continue;
      }
      indent();
      write("bytes[%#zx] = ", i);
      for (const std::byte b : row) write("%02x", std::to_integer<unsigned>(b));
      sink_("\n");
    }
    if (zeros && from < bytes.size()) {
      indent();
      write("# %#zx bytes follow the layout; rows of zeros are left out\n", bytes.size() - from);
    }
  }

  static bool all_zero(Bytes bytes) noexcept {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
  }

  Sink sink_;
  const PrintOptions& options_;
  Bytes input_;
  unsigned level_;
};

const EnumInfo& statuses() noexcept {
  static const EnumInfo& info = *find_enum("cmd_status");
  return info;
}

/// A command's opcode is in its first two bytes.
const CommandInfo* command_of(Bytes input) noexcept {
  return input.size() >= 2 ? find_command(static_cast<std::uint32_t>(get_bits(input.data(), 0, 16)))
                           : nullptr;
}

}  // namespace

void print(const StructInfo& layout, Bytes bytes, Sink sink, const PrintOptions& options,
           Bytes input) noexcept {
  Printer(sink, options, input).whole(layout, "", bytes);
}

bool print(std::string_view layout, Bytes bytes, Sink sink, const PrintOptions& options,
           Bytes input) noexcept {
  const StructInfo* info = find_struct(layout);
  if (info != nullptr) print(*info, bytes, sink, options, input);
  return info != nullptr;
}

void print_input(Bytes input, Sink sink, const PrintOptions& options) noexcept {
  Printer printer(sink, options, {});
  if (const CommandInfo* command = command_of(input)) {
    printer.whole(*command->input, command->meaning, input);
  } else {
    printer.raw(input, "unknown  # no command with this opcode is known");
  }
}

void print_output(Bytes input, Bytes output, Sink sink, const PrintOptions& options) noexcept {
  Printer printer(sink, options, input);
  if (const CommandInfo* command = command_of(input)) {
    printer.whole(*command->output, "", output);
  } else {
    printer.raw(output, "unknown  # no command with this opcode is known");
  }
}

const char* command_name(std::uint32_t opcode) noexcept {
  static const EnumInfo* opcodes = find_enum("cmd_opcode");
  const EnumeratorInfo* e = find_enumerator(*opcodes, opcode);
  return e != nullptr ? e->name : "unknown command";
}

const char* status_name(std::uint32_t status) noexcept {
  const EnumeratorInfo* e = find_enumerator(statuses(), status);
  return e != nullptr ? e->name : "unknown status";
}

const char* status_text(std::uint32_t status) noexcept {
  const EnumeratorInfo* e = find_enumerator(statuses(), status);
  return e != nullptr ? e->meaning : "a status that the manual does not name";
}

}  // namespace chime::prm
