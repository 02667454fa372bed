// SPDX-License-Identifier: BSD-3-Clause
#include "port_hca.h"

#include "hca/port.h"
#include "hca/receive_path.h"
#include "keep.h"

namespace chime::net {

Result<Owned<PortHca>> PortHca::open(hca::Runtime& runtime, const DevArgs& args, const char* name,
                                     std::uint16_t port_id) noexcept {
  Result<Owned<PortHca>> made = make_owned<PortHca>("the port's HCA");
  if (!made) return made;
  PortHca& p = **made;

  Result<> done = keep(p.device, runtime.open(args.options(name, port_id)));
  if (done) done = keep(p.limits, Limits::query(*p.device));
  if (done && args.mac) done = p.device->port().set_mac(*args.mac);
  if (done) done = keep(p.pd, hca::alloc_pd(*p.device));
  if (done) done = keep(p.transport_domain, hca::alloc_transport_domain(*p.device));
  if (done) done = keep(p.tis, hca::create_tis(*p.device, p.transport_domain.number()));
  if (done) done = keep(p.q_counter, hca::alloc_q_counter(*p.device));
  if (done) done = keep(p.cq_uar, p.device->alloc_uar());
  if (done) done = keep(p.memory, hca::MemoryMap::create(*p.device, p.pd));
  if (!done) return fail(done.error());
  return made;
}

}  // namespace chime::net
