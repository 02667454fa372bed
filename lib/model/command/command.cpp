// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/command.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace chime::model {
namespace {

/// "create_cq_in" as the manual prints it: CREATE_CQ.
struct PrintedName {
  explicit PrintedName(std::string_view layout) noexcept {
    if (layout.ends_with("_in")) layout.remove_suffix(3);
    const std::size_t length = std::min(layout.size(), sizeof text - 1);
    std::transform(layout.begin(), layout.begin() + static_cast<std::ptrdiff_t>(length), text,
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  }
  char text[48] = {};
};

std::uint16_t uid_of(std::span<const std::byte> in) noexcept {
  return static_cast<std::uint16_t>(prm::get_bits(in.data(), 16, 16));
}

}  // namespace

Command::Command(Hca::Card& c, std::string_view name, std::span<const std::byte> in,
                 std::span<std::byte> out) noexcept
    : card(c),
      input(in),
      output(out),
      uid(uid_of(in) == shared_uid ? std::uint16_t{0} : uid_of(in)),
      op_mod(static_cast<std::uint16_t>(prm::get_bits(in.data(), 48, 16))),
      name_(name),
      shared_(uid_of(in) == shared_uid),
      context_(uid ? c.user_contexts.find(uid) : nullptr) {}

void Command::refuse(Rule rule, std::uint32_t object, const char* format, ...) noexcept {
  if (refused_) return;
  refused_ = true;
  prm::cmd_status status = info(rule).status;
  if (rule == Rule::foreign_object && card.behaviour.foreign_object_is_bad_param) {
    status = prm::cmd_status::bad_param;
  }
  // What a handler has written already is not the answer.
  std::fill(output.begin(), output.end(), std::byte{0});
  prm::View<prm::nop_out>(output)
      .set(prm::nop_out::status, status)
      .set(prm::nop_out::syndrome, syndrome(rule));

  char reason[200];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  card.find(info(rule).name, Severity::refusal, object, "%s: %s", PrintedName(name_).text, reason);
}

bool Command::absent(std::uint64_t value, Rule rule, const char* what) noexcept {
  if (value == 0) return true;
  refuse(rule, 0, "%s is %#llx; this card supports 0 only", what, static_cast<unsigned long long>(value));
  return false;
}

bool Command::good(const Result<>& result, const char* what) noexcept {
  if (result) return true;
  refuse(Rule::no_memory, 0, "%s: %s", what, result.error().text);
  return false;
}

bool Command::op_mod_is(std::uint32_t only) noexcept {
  if (op_mod == only) return true;
  refuse(Rule::op_mod, 0, "op_mod is %#x; it can be %#x", op_mod, only);
  return false;
}

bool Command::unused(const Object& object) noexcept {
  if (object.uses == 0) return true;
  refuse(Rule::object_in_use, object.number, "%s %#x is in use by %u other object%s; destroy those first",
         model::name(object.kind), object.number, object.uses, object.uses == 1 ? "" : "s");
  return false;
}

void Command::unknown(Kind kind, std::uint32_t number) noexcept {
  refuse(Rule::unknown_object, number, "there is no %s %#x", model::name(kind), number);
}

void Command::foreign(const Object& object) noexcept {
  refuse(Rule::foreign_object, object.number, "%s %#x belongs to user context %u, the command comes from %u",
         model::name(object.kind), object.number, object.uid, uid);
}

}  // namespace chime::model
