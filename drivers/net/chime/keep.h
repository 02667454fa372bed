// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "base/error.h"

namespace chime::net {

/// Moves what was made to the place that it lives in, or passes the error on.
///
///     if (Result<> done = keep(pd_, hca::alloc_pd(device)); !done) return done;
template <class T>
[[nodiscard]] Result<> keep(T& place, Result<T>&& made) noexcept {
  if (!made) return fail(made.error());
  place = std::move(*made);
  return {};
}

}  // namespace chime::net
