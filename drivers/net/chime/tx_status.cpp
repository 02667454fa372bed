// SPDX-License-Identifier: BSD-3-Clause
#include <rte_errno.h>

#include <cerrno>

#include "tx_burst.h"
#include "tx_complete.h"
#include "tx_wqe.h"

namespace chime::net {

std::uint16_t tx_prepare(void* queue, rte_mbuf** packets, std::uint16_t count_wanted) noexcept {
  const TxQueue& q = *static_cast<const TxQueue*>(queue);
  for (std::uint16_t i = 0; i < count_wanted; ++i) {
    const rte_mbuf& packet = *packets[i];
    const std::uint64_t l4 = packet.ol_flags & RTE_MBUF_F_TX_L4_MASK;
    constexpr std::uint64_t unsupported = RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_QINQ |
                                          RTE_MBUF_F_TX_OUTER_UDP_CKSUM | RTE_MBUF_F_TX_SEC_OFFLOAD |
                                          RTE_MBUF_F_TX_MACSEC;
    // Kind 0 is no tunnel.
    const bool unknown_tunnel = ((q.tunnels | 1u) & tx_tunnel_bit(packet.ol_flags)) == 0;
    const bool no_segments = (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && q.max_large_send == 0;
    if ((packet.ol_flags & unsupported) != 0 || l4 == RTE_MBUF_F_TX_SCTP_CKSUM || unknown_tunnel ||
        no_segments) {
      rte_errno = ENOTSUP;
      return i;
    }
    if (tx_plan(q, packet).drop != nullptr) {
      rte_errno = EINVAL;
      return i;
    }
  }
  return count_wanted;
}

int tx_descriptor_status(void* queue, std::uint16_t offset) noexcept {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (offset >= q.size()) return -EINVAL;
  if (q.health.stage.load(std::memory_order_acquire) != Health::good || !tx_read_completions(q))
    return RTE_ETH_TX_DESC_UNAVAIL;
  return offset < q.size() - (q.produced - q.completed) ? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;
}

int tx_done_cleanup(void* queue, std::uint32_t most) noexcept {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (q.health.stage.load(std::memory_order_acquire) != Health::good || !tx_read_completions(q)) return 0;
  const std::uint32_t wanted = most == 0 ? q.size() : most;
  int packets = 0;
  while (q.freed != q.completed && static_cast<std::uint32_t>(packets) < wanted) {
    rte_mbuf*& slot = q.mbufs[q.freed++ & (q.size() - 1)];
    if (slot == nullptr) continue;  // a further block of the packet before
    rte_pktmbuf_free(slot);
    slot = nullptr;
    ++packets;
  }
  return packets;
}

}  // namespace chime::net
