// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "prm/enums.h"
#include "prm/tables.h"

/// @file
/// Any buffer in the manual's layouts as text, and back.
///
///     create_cq_in
///       opcode = 0x400 (create_cq)
///       cq_context
///         log_cq_size = 0xa
///
/// One line a field, two blanks a level. Fields that are zero are left out unless asked for. What the layout
/// does not name but is not zero is printed too, so that nothing is lost: `reserved[0x1c] = 0x80` are the
/// unnamed bits of the dword at that offset of the struct, `bytes[0x40] = 01020304` is what follows the
/// layout. Lines that begin with `#` are remarks. Nothing here allocates or throws; all may be called from
/// any thread.

namespace chime::prm {

template <class F>
concept TextTarget = std::is_invocable_v<const F&, std::string_view>;

/// Where text goes: refers to something callable with a std::string_view, which must outlive the Sink.
class Sink {
 public:
  template <TextTarget F>
  Sink(const F& f) noexcept  // NOLINT(google-explicit-constructor): a lambda where a Sink is asked for
      : target_(std::addressof(f)),
        call_([](const void* target, std::string_view text) { (*static_cast<const F*>(target))(text); }) {}

  void operator()(std::string_view text) const { call_(target_, text); }

 private:
  const void* target_;
  void (*call_)(const void*, std::string_view);
};

struct PrintOptions {
  bool zeros = false;     ///< fields that are zero too
  bool meanings = false;  ///< what a field means, as a remark behind it
  unsigned indent = 0;    ///< blanks before each line
};

/// Prints a buffer as one struct.
/// @param input the command's input, if `bytes` are its output: some outputs depend on it
void print(const StructInfo& layout, std::span<const std::byte> bytes, Sink sink,
           const PrintOptions& options = {}, std::span<const std::byte> input = {}) noexcept;

/// The same by name. False, with nothing printed, if there is no such struct.
bool print(std::string_view layout, std::span<const std::byte> bytes, Sink sink,
           const PrintOptions& options = {}, std::span<const std::byte> input = {}) noexcept;

/// Prints the input of a command, which the opcode in it names; one that is unknown is printed as bytes.
void print_input(std::span<const std::byte> input, Sink sink, const PrintOptions& options = {}) noexcept;

/// Prints the output of the command whose input is `input`.
void print_output(std::span<const std::byte> input, std::span<const std::byte> output, Sink sink,
                  const PrintOptions& options = {}) noexcept;

struct ParseResult {
  unsigned line = 0;                   ///< of the mistake, from 1; 0: there is none
  const char* mistake = "";            ///< what is wrong with it
  const StructInfo* layout = nullptr;  ///< the struct that the text names

  explicit operator bool() const noexcept { return line == 0; }
};

/// Reads what print() wrote into a buffer, which is zeroed first. Its size must be that of the printed one.
ParseResult parse(std::string_view text, std::span<std::byte> bytes) noexcept;

/// Name of a command, or "unknown command".
const char* command_name(std::uint32_t opcode) noexcept;
inline const char* command_name(cmd_opcode opcode) noexcept {
  return command_name(static_cast<std::uint32_t>(opcode));
}

/// Name of a command status ("bad_param"), or "unknown status".
const char* status_name(std::uint32_t status) noexcept;
inline const char* status_name(cmd_status status) noexcept {
  return status_name(static_cast<std::uint32_t>(status));
}

/// What a command status means, in words.
const char* status_text(std::uint32_t status) noexcept;
inline const char* status_text(cmd_status status) noexcept {
  return status_text(static_cast<std::uint32_t>(status));
}

}  // namespace chime::prm
