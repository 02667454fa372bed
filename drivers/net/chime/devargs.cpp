// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace chime::net {

namespace {

/// A value as messages show it: long ones are cut.
struct Shown {
  char text[49];
  explicit Shown(std::string_view value) noexcept {
    const std::size_t length = std::min(value.size(), sizeof text - 1);
    std::memcpy(text, value.data(), length);
    text[length] = '\0';
  }
};

template <std::size_t size>
Result<> copy_text(const char* key, std::string_view value, char (&to)[size]) noexcept {
  if (value.size() >= size) return fail(EINVAL, "%s=: at most %zu characters", key, size - 1);
  std::memcpy(to, value.data(), value.size());
  to[value.size()] = '\0';
  return {};
}

template <class Number>
Result<> parse_number(const char* key, std::string_view value, Number least, Number most,
                      Number& to) noexcept {
  Number number{};
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (problem != std::errc() || end != value.data() + value.size() || number < least || number > most)
    return fail(EINVAL, "%s=%s: not a whole number from %lld to %llu", key, Shown(value).text,
                static_cast<long long>(least), static_cast<unsigned long long>(most));
  to = number;
  return {};
}

constexpr std::uint32_t million = 1'000'000;

/// "2500" parts of a million, or "0.25%".
Result<> parse_rate(const char* key, std::string_view value, std::uint32_t& ppm) noexcept {
  std::string_view digits = value;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  const std::size_t point = percent ? digits.find('.') : std::string_view::npos;
  const std::string_view whole = digits.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : digits.substr(point + 1);

  std::uint64_t parts = 0;
  bool good = !whole.empty() && whole.size() <= 7 && fraction.size() <= 4 &&
              (point == std::string_view::npos || !fraction.empty());
  const auto append = [&](char digit) {
    good = good && digit >= '0' && digit <= '9';
    parts = parts * 10 + static_cast<std::uint64_t>(digit - '0');
  };
  if (good) {
    for (char digit : whole) append(digit);
    if (percent)
      for (std::size_t i = 0; i < 4; ++i) append(i < fraction.size() ? fraction[i] : '0');
  }
  if (!good || parts > million)
    return fail(EINVAL, "%s=%s: neither parts of a million (\"2500\") nor percent (\"0.25%%\")", key,
                Shown(value).text);
  ppm = static_cast<std::uint32_t>(parts);
  return {};
}

Result<> parse_mac(const char* key, std::string_view value, std::optional<hca::MacAddress>& to) noexcept {
  hca::MacAddress mac{};
  bool good = value.size() == 17;
  for (std::size_t i = 0; good && i < mac.size(); ++i) {
    const char* digits = value.data() + 3 * i;
    const auto [end, problem] = std::from_chars(digits, digits + 2, mac[i], 16);
    good = problem == std::errc() && end == digits + 2 && (i == 5 || *end == ':');
  }
  if (!good) return fail(EINVAL, "%s=%s: not an address like 02:00:00:00:00:01", key, Shown(value).text);
  if (mac[0] & 1)
    return fail(EINVAL, "%s=%s: a multicast address; a port needs a unicast one", key, Shown(value).text);
  if (mac == hca::MacAddress{})
    return fail(EINVAL, "%s=%s: no port can have the zero address", key, Shown(value).text);
  to = mac;
  return {};
}

Result<> parse_model_thread(const char* key, std::string_view value, char (&to)[16]) noexcept {
  if (value != "shared" && value != "own" && value != "caller")
    return fail(EINVAL, "%s=%s: neither shared, own nor caller", key, Shown(value).text);
  return copy_text(key, value, to);
}

using Parser = Result<> (*)(const char* key, std::string_view value, DevArgs& args) noexcept;
struct Argument {
  const char* key;
  Parser parse;
};

constexpr std::uint32_t longest_delay_us = 10'000'000;
constexpr int most_cpus = 4095;
// What cards of this family know.
constexpr std::uint32_t slowest_mbps = 1'000, fastest_mbps = 400'000;

constexpr Argument arguments[] = {
    {"wire", [](const char* k, std::string_view v, DevArgs& a) noexcept { return copy_text(k, v, a.wire); }},
    {"profile",
     [](const char* k, std::string_view v, DevArgs& a) noexcept { return copy_text(k, v, a.profile); }},
    {"ibdev",
     [](const char* k, std::string_view v, DevArgs& a) noexcept { return copy_text(k, v, a.ibdev); }},
    {"mac", [](const char* k, std::string_view v, DevArgs& a) noexcept { return parse_mac(k, v, a.mac); }},
    {"model_thread", [](const char* k, std::string_view v,
                        DevArgs& a) noexcept { return parse_model_thread(k, v, a.model_thread); }},
    {"model_cpu", [](const char* k, std::string_view v,
                     DevArgs& a) noexcept { return parse_number(k, v, 0, most_cpus, a.model_cpu); }},
    {"loss",
     [](const char* k, std::string_view v, DevArgs& a) noexcept { return parse_rate(k, v, a.loss_ppm); }},
    {"duplicate", [](const char* k, std::string_view v,
                     DevArgs& a) noexcept { return parse_rate(k, v, a.duplicate_ppm); }},
    {"reorder",
     [](const char* k, std::string_view v, DevArgs& a) noexcept { return parse_rate(k, v, a.reorder_ppm); }},
    {"corrupt",
     [](const char* k, std::string_view v, DevArgs& a) noexcept { return parse_rate(k, v, a.corrupt_ppm); }},
    {"delay", [](const char* k, std::string_view v,
                 DevArgs& a) noexcept { return parse_number(k, v, 0u, longest_delay_us, a.delay_us); }},
    {"fault_seed",
     [](const char* k, std::string_view v, DevArgs& a) noexcept {
       return parse_number(k, v, std::uint64_t{0}, UINT64_MAX, a.fault_seed);
     }},
    {"link_speed",
     [](const char* k, std::string_view v, DevArgs& a) noexcept {
       return parse_number(k, v, slowest_mbps, fastest_mbps, a.link_mbps);
     }},
    {"responder",
     [](const char* k, std::string_view v, DevArgs& a) noexcept {
       return parse_number(k, v, std::uint8_t{0}, std::uint8_t{1}, a.responder);
     }},
};

constexpr std::size_t find(std::string_view key) noexcept {
  for (std::size_t i = 0; i < std::size(arguments); ++i)
    if (key == arguments[i].key) return i;
  return std::size(arguments);
}

}  // namespace

Result<DevArgs> DevArgs::parse(std::string_view text) noexcept {
  DevArgs args;
  std::uint32_t given = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);

    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::size_t i = find(key);
    if (i == std::size(arguments))
      return fail(EINVAL, "unknown argument \"%s\"; known: %s", Shown(key).text, known);
    if (equals == std::string_view::npos || equals + 1 == pair.size())
      return fail(EINVAL, "%s has no value; known: %s", arguments[i].key, known);
    if (given & 1u << i) return fail(EINVAL, "%s is given twice", arguments[i].key);
    given |= 1u << i;
    if (Result<> parsed = arguments[i].parse(arguments[i].key, pair.substr(equals + 1), args); !parsed)
      return fail(parsed.error());
  }

  if (given & 1u << find("ibdev")) {
    // A card has a wire, capabilities and faults of its own.
    for (std::size_t i = 0; i < std::size(arguments); ++i) {
      if (given & 1u << i && i != find("ibdev") && i != find("mac"))
        return fail(EINVAL, "%s is for the embedded software HCA; it can't go with ibdev=%s",
                    arguments[i].key, args.ibdev);
    }
  }
  return args;
}

hca::OpenOptions DevArgs::options(const char* name, std::uint32_t mac_seed) const noexcept {
  hca::OpenOptions options;
  options.name = name;
  options.ibdev = *ibdev ? ibdev : nullptr;
  options.wire = wire;
  options.profile = *profile ? profile : nullptr;
  options.model_thread = model_thread;
  options.model_cpu = model_cpu;
  options.mac_seed = mac_seed;
  options.loss_ppm = loss_ppm;
  options.duplicate_ppm = duplicate_ppm;
  options.reorder_ppm = reorder_ppm;
  options.corrupt_ppm = corrupt_ppm;
  options.delay_us = delay_us;
  options.fault_seed = fault_seed;
  options.link_mbps = link_mbps;
  options.responder = responder != 0;
  return options;
}

}  // namespace chime::net
