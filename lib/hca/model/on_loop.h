// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/loop.h"

namespace chime::hca::embedded {

/// What `f` returns, run between two steps.
template <class F>
auto on_loop(model::Loop& loop, F&& f) noexcept {
  decltype(f()) result;
  loop.run([&] { result = f(); });
  return result;
}

}  // namespace chime::hca::embedded
