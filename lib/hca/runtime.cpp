// SPDX-License-Identifier: BSD-3-Clause
#include "hca/runtime.h"

#include <new>
#include <utility>

#include "hca/model/open.h"
#ifdef CHIME_VERBS
#include "hca/verbs/open.h"
#endif

namespace chime::hca {

/// What each backend keeps for the process.
struct Runtime::State {
  Owned<embedded::Process> embedded;
};

Runtime::Runtime(Owned<State> state) noexcept : state_(std::move(state)) {}
Runtime::~Runtime() = default;

Result<Owned<Runtime>> Runtime::create() noexcept {
  auto state = make_owned<State>("the HCA runtime");
  if (!state) return fail(state.error());
  auto process = embedded::Process::create();
  if (!process) return fail(process.error());
  (*state)->embedded = std::move(*process);
  Owned<Runtime> runtime(new (std::nothrow) Runtime(std::move(*state)));
  if (!runtime) return fail(ENOMEM, "no memory for the HCA runtime");
  return runtime;
}

#ifndef CHIME_VERBS
namespace verbs {
Result<Owned<Device>> open(const char* ibdev) noexcept {
  return fail(
      ENOTSUP,
      "ibdev=%s: this build opens no hardware: it was made without rdma-core (install libibverbs-dev, "
      "and build anew with -Dverbs=enabled)",
      ibdev);
}
}  // namespace verbs
#endif

Result<Owned<Device>> Runtime::open(const OpenOptions& options) noexcept {
  return options.ibdev ? verbs::open(options.ibdev) : state_->embedded->open(options);
}

unsigned Runtime::step() noexcept {
  return state_->embedded->step();
}

}  // namespace chime::hca
