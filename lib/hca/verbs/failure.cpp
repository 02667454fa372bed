// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/failure.h"

#include <cstdlib>
#include <cstring>

#include "hca/refusal.h"
#include "prm/layouts.h"
#include "prm/text.h"
#include "prm/view.h"

namespace chime::hca::verbs {

Error command_failure(prm::cmd_opcode opcode, int errnum, std::span<const std::byte> out) noexcept {
  const prm::ConstView<prm::cmd_out> answer(out);
  if (const auto status = answer.get(prm::cmd_out::status); status != prm::cmd_status::ok) {
    return refusal(opcode, status, answer.get(prm::cmd_out::syndrome), "");
  }
  errnum = errnum == 0 ? EIO : std::abs(errnum);
  return Error::make(errnum, "%s: the kernel did not send it to the card: %s", prm::command_name(opcode),
                     std::strerror(errnum));
}

Error call_failure(const char* call, int errnum) noexcept {
  errnum = errnum == 0 ? EIO : std::abs(errnum);
  return Error::make(errnum, "%s: %s", call, std::strerror(errnum));
}

}  // namespace chime::hca::verbs
