// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "hca/model/kernel.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {

/// ACCESS_REG of one register, whose fields are in `reg` before and after.
template <class R>
Result<> access_register(Kernel& kernel, prm::access_register_op_mod direction, prm::Box<R>& reg) noexcept {
  constexpr std::size_t header = 0x10;
  prm::Box<prm::access_register_in, R::size> in;
  prm::Box<prm::access_register_out, R::size> out;
  in.set(prm::access_register_in::op_mod, direction)
      .set(prm::access_register_in::register_id, R::register_value);
  std::ranges::copy(reg.bytes(), in.bytes().begin() + header);
  auto done = kernel.execute(in.bytes().first(header + R::size), out.bytes().first(header + R::size));
  if (done) std::ranges::copy(out.bytes().subspan(header, R::size), reg.bytes().begin());
  return done;
}

template <class R>
Result<> read_register(Kernel& kernel, prm::Box<R>& reg) noexcept {
  return access_register(kernel, prm::access_register_op_mod::read, reg);
}
template <class R>
Result<> write_register(Kernel& kernel, prm::Box<R>& reg) noexcept {
  return access_register(kernel, prm::access_register_op_mod::write, reg);
}

}  // namespace chime::hca::embedded
