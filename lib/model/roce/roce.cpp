// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/roce.h"

namespace chime::model {

unsigned Roce::run() noexcept {
  unsigned work = 0;
  if (shared_.timers.waiting() || shared_.busy.first()) {
    shared_.completions.begin_burst();
    shared_.keys.forget();
    shared_.timers.advance(shared_.completions.now(), [&](Qp& qp) {
      requester_.timeout(qp);
      ++work;
    });
  }
  const Qp* const last = shared_.busy.last();
  for (bool more = last != nullptr; more && shared_.busy.first();) {
    Qp& qp = *shared_.busy.first();
    more = &qp != last;
    shared_.sleep(qp);
    work += serve(qp);
  }
  shared_.outbox.flush();
  return work;
}

/// What the other end waits for goes first.
unsigned Roce::serve(Qp& qp) noexcept {
  return 1 + responder_.serve(qp) + requester_.serve(qp);
}

}  // namespace chime::model
