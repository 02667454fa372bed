// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "model/command/handlers.h"

/// @file
/// Bringing the device up and down, the interface step, pages for the card's own use, what it is.

namespace chime::model {
namespace {

/// The interface steps that the card knows, as a bit mask: 1. (0 is what it speaks before SET_ISSI.)
constexpr std::uint32_t supported_issi = 0x2;

bool own_function(Command& c, std::uint32_t function_id) noexcept {
  if (function_id == 0) return true;
  c.refuse(Rule::other_function, 0, "function %u is not on this card; its own is 0", function_id);
  return false;
}

}  // namespace

void enable_hca(Command& c, In<prm::enable_hca> in, Out<prm::enable_hca>) noexcept {
  if (!own_function(c, in.get(prm::enable_hca_in::function_id))) return;
  if (c.card.state == DeviceState::disabled) c.card.state = DeviceState::enabled;
}

void disable_hca(Command& c, In<prm::disable_hca> in, Out<prm::disable_hca>) noexcept {
  if (!own_function(c, in.get(prm::disable_hca_in::function_id))) return;
  if (c.card.state == DeviceState::initialized) {
    return c.refuse(Rule::device_state, 0, "the device is initialized; TEARDOWN_HCA comes first");
  }
  c.card.state = DeviceState::disabled;
  c.card.issi = 0;
}

void init_hca(Command& c, In<prm::init_hca>, Out<prm::init_hca>) noexcept {
  if (c.card.state == DeviceState::initialized) {
    return c.refuse(Rule::device_state, 0, "the device is initialized already");
  }
  c.card.state = DeviceState::initialized;
  c.card.engine->port_changed();
}

void teardown_hca(Command& c, In<prm::teardown_hca>, Out<prm::teardown_hca>) noexcept {
  if (c.card.state != DeviceState::initialized) {
    return c.refuse(Rule::device_state, 0, "the device is not initialized");
  }
  c.card.destroy_objects(0, true);
  c.card.state = DeviceState::enabled;
}

void query_issi(Command& c, In<prm::query_issi>, Out<prm::query_issi> out) noexcept {
  out.set(prm::query_issi_out::current_issi, c.card.issi)
      .set(prm::query_issi_out::supported_issi_dw0, supported_issi);
}

void set_issi(Command& c, In<prm::set_issi> in, Out<prm::set_issi>) noexcept {
  const std::uint32_t wanted = in.get(prm::set_issi_in::current_issi);
  if (wanted >= 32 || !(supported_issi >> wanted & 1)) {
    return c.refuse(Rule::issi, 0, "interface step %u; this card knows 1", wanted);
  }
  c.card.issi = static_cast<std::uint16_t>(wanted);
}

void query_pages(Command& c, In<prm::query_pages> in, Out<prm::query_pages> out) noexcept {
  using Ask = prm::query_pages_op_mod;
  if (!own_function(c, in.get(prm::query_pages_in::function_id))) return;
  std::uint32_t wanted = 0;
  switch (static_cast<Ask>(c.op_mod)) {
    case Ask::boot_pages:
      wanted = c.card.behaviour.boot_pages;
      break;
    case Ask::init_pages:
      wanted = c.card.behaviour.init_pages;
      break;
    case Ask::regular_pages:
      break;
    default:
      return c.refuse(Rule::op_mod, 0, "op_mod %#x; there are 1 boot, 2 init, 3 regular", c.op_mod);
  }
  out.set(prm::query_pages_out::num_pages, wanted);
}

void manage_pages(Command& c, In<prm::manage_pages> in, Out<prm::manage_pages> out) noexcept {
  using Do = prm::manage_pages_op_mod;
  if (!own_function(c, in.get(prm::manage_pages_in::function_id))) return;
  const std::uint32_t count = in.get(prm::manage_pages_in::input_num_entries);
  switch (static_cast<Do>(c.op_mod)) {
    case Do::allocation_fail:
      return;
    case Do::allocation_success:
      if (in.count(prm::manage_pages_in::pas) < count) {
        return c.refuse(Rule::page_list_length, 0, "%u pages are announced, the list has %zu", count,
                        in.count(prm::manage_pages_in::pas));
      }
      // The model keeps its state in its own memory: it takes the pages and leaves them alone.
      if (auto kept = c.card.pages.give(in.bytes().subspan(prm::manage_pages_in::size), count); !kept) {
        return c.refuse(Rule::no_memory, 0, "%s", kept.error().text);
      }
      return;
    case Do::hca_return_pages: {
      const std::size_t room = out.count(prm::manage_pages_out::pas);
      if (room < count) {
        return c.refuse(Rule::output_length, 0, "%u pages are asked back, the output has room for %zu", count,
                        room);
      }
      out.set(prm::manage_pages_out::output_num_entries,
              c.card.pages.take(out.bytes().subspan(prm::manage_pages_out::size), count));
      return;
    }
    default:
      return c.refuse(Rule::op_mod, 0, "op_mod %#x; there are 0 fail, 1 give, 2 take back", c.op_mod);
  }
}

void query_adapter(Command& c, In<prm::query_adapter>, Out<prm::query_adapter> out) noexcept {
  using P = prm::query_adapter_param_block;
  const auto block = out.at(prm::query_adapter_out::query_adapter_struct);
  block.set(P::ieee_vendor_id, 0x2c9).set(P::vsd_vendor_id, c.card.identity.vendor_id);
  for (std::size_t i = 0; i < 16; ++i) {
    block.set(P::vsd_contd_psid, i, static_cast<std::uint8_t>(c.card.identity.psid[i]));
  }
}

void set_driver_version(Command&, In<prm::set_driver_version>, Out<prm::set_driver_version>) noexcept {}

void query_special_contexts(Command& c, In<prm::query_special_contexts>,
                            Out<prm::query_special_contexts> out) noexcept {
  out.set(prm::query_special_contexts_out::resd_lkey, c.card.reserved_lkey);
}

void nop(Command&, In<prm::nop>, Out<prm::nop>) noexcept {}

}  // namespace chime::model
