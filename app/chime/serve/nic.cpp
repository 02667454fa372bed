// SPDX-License-Identifier: BSD-3-Clause
#include "nic.h"

#include <charconv>
#include <cstdio>
#include <sstream>

#include "proxy_device.h"
#include "vfio_device.h"

namespace chime::serve {
namespace {

Result<std::uint64_t> parse_mac(const std::string& text) {
  std::uint64_t mac = 0;
  unsigned bytes = 0;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ':'); ++bytes) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (error != std::errc() || end != part.data() + part.size() || value > 0xff || part.size() > 2) break;
    mac = mac << 8 | value;
  }
  if (bytes != 6 || text.size() > sizeof "00:00:00:00:00:00" - 1 || text.back() == ':' || mac == 0 ||
      (mac >> 40 & 1)) {
    return fail(EINVAL, "mac=%s is no unicast address such as 02:00:00:00:00:01", text.c_str());
  }
  return mac;
}

Result<model::Profile> profile_of(const std::string& name) {
  if (name.empty()) return model::Profile::named(model::Profile::names()[0]);
  if (name.find('/') != std::string::npos) return model::Profile::load(name.c_str());
  return model::Profile::named(name);
}

const char* word(model::Severity severity) noexcept {
  switch (severity) {
    case model::Severity::note:
      return "note";
    case model::Severity::refusal:
      return "refused";
    case model::Severity::error:
      return "error";
  }
  return "";
}

}  // namespace

Result<NicOptions> NicOptions::parse(const std::string& text) {
  NicOptions options;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (value.empty()) return fail(EINVAL, "--nic %s: '%s' has no value", text.c_str(), key.c_str());
    if (key == "name") {
      options.name = value;
    } else if (key == "vfio-user") {
      options.vfio_user = value;
    } else if (key == "fd") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.fd);
      if (error != std::errc() || end != value.data() + value.size() || options.fd < 0) {
        return fail(EINVAL, "--nic fd=%s is no file descriptor", value.c_str());
      }
    } else if (key == "qtest") {
      options.qtest = value;
    } else if (key == "wire") {
      options.wire = value;
    } else if (key == "profile") {
      options.profile = value;
    } else if (key == "mac") {
      auto mac = parse_mac(value);
      if (!mac) return fail(mac.error());
      options.mac = *mac;
    } else {
      return fail(EINVAL, "--nic %s=: unknown; there are name, vfio-user, fd, qtest, wire, profile, mac",
                  key.c_str());
    }
  }
  const bool proxy = options.fd >= 0 && !options.qtest.empty();
  const bool vfio = !options.vfio_user.empty() && options.fd < 0 && options.qtest.empty();
  if (options.name.empty() || proxy == vfio) {
    return fail(EINVAL, "--nic %s: name and either vfio-user, or fd and qtest, are needed", text.c_str());
  }
  return options;
}

void FindingsToStderr::report(const model::Finding& finding) noexcept {
  if (finding.severity == model::Severity::error) ++errors_;
  std::fprintf(stderr, "%s: %s %s: %s\n", name_.c_str(), word(finding.severity), finding.rule, finding.text);
}

Result<Owned<Nic>> Nic::create(const NicOptions& options, Qtest* qtest, wire::Factory& wires,
                               wire::Executor& executor) {
  auto nic = std::make_unique<Nic>(options, qtest);
  auto profile = profile_of(options.profile);
  if (!profile) return fail(profile.error().within("%s", options.name.c_str()));
  nic->profile_ = std::move(*profile);
  std::uint64_t& mac = nic->profile_.identity.base_mac;
  mac = options.mac != 0 ? options.mac : mac + options.place;
  const wire::WireSpec spec{.port_name = nic->options_.name.c_str(), .wire = nic->options_.wire.c_str()};
  auto wire = wires.make(spec, executor, nic->clock_);
  if (!wire) return fail(wire.error().within("%s", options.name.c_str()));
  nic->wire_ = std::move(*wire);
  if (auto ready = nic->wire_->ready(); !ready) return fail(ready.error().within("%s", options.name.c_str()));
  model::pci::MessageTarget* interrupts = &nic->vectors_;
  if (qtest) interrupts = qtest;
  auto function = model::pci::Function::create(
      nic->profile_, {nic->memory_, *interrupts, *nic->wire_, nic->clock_, nic->findings_});
  if (!function) return fail(function.error().within("%s", options.name.c_str()));
  nic->function_ = std::move(*function);
  nic->wire_->begin();
  if (auto connected = nic->connect(); !connected)
    return fail(connected.error().within("%s", options.name.c_str()));
  return nic;
}

Result<> Nic::connect() {
  if (qtest_) {
    device_ = std::make_unique<ProxyDevice>(FileDescriptor(options_.fd), *function_, memory_);
    return {};
  }
  auto listener = Listener::listen(options_.vfio_user);
  if (!listener) return fail(listener.error());
  device_ = std::make_unique<VfioDevice>(std::move(*listener), *function_, memory_, vectors_, findings_);
  return {};
}

Result<unsigned> Nic::serve() noexcept {
  unsigned work = 0;
  if (device_) {
    auto served = device_->serve();
    if (!served) {
      device_.reset();
      // The guest is gone, and its memory with it.
      function_->reset();
      memory_.clear();
      vectors_.take_all();
      return fail(served.error());
    }
    work = *served;
  }
  return work + function_->step();
}

}  // namespace chime::serve
