// SPDX-License-Identifier: BSD-3-Clause
#include "end_eal.h"

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <thread>

namespace chime::app {
namespace {

void close_ports(bool chime) noexcept {
  for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; ++port) {
    rte_eth_dev_info info;
    if (rte_eth_dev_is_valid_port(port) && rte_eth_dev_info_get(port, &info) == 0 &&
        (std::string_view(info.driver_name) == "net_chime") == chime)
      rte_eth_dev_close(port);
  }
}

/// The interrupt thread does nothing any more from here on: it stays in a callback. Not in one of an alarm,
/// whose end rte_eal_cleanup() waits for.
void hold_interrupts() noexcept {
  static std::atomic<bool> held{false};
  static rte_intr_handle* const handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  const auto hold = [](void*) {
    held = true;
    for (;;) pause();
  };
  if (handle == nullptr || rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) != 0 ||
      rte_intr_fd_set(handle, eventfd(1, EFD_CLOEXEC)) != 0 ||
      rte_intr_callback_register(handle, hold, nullptr) != 0)
    return;
  while (!held) std::this_thread::yield();
}

}  // namespace

void end_eal() noexcept {
  close_ports(true);  // before their wires, which may be older
  close_ports(false);
  hold_interrupts();
  rte_eal_cleanup();
}

}  // namespace chime::app
