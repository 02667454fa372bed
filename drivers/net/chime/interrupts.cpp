// SPDX-License-Identifier: BSD-3-Clause
#include "interrupts.h"

#include <rte_errno.h>

#include <optional>

#include "base/thread_sanitizer.h"
#include "keep.h"

namespace chime::net {

Result<> Interrupts::open(int change_fd, Callback callback, void* argument) noexcept {
  handle_.reset(rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE));
  if (!handle_) return fail(ENOMEM, "no memory for an interrupt handle");
  // EXT: the EAL leaves reading the descriptor to us.
  if (rte_intr_type_set(handle_.get(), RTE_INTR_HANDLE_EXT) || rte_intr_fd_set(handle_.get(), change_fd)) {
    handle_.reset();
    return fail(rte_errno, "interrupt handle: %s", rte_strerror(rte_errno));
  }
  handed_over(argument);
  if (const int error = rte_intr_callback_register(handle_.get(), callback, argument); error != 0) {
    handle_.reset();
    return fail(-error, "registering the link interrupt: %s", rte_strerror(-error));
  }
  callback_ = callback;
  argument_ = argument;
  return {};
}

void Interrupts::close() noexcept {
  disable_rx();
  if (!handle_) return;
  rte_intr_callback_unregister_sync(handle_.get(), callback_, argument_);
  taken_over(argument_);
  handle_.reset();
}

Result<> Interrupts::enable_rx(hca::Device& device, std::span<const hca::Object* const> cqs) noexcept {
  disable_rx();
  if (cqs.size() > RTE_MAX_RXTX_INTR_VEC_ID)
    return fail(EINVAL, "Rx interrupts for %zu queues; the EAL knows at most %d", cqs.size(),
                RTE_MAX_RXTX_INTR_VEC_ID);
  Result<> done = keep(rx_channels_, Array<Owned<hca::EventChannel>>::make(cqs.size(), "event channels"));
  for (std::size_t i = 0; done && i < cqs.size(); ++i) {
    done = keep(rx_channels_[i], device.create_event_channel());
    if (done) done = rx_channels_[i]->subscribe(*cqs[i], prm::event_type::completion, i);
  }
  const int count = static_cast<int>(cqs.size());
  if (done && rte_intr_vec_list_alloc(handle_.get(), "chime Rx vectors", count) != 0)
    done = fail(ENOMEM, "no memory for %d Rx interrupt vectors", count);
  for (int i = 0; done && i < count; ++i) {
    if (rte_intr_efds_index_set(handle_.get(), i, rx_channels_[static_cast<std::size_t>(i)]->fd()) != 0 ||
        rte_intr_vec_list_index_set(handle_.get(), i, RTE_INTR_VEC_RXTX_OFFSET + i) != 0)
      done = fail(rte_errno, "Rx interrupt vector %d: %s", i, rte_strerror(rte_errno));
  }
  if (done && rte_intr_nb_efd_set(handle_.get(), count) != 0)
    done = fail(rte_errno, "Rx interrupt vectors: %s", rte_strerror(rte_errno));
  if (!done) disable_rx();
  return done;
}

void Interrupts::disable_rx() noexcept {
  if (handle_) {
    rte_intr_free_epoll_fd(handle_.get());
    rte_intr_vec_list_free(handle_.get());
    rte_intr_nb_efd_set(handle_.get(), 0);
  }
  rx_channels_ = {};
}

Result<> Interrupts::drain_rx(std::uint16_t queue) noexcept {
  if (queue >= rx_channels_.size())
    return fail(ENOTSUP, "Rx queue %u has no interrupt; set intr_conf.rxq when the port is configured",
                queue);
  for (;;) {
    Result<std::optional<hca::Event>> event = rx_channels_[queue]->next();
    if (!event) return fail(event.error());
    if (!*event) return {};
  }
}

}  // namespace chime::net
