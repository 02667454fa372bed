// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/session.h"

#include <utility>

namespace chime::rdma {

Result<Owned<Session>> Session::create(hca::Device& device, const hca::Object& pd) noexcept {
  auto capabilities = Capabilities::query(device);
  if (!capabilities) return fail(capabilities.error());
  return make_owned<Session>("the port's RDMA session", device, pd, *capabilities);
}

template <class T>
Result<Held<T>*> Session::hold(Held<T>*& list, Result<Owned<T>> made) noexcept {
  if (!made) return fail(made.error());
  auto held = make_owned<Held<T>>("a handle");
  if (!held) return fail(held.error());
  Held<T>* h = held->release();
  h->object = std::move(*made);
  h->session = this;
  h->next = list;
  if (list != nullptr) list->previous = h;
  list = h;
  ++handles_;
  return h;
}

template <class T>
void Session::let_go(Held<T>*& list, Held<T>& held) noexcept {
  if (held.previous != nullptr)
    held.previous->next = held.next;
  else
    list = held.next;
  if (held.next != nullptr) held.next->previous = held.previous;
  held.next = held.previous = nullptr;
  held.session = nullptr;
  --handles_;
}

template <class T>
void Session::detach(Held<T>*& list) noexcept {
  while (list != nullptr) {
    Held<T>& held = *list;
    held.object->detach();
    let_go(list, held);
  }
}

void Session::detach() noexcept {
  // Users go first.
  detach(qps_);
  detach(memories_);
  detach(workers_);
}

Result<HeldWorker*> Session::make_worker(const WorkerControl::Config& config) noexcept {
  auto held = hold(workers_, WorkerControl::create(device_, capabilities_, keys_, config));
  if (held) (*held)->object->fast().handle = *held;
  return held;
}

Result<HeldQp*> Session::make_qp(HeldWorker& worker, const QpControl::Config& config) noexcept {
  auto held = hold(qps_, QpControl::create(device_, pd_, capabilities_, *worker.object, config));
  if (held) (*held)->object->fast().handle = *held;
  return held;
}

Result<HeldMemory*> Session::make_memory(void* address, std::size_t length, std::uint32_t rights) noexcept {
  return hold(memories_, Memory::create(device_, pd_, keys_, address, length, rights));
}

Result<HeldMemory*> Session::make_memory(rte_mempool& pool, std::uint32_t rights) noexcept {
  return hold(memories_, Memory::create(device_, pd_, keys_, pool, rights));
}

Result<> Session::free(HeldWorker* worker) noexcept {
  if (worker->object->users() != 0)
    return fail(EBUSY, "a worker that has %u queue pairs: destroy them first", worker->object->users());
  if (worker->session != nullptr) worker->session->let_go(worker->session->workers_, *worker);
  Owned<HeldWorker>(worker).reset();
  return {};
}

void Session::free(HeldQp* qp) noexcept {
  if (qp->session != nullptr) qp->session->let_go(qp->session->qps_, *qp);
  Owned<HeldQp>(qp).reset();
}

void Session::free(HeldMemory* memory) noexcept {
  if (memory->session != nullptr) memory->session->let_go(memory->session->memories_, *memory);
  Owned<HeldMemory>(memory).reset();
}

}  // namespace chime::rdma
