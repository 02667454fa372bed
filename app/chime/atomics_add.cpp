// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_add.h"

#include <fmt/core.h>

namespace chime::app {

std::uint64_t add_and_read_back(const Side& side, const rte_pmd_chime_mem_desc& target, const Shared& scratch,
                                std::uint64_t count) {
  if (rte_pmd_chime_mem_desc_check(&target, 0, 8, RTE_PMD_CHIME_REMOTE_ATOMIC) != 0) fail("target");
  rte_pmd_chime_op add = rte_pmd_chime_atomic(RTE_PMD_CHIME_FETCH_ADD, 8, target.address, target.rkey, 0);
  rte_pmd_chime_op_add(&add, 1);
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t original = side.execute(add);
    if (i == 0) first = original;
    if (original != first + i)
      throw Failure(fmt::format("fetch-and-add {} returned {}; {} would be right", i, original, first + i));
  }
  rte_pmd_chime_op read{};
  read.opcode = RTE_PMD_CHIME_READ;
  read.length = 8;
  read.local = reinterpret_cast<std::uintptr_t>(scratch.as<void>());
  read.lkey = scratch.lkey();
  read.rkey = target.rkey;
  read.remote = target.address;
  side.execute(read);
  const std::uint64_t value = *scratch.as<const volatile std::uint64_t>();
  if (value != first + count)
    throw Failure(fmt::format("the target has {} after {} additions to {}", value, count, first));
  return value;
}

}  // namespace chime::app
