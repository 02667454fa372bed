// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hca/device.h"
#include "hca/object.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// Typed commands: `Command<prm::create_cq> c; c.in.at(prm::create_cq_in::cq_context).set(...);
/// c.create(device)`.

namespace chime::hca {

template <class C>
struct Command {
  prm::Box<typename C::in> in;
  prm::Box<typename C::out> out;

  Result<> execute(Device& device) noexcept { return device.command(in.bytes(), out.bytes()); }
  Result<Object> create(Device& device) noexcept { return device.create(in.bytes(), out.bytes()); }
  Result<> modify(Object& object) noexcept { return object.modify(in.bytes(), out.bytes()); }
  Result<> query(const Object& object) noexcept { return object.query(in.bytes(), out.bytes()); }
};

}  // namespace chime::hca
