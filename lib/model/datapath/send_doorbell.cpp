// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/send_doorbell.h"

#include <cstddef>

#include "prm/be.h"
#include "prm/doorbell.h"

namespace chime::model {

bool read_send_record(Hca::Card& card, DoorbellOwner owner, Buffer& record, std::uint16_t& posted) noexcept {
  const std::byte* const at = record.at(0, sizeof(prm::WqRecord));
  if (!at) {
    report(card, Fault::record_memory, owner.number, "%s 0x%x: the doorbell record is not host memory",
           owner.kind, owner.number);
    return false;
  }
  const auto* send = reinterpret_cast<const std::uint32_t*>(at + offsetof(prm::WqRecord, send));
  posted = static_cast<std::uint16_t>(prm::host_to_be(__atomic_load_n(send, __ATOMIC_ACQUIRE)));
  return true;
}

}  // namespace chime::model
