// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "input.h"
#include "model/hca.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::fuzz {

/// One command with room for lists behind both layouts.
template <class C, std::size_t Tail = 0>
struct Call {
  prm::Box<typename C::in, Tail> in;
  prm::Box < typename C::out, C::out::size<16 ? 16 - C::out::size : 0> out;

  prm::cmd_status execute(model::Hca& hca) noexcept {
    hca.command(in.bytes(), out.bytes());
    return prm::ConstView<prm::nop_out>(out.bytes()).get(prm::nop_out::status);
  }
  void run(model::Hca& hca) noexcept { want(execute(hca) == prm::cmd_status::ok); }
};

}  // namespace chime::fuzz
