// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hca/receive_path.h"

namespace chime::net {

/// Where packets go next: a flow table or a TIR.
using Destination = hca::EntryDestination;

inline Destination to_table(std::uint32_t number) noexcept {
  return {Destination::Kind::table, number};
}
inline Destination to_tir(std::uint32_t number) noexcept {
  return {Destination::Kind::tir, number};
}

}  // namespace chime::net
