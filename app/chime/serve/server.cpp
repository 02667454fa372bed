// SPDX-License-Identifier: BSD-3-Clause
#include "server.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace chime::serve {
namespace {

/// How long an idle server sleeps: wires are polled, and tell nobody of a frame.
constexpr timespec nap{.tv_sec = 0, .tv_nsec = 100'000};

}  // namespace

Result<Owned<Server>> Server::create(const std::vector<NicOptions>& nics, const std::string& control) {
  auto server = std::make_unique<Server>();
  auto wires = wire::Factory::create();
  if (!wires) return fail(wires.error());
  server->wires_ = std::move(*wires);
  for (const NicOptions& options : nics) {
    Owned<Qtest>& qtest = server->qtests_[options.qtest];
    if (!qtest) qtest = std::make_unique<Qtest>(options.qtest);
    auto nic = Nic::create(options, *qtest, *server->wires_, *server);
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
  if (control_) work += control_->serve(nics_, *wires_);
  return work;
}

int Server::run(const volatile bool& stop) {
  int status = 0;
  while (!stop && std::any_of(nics_.begin(), nics_.end(), [](const auto& nic) { return nic->connected(); })) {
    if (round(status) == 0) wait();
  }
  return status;
}

void Server::wait() const {
  std::vector<pollfd> wanted;
  for (const auto& nic : nics_) {
    if (nic->connected()) wanted.push_back({nic->fd(), POLLIN, 0});
  }
  if (control_) {
    for (const int fd : control_->descriptors()) wanted.push_back({fd, POLLIN, 0});
  }
  ppoll(wanted.data(), wanted.size(), &nap, nullptr);
}

}  // namespace chime::serve
