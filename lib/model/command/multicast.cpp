// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/multicast.h"

#include "model/command/gid.h"
#include "model/command/handlers.h"

/// @file
/// Which queue pairs get the datagrams of a multicast group.

namespace chime::model {
namespace {

using Caps = prm::cmd_hca_cap;

}  // namespace

void attach_to_mcg(Command& c, In<prm::attach_to_mcg> in, Out<prm::attach_to_mcg>) noexcept {
  Qp* const qp = c.find(c.card.qps, in.get(prm::attach_to_mcg_in::qpn));
  if (!qp) return;
  if (qp->service != QpService::ud) {
    return c.refuse(Rule::multicast_service, qp->number,
                    "QP %#x is of service %s; groups are of UD queue pairs", qp->number, name(qp->service));
  }
  const GidBytes group = read_gid(in, prm::attach_to_mcg_in::multicast_gid);
  if (!is_multicast(group)) {
    return c.refuse(
        Rule::multicast_gid, qp->number,
        "multicast_gid begins with %02x%02x; a group's is ff00::/8, or 224.0.0.0/4 as ::ffff:a.b.c.d",
        group[0], group[1]);
  }
  MulticastGroups& groups = c.card.multicast;
  if (groups.has(group, *qp)) {
    return c.refuse(Rule::multicast_member, qp->number, "QP %#x is in that group already", qp->number);
  }
  const auto caps = c.card.capabilities.general();
  const std::uint32_t members = groups.members(group);
  if (members == caps.get(Caps::max_qp_mcg)) {
    return c.refuse(Rule::multicast_full, qp->number,
                    "the group has %u members, the card's most (max_qp_mcg)", members);
  }
  if (members == 0 && groups.groups() >> caps.get(Caps::log_max_mcg) != 0) {
    return c.refuse(Rule::multicast_full, qp->number, "there are %u groups, the card's most (log_max_mcg)",
                    groups.groups());
  }
  c.good(groups.attach(group, *qp), "a multicast group");
}

void detach_from_mcg(Command& c, In<prm::detach_from_mcg> in, Out<prm::detach_from_mcg>) noexcept {
  Qp* const qp = c.find(c.card.qps, in.get(prm::detach_from_mcg_in::qpn));
  if (!qp) return;
  if (!c.card.multicast.detach(read_gid(in, prm::detach_from_mcg_in::multicast_gid), *qp)) {
    c.refuse(Rule::multicast_member, qp->number, "QP %#x is not in that group", qp->number);
  }
}

}  // namespace chime::model
