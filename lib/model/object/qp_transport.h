// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The part of a queue pair that is the datapath's alone: where its transport stands.

namespace chime::model {

struct QpTransport {};

}  // namespace chime::model
