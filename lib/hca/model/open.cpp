// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/open.h"

#include <unistd.h>

#include <cstring>
#include <string_view>

namespace chime::hca::embedded {
namespace {

/// A compiled-in profile by its name, or else a file.
Result<model::Profile> profile_of(const OpenOptions& options) noexcept {
  if (!options.profile) return model::Profile::named(model::Profile::names()[0]);
  auto named = model::Profile::named(options.profile);
  if (named) return named;
  if (std::strchr(options.profile, '/') || access(options.profile, R_OK) == 0) {
    return model::Profile::load(options.profile);
  }
  return named;
}

/// Locally administered, "CH" and the seed.
MacAddress address_of(std::uint32_t seed) noexcept {
  return {0x02,
          'C',
          'H',
          static_cast<std::uint8_t>(seed >> 16),
          static_cast<std::uint8_t>(seed >> 8),
          static_cast<std::uint8_t>(seed)};
}

wire::FaultSpec faults_of(const OpenOptions& options) noexcept {
  wire::FaultSpec faults;
  faults.loss_ppm = options.loss_ppm;
  faults.duplicate_ppm = options.duplicate_ppm;
  faults.reorder_ppm = options.reorder_ppm;
  faults.corrupt_ppm = options.corrupt_ppm;
  faults.delay_us = options.delay_us;
  faults.seed = options.fault_seed;
  return faults;
}

}  // namespace

Result<Owned<Process>> Process::create() noexcept {
  auto wires = wire::Factory::create();
  if (!wires) return fail(wires.error());
  return make_owned<Process>("the process's embedded HCAs", std::move(*wires));
}

Result<Owned<Device>> Process::open(const OpenOptions& options) noexcept {
  auto profile = profile_of(options);
  if (!profile) return fail(profile.error());
  DeviceConfig config{
      .name = options.name,
      .profile = std::move(*profile),
      .wire = {.port_name = options.name,
               .wire = options.wire,
               .faults = faults_of(options),
               .responder = options.responder,
               .link_mbps = options.link_mbps},
      .mac = address_of(options.mac_seed),
      .shared = nullptr,
      .own = nullptr,
  };
  if (auto chosen = choose_loop(options, config); !chosen) return fail(chosen.error());
  auto device = EmbeddedDevice::open(std::move(config), *wires_);
  if (!device) return fail(device.error());
  return Owned<Device>(std::move(*device));
}

Result<> Process::choose_loop(const OpenOptions& options, DeviceConfig& config) noexcept {
  const std::string_view thread = options.model_thread ? options.model_thread : "shared";
  if (thread == "own") {
    auto own = SteppedLoop::create({.mode = model::LoopOptions::Mode::thread, .cpu = options.model_cpu});
    if (!own) return fail(own.error());
    config.own = std::move(*own);
    return {};
  }
  if (thread != "shared" && thread != "caller") {
    return fail(EINVAL, "model_thread=%s; there are shared (one for all), own, caller", options.model_thread);
  }
  auto shared = thread == "shared" ? shared_loop(options.model_cpu) : caller_loop();
  if (!shared) return fail(shared.error());
  config.shared = *shared;
  return {};
}

Result<SteppedLoop*> Process::shared_loop(int cpu) noexcept {
  const std::scoped_lock lock(mutex_);
  if (shared_ && cpu != -1 && cpu != shared_cpu_) {
    return fail(EINVAL,
                "model_cpu=%d: the one model thread of the process runs on %d already (-1: any); "
                "model_thread=own gives the port another",
                cpu, shared_cpu_);
  }
  if (!shared_) {
    auto made = SteppedLoop::create({.mode = model::LoopOptions::Mode::thread, .cpu = cpu});
    if (!made) return fail(made.error());
    shared_ = std::move(*made);
    shared_cpu_ = cpu;
  }
  return shared_.get();
}

Result<SteppedLoop*> Process::caller_loop() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!caller_) {
    auto made = SteppedLoop::create({.mode = model::LoopOptions::Mode::caller, .cpu = -1});
    if (!made) return fail(made.error());
    caller_ = std::move(*made);
  }
  return caller_.get();
}

unsigned Process::step() noexcept {
  SteppedLoop* caller;
  {
    const std::scoped_lock lock(mutex_);
    caller = caller_.get();
  }
  return caller ? caller->loop().step() : 0;
}

}  // namespace chime::hca::embedded
