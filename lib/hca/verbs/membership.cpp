// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/membership.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "hca/verbs/failure.h"

namespace chime::hca::verbs {

int Membership::kind_of(const MacAddress& mac) noexcept {
  return mac[0] & 1 ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST;
}

Result<> Membership::open(unsigned netdev) noexcept {
  netdev_ = netdev;
  socket_ = FileDescriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));  // protocol 0: receives nothing
  if (socket_) return {};
  if (errno == EPERM) {
    return fail(EPERM,
                "a packet socket needs the capability CAP_NET_RAW: run as root, or `setcap "
                "cap_net_raw,cap_net_admin,cap_ipc_lock+ep PROGRAM`");
  }
  return fail(call_failure("packet socket", errno));
}

Result<> Membership::change(bool add, int kind, const MacAddress* mac) noexcept {
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(netdev_);
  membership.mr_type = static_cast<unsigned short>(kind);
  if (mac) {
    membership.mr_alen = static_cast<unsigned short>(mac->size());
    std::copy(mac->begin(), mac->end(), membership.mr_address);
  }
  const int option = add ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP;
  if (setsockopt(socket_.get(), SOL_PACKET, option, &membership, sizeof membership) == 0) return {};
  return fail(call_failure(add ? "PACKET_ADD_MEMBERSHIP" : "PACKET_DROP_MEMBERSHIP", errno)
                  .within("netdev %u", netdev_));
}

Result<> Membership::set_promiscuous(bool on) noexcept {
  return change(on, PACKET_MR_PROMISC, nullptr);
}

Result<> Membership::set_all_multicast(bool on) noexcept {
  return change(on, PACKET_MR_ALLMULTI, nullptr);
}

}  // namespace chime::hca::verbs
