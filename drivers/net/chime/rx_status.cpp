// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include "cqe_ring.h"
#include "rx_burst.h"

namespace chime::net {

const std::uint32_t rx_supported_packet_types[] = {
    RTE_PTYPE_L2_ETHER,
    RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
    RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
    RTE_PTYPE_L4_TCP,
    RTE_PTYPE_L4_UDP,
    RTE_PTYPE_L4_FRAG,
    RTE_PTYPE_L4_NONFRAG,
    RTE_PTYPE_UNKNOWN,
};

std::uint32_t rx_queue_count(void* queue) noexcept {
  const RxQueue& q = *static_cast<const RxQueue*>(queue);
  return count_software_owned(q.cqes, q.log_size, q.cq_consumer);
}

int rx_descriptor_status(void* queue, std::uint16_t offset) noexcept {
  const RxQueue& q = *static_cast<const RxQueue*>(queue);
  if (offset >= q.size() << q.log_slots) return -EINVAL;
  if (offset >= q.posted - q.consumed) return RTE_ETH_RX_DESC_UNAVAIL;
  const std::uint32_t index = q.cq_consumer + offset;
  const unsigned op_own = load_op_own(q.cqes[index & (q.size() - 1)]);
  return is_software_owned(op_own, owner_parity(index, q.log_size)) ? RTE_ETH_RX_DESC_DONE
                                                                    : RTE_ETH_RX_DESC_AVAIL;
}

int rx_interrupt_arm(RxQueue& q) noexcept {
  if (q.arm.base == nullptr) return -ENOTSUP;
  const std::uint32_t word =
      prm::host_to_be(prm::cq_arm_word(q.arm_sequence, prm::cq_arm::any, q.cq_consumer));
  const std::uint64_t doorbell = std::uint64_t{prm::host_to_be(q.cqn)} << 32 | word;
  q.arm.ring(&q.cq_record->arm.raw, word, doorbell);
  return 0;
}

void rx_interrupt_served(RxQueue& q) noexcept {
  ++q.arm_sequence;
}

}  // namespace chime::net
