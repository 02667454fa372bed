// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

/// @file
/// Typed access to the layouts of the programmer's manual in a buffer of bytes.
///
/// A layout (generated from layouts/*.toml into prm/layouts.h) is an empty struct whose members say where
/// each field lies. Bits are counted from the start of the struct in the manual's order: bit 0 is the most
/// significant bit of byte 0. Values are in host order; the buffer is big-endian.
///
///     prm::Box<prm::create_cq_in> in;  // zeroed, opcode written
///     in.at(prm::create_cq_in::cq_context).set(prm::cqc::log_cq_size, 10).set(prm::cqc::uar_page, uar);
///     send(in.bytes());
///
/// A field of another struct does not compile. Everything is constexpr and noexcept and thread-safe as far
/// as the bytes beneath are.

namespace chime::prm {

/// `Width` (1..64) bits that begin at bit `BitOffset` of `Owner`.
/// `Value` is uint32_t up to 32 bits, uint64_t above, or an enumeration of the manual.
template <class Owner, unsigned BitOffset, unsigned Width, class Value>
struct Field {
  static_assert(Width >= 1 && Width <= 64);
  static_assert(BitOffset % 8 + Width <= 64, "a field spans at most eight bytes");
};

/// A struct within a struct.
template <class Owner, unsigned ByteOffset, class Nested>
struct Nest {};

/// `Count` fields of `Width` bits, `StrideBits` apart; `Count` 0: as many as the buffer holds.
template <class Owner, unsigned BitOffset, unsigned Width, unsigned Count, class Value, unsigned StrideBits>
struct FieldArray {
  static_assert(Width >= 1 && Width <= 64 && Width <= StrideBits);
};

/// `Count` structs, one after the other; `Count` 0: as many as the buffer holds.
template <class Owner, unsigned ByteOffset, class Nested, unsigned Count>
struct NestArray {};

namespace detail {

constexpr std::uint64_t mask(unsigned width) noexcept {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

template <std::size_t... I>
constexpr std::uint64_t load(const std::byte* from, std::index_sequence<I...>) noexcept {
  std::uint64_t value = 0;
  ((value = value << 8 | std::to_integer<std::uint64_t>(from[I])), ...);
  return value;
}

template <std::size_t... I>
constexpr void store(std::byte* to, std::uint64_t value, std::index_sequence<I...>) noexcept {
  ((to[I] = static_cast<std::byte>(value >> 8 * (sizeof...(I) - 1 - I) & 0xff)), ...);
}

/// The bytes that a field touches, and how far its last bit is from their end.
template <unsigned Bit, unsigned Width>
struct Place {
  static constexpr unsigned first = Bit / 8;
  static constexpr unsigned last = (Bit + Width - 1) / 8;
  static constexpr unsigned shift = 7 - (Bit + Width - 1) % 8;
  using Bytes = std::make_index_sequence<last - first + 1>;

  static constexpr std::uint64_t get(const std::byte* base) noexcept {
    return load(base + first, Bytes{}) >> shift & mask(Width);
  }
  static constexpr void set(std::byte* base, std::uint64_t value) noexcept {
    value = (value & mask(Width)) << shift;
    if constexpr (Width != 8 * Bytes::size()) value |= load(base + first, Bytes{}) & ~(mask(Width) << shift);
    store(base + first, value, Bytes{});
  }
};

}  // namespace detail

/// `width` (1..64) bits from bit `bit` on, for places that are known at run time only.
constexpr std::uint64_t get_bits(const std::byte* base, std::size_t bit, unsigned width) noexcept {
  std::uint64_t value = 0;
  for (std::size_t end = bit + width; bit < end;) {
    const unsigned within = bit % 8;
    const unsigned take = end - bit < 8 - within ? static_cast<unsigned>(end - bit) : 8 - within;
    const auto byte = std::to_integer<std::uint64_t>(base[bit / 8]);
    value = value << take | (byte >> (8 - within - take) & detail::mask(take));
    bit += take;
  }
  return value;
}

/// Counterpart of get_bits; bits of `value` above `width` are dropped.
constexpr void set_bits(std::byte* base, std::size_t bit, unsigned width, std::uint64_t value) noexcept {
  for (std::size_t end = bit + width; bit < end;) {
    const unsigned within = bit % 8;
    const unsigned take = end - bit < 8 - within ? static_cast<unsigned>(end - bit) : 8 - within;
    const unsigned shift = 8 - within - take;
    const auto keep = static_cast<std::byte>(~(detail::mask(take) << shift) & 0xff);
    const std::uint64_t part = value >> (end - bit - take) & detail::mask(take);
    base[bit / 8] = (base[bit / 8] & keep) | static_cast<std::byte>(part << shift & 0xff);
    bit += take;
  }
}

namespace detail {

template <class Owner, unsigned Offset, class Nested, class Byte>
constexpr std::span<Byte> nested(std::span<Byte> bytes) noexcept {
  // What ends where its owner ends shares the owner's tail; what ends later is the tail.
  if constexpr (Offset + Nested::size >= Owner::size) return bytes.subspan(Offset);
  return bytes.subspan(Offset, Nested::size);
}

template <unsigned Offset, class Nested, unsigned Count, class Byte>
constexpr std::span<Byte> element(std::span<Byte> bytes, std::size_t i) noexcept {
  const std::size_t at = Offset + i * Nested::size;
  assert((Count == 0 || i < Count) && at + Nested::size <= bytes.size());
  return bytes.subspan(at, Nested::size);
}

template <unsigned Bit, unsigned Width, unsigned Count, unsigned Stride>
constexpr std::uint64_t get_element(std::span<const std::byte> bytes, std::size_t i) noexcept {
  assert((Count == 0 || i < Count) && Bit + i * Stride + Width <= bytes.size() * 8);
  if constexpr (Stride % 8 == 0 && Bit % 8 + Width <= 64) {
    return Place<Bit, Width>::get(bytes.data() + i * (Stride / 8));
  }
  return get_bits(bytes.data(), Bit + i * Stride, Width);
}

template <unsigned Bit, unsigned Width, unsigned Count, unsigned Stride>
constexpr void set_element(std::span<std::byte> bytes, std::size_t i, std::uint64_t value) noexcept {
  assert((Count == 0 || i < Count) && Bit + i * Stride + Width <= bytes.size() * 8);
  if constexpr (Stride % 8 == 0 && Bit % 8 + Width <= 64) {
    Place<Bit, Width>::set(bytes.data() + i * (Stride / 8), value);
  } else {
    set_bits(bytes.data(), Bit + i * Stride, Width, value);
  }
}

constexpr std::size_t capacity(std::size_t bytes, unsigned bit, unsigned count, std::size_t stride) noexcept {
  if (count != 0) return count;
  return bytes * 8 > bit ? (bytes * 8 - bit) / stride : 0;
}

}  // namespace detail

/// Reads a buffer as layout `S`. Does not own the bytes.
template <class S>
class ConstView {
 public:
  /// @param bytes at least S::size bytes; more are the tail of arrays "as many as the buffer holds"
  static constexpr ConstView over(std::span<const std::byte> bytes) noexcept { return ConstView(bytes); }

  constexpr explicit ConstView(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {
    assert(bytes.size() >= S::size);
  }

  template <unsigned Bit, unsigned Width, class Value>
  constexpr Value get(Field<S, Bit, Width, Value>) const noexcept {
    static_assert(Bit + Width <= S::size * 8);
    return static_cast<Value>(detail::Place<Bit, Width>::get(bytes_.data()));
  }
  /// Element `i`, which must be within the array and the buffer.
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr Value get(FieldArray<S, Bit, Width, Count, Value, Stride>, std::size_t i) const noexcept {
    return static_cast<Value>(detail::get_element<Bit, Width, Count, Stride>(bytes_, i));
  }
  template <unsigned Offset, class Nested>
  constexpr ConstView<Nested> at(Nest<S, Offset, Nested>) const noexcept {
    return ConstView<Nested>(detail::nested<S, Offset, Nested>(bytes_));
  }
  template <unsigned Offset, class Nested, unsigned Count>
  constexpr ConstView<Nested> at(NestArray<S, Offset, Nested, Count>, std::size_t i) const noexcept {
    return ConstView<Nested>(detail::element<Offset, Nested, Count>(bytes_, i));
  }

  /// Elements of an array: as declared, or as many as the buffer holds.
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr std::size_t count(FieldArray<S, Bit, Width, Count, Value, Stride>) const noexcept {
    return detail::capacity(bytes_.size(), Bit, Count, Stride);
  }
  template <unsigned Offset, class Nested, unsigned Count>
  constexpr std::size_t count(NestArray<S, Offset, Nested, Count>) const noexcept {
    return detail::capacity(bytes_.size(), Offset * 8, Count, Nested::size * 8);
  }

  /// The whole buffer, tail included.
  constexpr std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Reads and writes a buffer as layout `S`. Does not own the bytes; a const View still writes them.
template <class S>
class View {
 public:
  /// @param bytes at least S::size bytes; more are the tail of arrays "as many as the buffer holds"
  static constexpr View over(std::span<std::byte> bytes) noexcept { return View(bytes); }

  constexpr explicit View(std::span<std::byte> bytes) noexcept : bytes_(bytes) {
    assert(bytes.size() >= S::size);
  }
  constexpr operator ConstView<S>() const noexcept { return ConstView<S>(bytes_); }

  template <unsigned Bit, unsigned Width, class Value>
  constexpr Value get(Field<S, Bit, Width, Value> field) const noexcept {
    return ConstView<S>(bytes_).get(field);
  }
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr Value get(FieldArray<S, Bit, Width, Count, Value, Stride> field, std::size_t i) const noexcept {
    return ConstView<S>(bytes_).get(field, i);
  }

  /// Bits of `value` that the field has no room for are dropped.
  template <unsigned Bit, unsigned Width, class Value>
  constexpr const View& set(Field<S, Bit, Width, Value>, std::type_identity_t<Value> value) const noexcept {
    static_assert(Bit + Width <= S::size * 8);
    detail::Place<Bit, Width>::set(bytes_.data(), static_cast<std::uint64_t>(value));
    return *this;
  }
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr const View& set(FieldArray<S, Bit, Width, Count, Value, Stride>, std::size_t i,
                            std::type_identity_t<Value> value) const noexcept {
    detail::set_element<Bit, Width, Count, Stride>(bytes_, i, static_cast<std::uint64_t>(value));
    return *this;
  }

  template <unsigned Offset, class Nested>
  constexpr View<Nested> at(Nest<S, Offset, Nested>) const noexcept {
    return View<Nested>(detail::nested<S, Offset, Nested>(bytes_));
  }
  template <unsigned Offset, class Nested, unsigned Count>
  constexpr View<Nested> at(NestArray<S, Offset, Nested, Count>, std::size_t i) const noexcept {
    return View<Nested>(detail::element<Offset, Nested, Count>(bytes_, i));
  }

  /// Elements of an array: as declared, or as many as the buffer holds.
  template <class Array>
  constexpr std::size_t count(Array array) const noexcept {
    return ConstView<S>(bytes_).count(array);
  }

  /// The whole buffer, tail included.
  constexpr std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Owns the bytes of layout `S`, zeroed, and `Tail` bytes more. Of a command's input the opcode (and the
/// op_mod, where the command has but one) is written already.
template <class S, std::size_t Tail = 0>
class Box {
 public:
  constexpr Box() noexcept {
    if constexpr (requires { S::opcode_value; }) view().set(S::opcode, S::opcode_value);
    if constexpr (requires { S::op_mod_value; }) view().set(S::op_mod, S::op_mod_value);
  }

  constexpr View<S> view() noexcept { return View<S>(bytes_); }
  constexpr ConstView<S> view() const noexcept { return ConstView<S>(bytes_); }
  constexpr operator View<S>() noexcept { return view(); }
  constexpr operator ConstView<S>() const noexcept { return view(); }

  template <unsigned Bit, unsigned Width, class Value>
  constexpr Value get(Field<S, Bit, Width, Value> field) const noexcept {
    return view().get(field);
  }
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr Value get(FieldArray<S, Bit, Width, Count, Value, Stride> field, std::size_t i) const noexcept {
    return view().get(field, i);
  }
  template <unsigned Bit, unsigned Width, class Value>
  constexpr Box& set(Field<S, Bit, Width, Value> field, std::type_identity_t<Value> value) noexcept {
    view().set(field, value);
    return *this;
  }
  template <unsigned Bit, unsigned Width, unsigned Count, class Value, unsigned Stride>
  constexpr Box& set(FieldArray<S, Bit, Width, Count, Value, Stride> field, std::size_t i,
                     std::type_identity_t<Value> value) noexcept {
    view().set(field, i, value);
    return *this;
  }

  template <unsigned Offset, class Nested>
  constexpr View<Nested> at(Nest<S, Offset, Nested> nest) noexcept {
    return view().at(nest);
  }
  template <unsigned Offset, class Nested>
  constexpr ConstView<Nested> at(Nest<S, Offset, Nested> nest) const noexcept {
    return view().at(nest);
  }
  template <unsigned Offset, class Nested, unsigned Count>
  constexpr View<Nested> at(NestArray<S, Offset, Nested, Count> nest, std::size_t i) noexcept {
    return view().at(nest, i);
  }
  template <unsigned Offset, class Nested, unsigned Count>
  constexpr ConstView<Nested> at(NestArray<S, Offset, Nested, Count> nest, std::size_t i) const noexcept {
    return view().at(nest, i);
  }
  template <class Array>
  constexpr std::size_t count(Array array) const noexcept {
    return view().count(array);
  }

  constexpr std::span<std::byte> bytes() noexcept { return bytes_; }
  constexpr std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  alignas(8) std::array<std::byte, S::size + Tail> bytes_{};
};

}  // namespace chime::prm
