// SPDX-License-Identifier: BSD-3-Clause
#include "hca/refusal.h"

#include "prm/text.h"

namespace chime::hca {
namespace {

int errnum(prm::cmd_status status) noexcept {
  switch (status) {
    case prm::cmd_status::ok:
      return 0;
    case prm::cmd_status::internal_err:
    case prm::cmd_status::bad_sys_state:
    case prm::cmd_status::bad_input_len:
    case prm::cmd_status::bad_output_len:
      return EIO;
    case prm::cmd_status::resource_busy:
      return EBUSY;
    case prm::cmd_status::exceed_lim:
      return ENOMEM;
    case prm::cmd_status::no_resources:
      return EAGAIN;
    default:
      return EINVAL;
  }
}

}  // namespace

Error refusal(prm::cmd_opcode opcode, prm::cmd_status status, std::uint32_t syndrome,
              const char* words) noexcept {
  const bool said = words && words[0] != 0;
  Error error = Error::make(errnum(status), "%s: %s (status %#x, syndrome %#x)%s%s",
                            prm::command_name(opcode), prm::status_text(status),
                            static_cast<unsigned>(status), syndrome, said ? ": " : "", said ? words : "");
  error.status = static_cast<std::uint8_t>(status);
  error.syndrome = syndrome;
  return error;
}

}  // namespace chime::hca
