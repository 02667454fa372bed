// SPDX-License-Identifier: BSD-3-Clause
#include "mtu.h"

#include "queue_ops.h"

namespace chime::net {

Result<> set_mtu(PortControl& port, std::uint16_t mtu) noexcept {
  const std::uint32_t most = port.shared.max_mtu;
  if (mtu < min_mtu || mtu > most) return fail(EINVAL, "MTU %u: not from %u to %u", mtu, min_mtu, most);
  // A stopped port may have its queues set up anew before it starts, which checks again.
  if (port.started()) {
    if (Result<> room = check_receive_buffers(port, mtu); !room) return room;
  }
  if (Result<> done = port.hca->device->port().set_mtu(mtu); !done) return done;
  for (std::uint16_t i = 0; i < port.dev.data->nb_tx_queues; ++i)
    if (port.tx[i]) port.tx[i]->set_max_frame(mtu + frame_overhead);
  return {};
}

}  // namespace chime::net
