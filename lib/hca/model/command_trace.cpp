// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/command_trace.h"

#include <rte_log.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "prm/layouts.h"
#include "prm/text.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

/// Makes lines of the log from pieces of text; what does not fit into a line is cut.
class Lines {
 public:
  Lines(const char* name, int log_type) noexcept
      : name_(name), log_type_(static_cast<std::uint32_t>(log_type)) {}

  void operator()(std::string_view text) noexcept {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view piece = text.substr(0, end);
      const std::size_t fits = std::min(piece.size(), line_.size() - 1 - length_);
      std::memcpy(line_.data() + length_, piece.data(), fits);
      length_ += fits;
      if (end == std::string_view::npos) return;
      line_[length_] = '\0';
      rte_log(RTE_LOG_DEBUG, log_type_, "%s: %s\n", name_, line_.data());
      length_ = 0;
      text.remove_prefix(end + 1);
    }
  }

 private:
  const char* name_;
  std::uint32_t log_type_;
  std::size_t length_ = 0;
  std::array<char, 512> line_{};
};

constexpr prm::PrintOptions indented{.indent = 2};

}  // namespace

CommandTrace::CommandTrace(const char* name) noexcept
    : name_(name), log_type_(rte_log_register_type_and_pick_level("pmd.net.chime.command", RTE_LOG_NOTICE)) {}

void CommandTrace::answered(std::span<const std::byte> in, std::span<const std::byte> out) const noexcept {
  if (log_type_ < 0 || !rte_log_can_log(static_cast<std::uint32_t>(log_type_), RTE_LOG_DEBUG)) return;
  const auto opcode = prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::opcode);
  const prm::ConstView<prm::cmd_out> answer(out);
  const auto status = answer.get(prm::cmd_out::status);
  rte_log(RTE_LOG_DEBUG, static_cast<std::uint32_t>(log_type_), "%s: %s: %s (status %#x, syndrome %#x)\n",
          name_, prm::command_name(opcode), prm::status_name(status), static_cast<unsigned>(status),
          static_cast<unsigned>(answer.get(prm::cmd_out::syndrome)));
  Lines lines(name_, log_type_);
  const auto sink = [&lines](std::string_view text) { lines(text); };
  prm::print_input(in, sink, indented);
  prm::print_output(in, out, sink, indented);
}

}  // namespace chime::hca::embedded
