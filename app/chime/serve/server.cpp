// SPDX-License-Identifier: BSD-3-Clause
#include "server.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace chime::serve {
namespace {

/// How long a server sleeps that has nothing to do: messages and the frames of a TAP wire wake it, but
/// those of an ethdev and the card's timers are looked for. One that is quiet for longer leaves the CPU to
/// the guest, which shares it.
constexpr unsigned quiet_rounds = 64;
constexpr long short_nap_ns = 100'000, long_nap_ns = 500'000;

/// A server with work asks its control socket so seldom: a system call costs as much as a frame.
constexpr unsigned rounds_between_controls = 64;

}  // namespace

Result<Owned<Server>> Server::create(const std::vector<NicOptions>& nics, const std::string& control) {
  auto server = std::make_unique<Server>();
  auto wires = wire::Factory::create();
  if (!wires) return fail(wires.error());
  server->wires_ = std::move(*wires);
  for (NicOptions options : nics) {
    options.place = static_cast<unsigned>(server->nics_.size());
    auto nic = Nic::create(options, server->qtest_of(options), *server->wires_, *server);
    if (!nic) return fail(nic.error());
    server->nics_.push_back(std::move(*nic));
  }
  if (!control.empty()) {
    auto listening = Control::listen(control);
    if (!listening) return fail(listening.error());
    server->control_ = std::move(*listening);
  }
  return server;
}

/// @return none for a card that has other interrupts
Qtest* Server::qtest_of(const NicOptions& options) {
  if (options.qtest.empty()) return nullptr;
  Owned<Qtest>& qtest = qtests_[options.qtest];
  if (!qtest) qtest = std::make_unique<Qtest>(options.qtest);
  return qtest.get();
}

unsigned Server::round(int& status) {
  unsigned work = 0;
  for (const auto& nic : nics_) {
    auto served = nic->serve();
    if (served) {
      work += *served;
      continue;
    }
    std::fprintf(stderr, "%s: %s\n", nic->name().c_str(), served.error().text);
    if (served.error().errnum != EPIPE) status = 1;
  }
  for (const auto& [path, qtest] : qtests_) {
    if (auto flushed = qtest->flush(); !flushed && flushed.error().errnum != EPIPE) {
      std::fprintf(stderr, "interrupts: %s\n", flushed.error().text);
    }
  }
  return work;
}

void Server::serve_control() {
  if (!control_ || rounds_until_control_-- != 0) return;
  control_->serve(nics_, *wires_);
  rounds_until_control_ = rounds_between_controls;
}

int Server::run(const volatile bool& stop) {
  int status = 0;
  while (!stop && std::any_of(nics_.begin(), nics_.end(), [](const auto& nic) { return nic->connected(); })) {
    quiet_ = round(status) == 0 ? quiet_ + 1 : 0;
    if (quiet_ != 0) wait();
    serve_control();
  }
  return status;
}

void Server::wait() {
  std::vector<pollfd> wanted;
  for (const auto& nic : nics_) {
    if (!nic->connected()) continue;
    wanted.push_back({nic->fd(), nic->events(), 0});
    if (const int wire = nic->wire_descriptor(); wire >= 0) wanted.push_back({wire, POLLIN, 0});
  }
  const std::size_t controls = wanted.size();
  if (control_) {
    for (const int fd : control_->descriptors()) wanted.push_back({fd, POLLIN, 0});
  }
  const timespec nap{.tv_sec = 0, .tv_nsec = quiet_ < quiet_rounds ? short_nap_ns : long_nap_ns};
  if (ppoll(wanted.data(), wanted.size(), &nap, nullptr) <= 0) return;
  if (std::any_of(wanted.begin() + static_cast<std::ptrdiff_t>(controls), wanted.end(),
                  [](const pollfd& one) { return one.revents != 0; })) {
    rounds_until_control_ = 0;
  }
}

}  // namespace chime::serve
