// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace chime::hca::embedded {

/// Every command that the software HCA answers, as text: log type pmd.net.chime.command, at level debug.
/// Input and output are printed with the manual's names; fields that are zero are left out.
///
///     net_chime0: alloc_pd: ok (status 0, syndrome 0)
///     net_chime0:   alloc_pd_in  # Makes a protection domain.
///     net_chime0:     opcode = 0x800 (alloc_pd)
///     net_chime0:     uid = 0x1
///     net_chime0:   alloc_pd_out
///     net_chime0:     pd = 0x1
///
/// Used by the thread that steps the HCA.
class CommandTrace {
 public:
  /// @param name whose: the port's. Must outlive this object
  explicit CommandTrace(const char* name) noexcept;

  /// A command that was answered. Costs a comparison when nobody listens.
  void answered(std::span<const std::byte> in, std::span<const std::byte> out) const noexcept;

  int log_type() const noexcept { return log_type_; }

 private:
  const char* name_;
  int log_type_;
};

}  // namespace chime::hca::embedded
