// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <charconv>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "control.h"

namespace chime::serve {
namespace {

using Json = nlohmann::json;

Json refused(const std::string& why) {
  return {{"ok", false}, {"error", why}};
}

/// Nothing but blanks is left of the line.
bool at_end(std::istringstream& words) {
  return (words >> std::ws).eof();
}

Json apply(Nic& nic, const wire::FaultSpec& faults, wire::Factory& wires) {
  auto set = wires.set_faults(nic.name().c_str(), faults);
  if (!set) return refused(set.error().text);
  nic.faults() = faults;
  return {{"ok", true}};
}

Json set_link(Nic& nic, std::istringstream& words, wire::Factory& wires) {
  std::string state;
  words >> state;
  if ((state != "up" && state != "down") || !at_end(words)) return refused("link NIC up|down");
  wire::FaultSpec faults = nic.faults();
  faults.link_down = state == "down";
  return apply(nic, faults, wires);
}

Json set_faults(Nic& nic, std::istringstream& words, wire::Factory& wires) {
  wire::FaultSpec faults;
  faults.link_down = nic.faults().link_down;
  std::string list;
  words >> list;
  if (!at_end(words)) return refused("faults NIC loss=PPM,...; without a blank between");
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    std::uint32_t value = 0;
    const char* const first = equals == std::string::npos ? item.data() + item.size() : &item[equals + 1];
    const auto [end, error] = std::from_chars(first, item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size()) return refused(item + ": no number");
    if (key == "loss")
      faults.loss_ppm = value;
    else if (key == "duplicate")
      faults.duplicate_ppm = value;
    else if (key == "reorder")
      faults.reorder_ppm = value;
    else if (key == "corrupt")
      faults.corrupt_ppm = value;
    else if (key == "delay")
      faults.delay_us = value;
    else if (key == "seed")
      faults.seed = value;
    else
      return refused(key + ": unknown; there are loss, duplicate, reorder, corrupt, delay, seed");
  }
  return apply(nic, faults, wires);
}

Json set_health(Nic& nic, std::istringstream& words) {
  unsigned syndrome = 0;
  std::string fatal;
  words >> std::setbase(0) >> syndrome;
  if (words.fail() || syndrome > 0xff) return refused("health NIC SYNDROME [fatal]; a syndrome has 8 bits");
  words >> fatal;
  if ((!fatal.empty() && fatal != "fatal") || !at_end(words)) return refused("health NIC SYNDROME [fatal]");
  nic.function().set_health(static_cast<model::pci::Health>(syndrome), fatal == "fatal");
  return {{"ok", true}};
}

Json counters(Nic& nic, wire::Factory& wires) {
  Json answer{{"ok", true}};
  if (auto wire = wires.statistics(nic.name().c_str())) {
    answer["wire"] = {{"tx_frames", wire->tx_frames},
                      {"rx_frames", wire->rx_frames},
                      {"tx_dropped", wire->tx_dropped.total()},
                      {"rx_dropped", wire->rx_dropped.total()},
                      {"lost_by_fault", wire->injected.lost}};
  }
  answer["interrupts"] = {{"delivered", nic.function().interrupts().delivered()},
                          {"lost", nic.function().interrupts().lost() + nic.undelivered()}};
  answer["errors"] = nic.errors();
  return answer;
}

Json objects(Nic& nic) {
  std::array<model::ObjectCount, 64> counts;
  const model::Hca* const hca = nic.function().hca();
  if (!hca) return refused("the card did not come out of its reset: memory ran out");
  const std::size_t kinds = hca->count_objects(counts);
  Json answer{{"ok", true}};
  for (std::size_t i = 0; i < kinds; ++i) answer["objects"][counts[i].kind] = counts[i].live;
  return answer;
}

Json execute(const std::string& line, const std::vector<Owned<Nic>>& nics, wire::Factory& wires) {
  std::istringstream words(line);
  std::string command, name;
  words >> command >> name;
  Nic* nic = nullptr;
  std::string names;
  for (const auto& each : nics) {
    names += " " + each->name();
    if (each->name() == name) nic = each.get();
  }
  if (!nic) return refused("no NIC '" + name + "'; there are" + names);
  if (command == "link") return set_link(*nic, words, wires);
  if (command == "faults") return set_faults(*nic, words, wires);
  if (command == "health") return set_health(*nic, words);
  if (command == "counters") return counters(*nic, wires);
  if (command == "objects") return objects(*nic);
  return refused("'" + command + "': unknown; there are link, faults, health, counters, objects");
}

}  // namespace

std::string execute_control(const std::string& line, const std::vector<Owned<Nic>>& nics,
                            wire::Factory& wires) {
  // What came need not be UTF-8; JSON must be.
  return execute(line, nics, wires).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace chime::serve
