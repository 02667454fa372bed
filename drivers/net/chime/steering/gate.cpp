// SPDX-License-Identifier: BSD-3-Clause
#include "steering/gate.h"

#include <utility>

#include "hca/steering.h"
#include "keep.h"

namespace chime::net {

Gate Gate::at_root(hca::Device& device) noexcept {
  Gate gate;
  gate.device_ = &device;
  gate.root_ = true;
  return gate;
}

Result<Gate> Gate::in_table(hca::Device& device, std::uint32_t table, std::uint32_t first) noexcept {
  Gate gate;
  gate.device_ = &device;
  gate.table_ = table;
  gate.first_ = first;
  Result<> done = keep(gate.group_, hca::create_flow_group(device, table, first, first + 1, 0, {}));
  if (!done) return fail(done.error());
  return gate;
}

Result<> Gate::prepare(Destination to) noexcept {
  const unsigned slot = way_ ? 1 - slot_ : 0;
  if (root_) {
    const hca::RootDestination destination{to.kind == Destination::Kind::table
                                               ? hca::RootDestination::Kind::table
                                               : hca::RootDestination::Kind::tir,
                                           to.number};
    return keep(next_way_,
                device_->steering().root(0, {}, {}, static_cast<std::uint16_t>(slot), destination));
  }
  return keep(next_way_, hca::create_flow_entry(*device_, {.table = table_,
                                                           .group = group_.number(),
                                                           .index = first_ + slot,
                                                           .value = {},
                                                           .action = hca::EntryConfig::Action::forward,
                                                           .destinations = {&to, 1},
                                                           .counters = {},
                                                           .flow_tag = 0}));
}

void Gate::commit() noexcept {
  if (!next_way_) return;
  slot_ = way_ ? 1 - slot_ : 0;
  way_ = std::move(next_way_);
}

void Gate::cancel() noexcept {
  next_way_ = {};
}

Result<> Gate::lead(Destination to) noexcept {
  if (Result<> done = prepare(to); !done) return done;
  commit();
  return {};
}

void Gate::close() noexcept {
  cancel();
  way_ = {};
}

}  // namespace chime::net
