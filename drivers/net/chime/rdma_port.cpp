// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rdma_api.h"
#include "rdma_error.h"

namespace chime::net {

Result<> check_no_handles(PortControl& port) noexcept {
  const PortsStay stay;
  const std::lock_guard lock(port.mutex);
  if (port.rdma && port.rdma->handles() != 0)
    return fail(EBUSY, "%u handles of the private API (workers, queue pairs, memory) live: free them first",
                port.rdma->handles());
  return {};
}

void end_rdma(PortControl& port) noexcept {
  const PortsStay stay;
  const std::lock_guard lock(port.mutex);
  port.rdma.reset();
}

Error in_secondary() noexcept {
  return Error::make(
      ENOTSUP,
      "the private API is the primary process's: memory keys and doorbells are of the process that "
      "opened the card");
}

Result<rdma::Session*> session_of(PortControl& port) noexcept {
  if (Result<> works = check_hca(port); !works) return fail(works.error());
  if (!port.rdma) {
    auto made = rdma::Session::create(*port.hca->device, port.hca->pd);
    if (!made) return fail(made.error());
    port.rdma = std::move(*made);
  }
  return port.rdma.get();
}

namespace {

std::uint32_t power(std::uint8_t log) noexcept {
  return 1u << std::min<unsigned>(log, 31);
}

rte_pmd_chime_rdma_capa describe(const rdma::Capabilities& c) noexcept {
  rte_pmd_chime_rdma_capa capa{};
  capa.operations = c.operations;
  capa.sizes = c.sizes;
  const rdma::AtomicSizes atomics = c.atomics();
  static_assert(sizeof capa.opcode_sizes == sizeof atomics.sizes);
  std::memcpy(capa.opcode_sizes, atomics.sizes, sizeof capa.opcode_sizes);
  capa.global = c.global();
  capa.endianness_mode = c.host_replies;
  capa.endianness_mode_1 = c.can_host_replies;
  capa.pci_fetch_add = c.pci_fetch_add;
  capa.pci_swap = c.pci_swap;
  capa.pci_compare_swap = c.pci_compare_swap;
  capa.largest_atomic = c.largest();
  capa.max_send_depth = capa.max_receive_depth = power(c.log_max_depth);
  capa.max_completions = power(std::min<std::uint8_t>(c.log_max_completions, 22));
  capa.max_queue_pairs = power(c.log_max_queue_pairs);
  capa.max_initiator_depth = power(std::min<std::uint8_t>(c.log_max_initiator_depth, 7));
  capa.max_responder_depth = power(std::min<std::uint8_t>(c.log_max_responder_depth, 7));
  capa.max_inline = c.max_ds > 2 ? (c.max_ds - 2u) * 16 - 4 : 0;
  capa.gids = c.gids;
  return capa;
}

}  // namespace

}  // namespace chime::net

using namespace chime;
using namespace chime::net;

extern "C" {

int rte_pmd_chime_rdma_capa_get(uint16_t port_id, rte_pmd_chime_rdma_capa* capa) {
  return answer(with_session(port_id, [&](rdma::Session& session) -> Result<> {
    *capa = describe(session.capabilities());
    return {};
  }));
}

int rte_pmd_chime_gid_get(uint16_t port_id, uint32_t index, uint8_t* gid, uint8_t* mac) {
  return answer(with_session(port_id, [&](rdma::Session& session) -> Result<> {
    auto own = session.device().port().gid(index);
    if (!own) return fail(own.error());
    std::copy(own->raw.begin(), own->raw.end(), gid);
    std::copy(own->mac.begin(), own->mac.end(), mac);
    return {};
  }));
}

int rte_pmd_chime_gid_add(uint16_t port_id, const uint8_t* address, size_t length) {
  if (address == nullptr) return refused(Error::make(EINVAL, "no address to add (NULL)"));
  auto place = with_session(port_id, [&](rdma::Session& session) -> Result<unsigned> {
    return session.device().port().add_address({address, length});
  });
  return place ? static_cast<int>(*place) : refused(place.error());
}

int rte_pmd_chime_write_is_atomic(uint16_t port_id, uint32_t qp_flags, uint64_t address, uint64_t length) {
  auto atomicity = with_session(port_id, [&](rdma::Session& session) -> Result<rdma::WriteAtomicity> {
    return rdma::write_atomicity(session.capabilities(), qp_flags & RTE_PMD_CHIME_QP_ATOMIC_WRITES, address,
                                 length);
  });
  if (!atomicity) return refused(atomicity.error());
  if (*atomicity != rdma::WriteAtomicity::atomic)
    refused(Error::make(EINVAL, "write of %llu bytes to %#llx: %s", static_cast<unsigned long long>(length),
                        static_cast<unsigned long long>(address), rdma::text_of(*atomicity)));
  return static_cast<int>(*atomicity);
}
}
