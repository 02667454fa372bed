// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "model/object/steering.h"
#include "model/packet/headers.h"

namespace chime::model {

/// Writes a packet's fte_match_param. Of a `param` that was all zero or came from here before, only what a
/// packet can have is written: outer headers, second tag, IPv6 flow label, ESP index, TCP numbers, ICMP.
/// @param front the packet's first bytes, all headers within
void fill_match_param(MatchParam& param, const std::byte* front, const net::Headers& headers) noexcept;

}  // namespace chime::model
