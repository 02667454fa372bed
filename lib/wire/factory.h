// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <type_traits>

#include "base/array.h"
#include "base/error.h"
#include "model/clock.h"
#include "model/wire.h"
#include "wire/faults.h"
#include "wire/neighbour_answers.h"
#include "wire/statistics.h"

/// @file
/// Makes the wires of a process's model ports: looped back, cabled to another model port, or bound to any
/// ethdev.

namespace chime::wire {

/// Runs control work on a wire between two steps of the HCA that it is plugged into: model::Loop::call, seen
/// from here. Wires with the same executor are stepped by the same thread.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `function(argument)` and returns when it is done. Callable from any thread, also the stepping one.
  virtual void call(void (*function)(void*), void* argument) noexcept = 0;

  /// call() for any callable.
  template <class F>
  void run(F&& f) noexcept {
    call([](void* p) { (*static_cast<std::remove_reference_t<F>*>(p))(); }, &f);
  }
};

struct WireSpec {
  const char* port_name = "";  ///< whose wire it is: the name of the model's port ("net_chime0")
  const char* wire = "loop";   ///< "loop", "cable:NAME", "tap:INTERFACE", or the name of an ethdev
  FaultSpec faults = {};
  bool responder = false;       ///< answers ARP and neighbour discovery: Port::answer_for()
  std::uint32_t link_mbps = 0;  ///< announced as the link's speed; 0: the wire's own. Nothing paces frames
};

/// A wire as the factory makes it. The functions of model::Wire are called by the thread that steps the HCA;
/// those declared here from any. To be destroyed when nobody steps the HCA any more.
///
/// plug() calls wire_changed() of the port that it is given. deliver() must not transmit on the wire that it
/// came from: answers go out later in the step.
///
/// An ethdev may go away by hotplug: the link goes down, frames are dropped and counted, and when a port of
/// that name appears again it is taken into use again. As for any port, whoever removes it must see to it
/// that nobody is bursting on it, for drivers free their queues before RTE_ETH_EVENT_DESTROY is raised, and
/// nothing is raised earlier. end() is the way: when it has returned nobody touches the ethdev before
/// begin(). (A device that is pulled, RTE_ETH_EVENT_INTR_RMV, is let alone at once.)
class Port : public model::Wire {
 public:
  /// To be called when the port is started, before begin(): configures and starts the ethdev, if that has not
  /// happened yet, so that largest_frame() is final; its frames wait.
  /// @return ENODEV: there is no such ethdev; EBUSY: it has another owner; ELOOP: it leads back here; the
  /// text lists the ports there are. A loop or cable is always ready.
  virtual Result<> ready() noexcept = 0;
  /// Frames of the ethdev flow from now on, and the link is its. To be called when the HCA has places for
  /// them: a capture gives its frames at once. A loop or cable carries whenever it is plugged.
  virtual void begin() noexcept = 0;
  /// No frame of the ethdev flows any more, and it is not touched; the link stays as it was last seen.
  virtual void end() noexcept = 0;
  /// A file descriptor that is readable when frames have arrived; -1: none is, poll() has to be asked.
  virtual int descriptor() const noexcept { return -1; }
  virtual WireStatistics statistics() const noexcept = 0;
  virtual Result<> set_faults(const FaultSpec& faults) noexcept = 0;

  /// Whether somebody beside the wire answers for the port's addresses (WireSpec::responder).
  virtual bool answers() const noexcept { return false; }
  /// Replaces the addresses that are answered for; all-zero ones are nobody's. Can't fail when there are as
  /// many as the last time.
  virtual Result<> answer_for(std::span<const OwnAddress> addresses) noexcept {
    static_cast<void>(addresses);
    return {};
  }
};

/// One a process, which must outlive its wires. Thread-safe.
class Factory {
 public:
  static Result<Owned<Factory>> create() noexcept;
  ~Factory();
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

  /// An ethdev that exists is claimed now; for one that does not exist yet (EAL probes in the order of its
  /// command line) the name is remembered, and it is claimed when it appears. Neither is configured before
  /// Port::ready().
  /// @param spec     strings are copied
  /// @param executor of the HCA that the wire will be plugged into
  /// @param clock    times delays and looks at the link; executor and clock outlive the wire
  /// @return EINVAL: not a wire; EEXIST: the port has a wire already; EBUSY: a third end of a cable, an
  /// ethdev with another owner, or one that another port claimed; ELOOP: the port itself or a cycle of ports;
  /// ENOTSUP: cable between HCAs that different threads step
  Result<Owned<Port>> make(const WireSpec& spec, Executor& executor, model::Clock& clock) noexcept;

  /// Of the living wire of the port named; ENODEV when there is none.
  Result<WireStatistics> statistics(const char* port_name) const noexcept;
  /// Replaces what is wrong with it, restarting the generator from its seed. Takes effect before it returns.
  Result<> set_faults(const char* port_name, const FaultSpec& faults) noexcept;

  struct State;

 private:
  explicit Factory(Owned<State> state) noexcept;
  Owned<State> state_;
};

}  // namespace chime::wire
