// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/netdev.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "hca/verbs/failure.h"

namespace chime::hca::verbs {
namespace {

/// A request about one link, with room for one attribute.
struct Request {
  nlmsghdr header;
  ifinfomsg link;
  std::array<std::byte, 64> attributes;
};

Request make_request(std::uint16_t type, unsigned index) noexcept {
  Request request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.link);
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.header.nlmsg_seq = 1;
  request.link.ifi_family = AF_UNSPEC;
  request.link.ifi_index = static_cast<int>(index);
  return request;
}

void add_attribute(Request& request, std::uint16_t type, std::uint32_t value) noexcept {
  auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<std::byte*>(&request) +
                                              NLMSG_ALIGN(request.header.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = RTA_LENGTH(sizeof value);
  std::memcpy(RTA_DATA(attribute), &value, sizeof value);
  request.header.nlmsg_len = NLMSG_ALIGN(request.header.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

Result<FileDescriptor> open_socket(int more_flags, std::uint32_t groups) noexcept {
  FileDescriptor socket_file(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | more_flags, NETLINK_ROUTE));
  if (!socket_file) return fail(call_failure("rtnetlink socket", errno));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (bind(socket_file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(call_failure("rtnetlink: bind", errno));
  }
  return socket_file;
}

NetdevState parse(const nlmsghdr& message) noexcept {
  NetdevState state{};
  const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(&message));
  state.flags = link->ifi_flags;
  auto left = static_cast<int>(message.nlmsg_len - NLMSG_LENGTH(sizeof *link));
  const auto* attribute = reinterpret_cast<const rtattr*>(reinterpret_cast<const std::byte*>(&message) +
                                                          NLMSG_SPACE(sizeof *link));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    const void* data = RTA_DATA(attribute);
    const std::size_t size = RTA_PAYLOAD(attribute);
    const auto copy_to = [&](auto& field) { std::memcpy(&field, data, std::min(size, sizeof field)); };
    switch (attribute->rta_type) {
      case IFLA_IFNAME:
        copy_to(state.name);
        state.name[sizeof state.name - 1] = '\0';
        break;
      case IFLA_MTU:
        copy_to(state.mtu);
        break;
      case IFLA_MAX_MTU:
        copy_to(state.max_mtu);
        break;
      case IFLA_ADDRESS:
        copy_to(state.mac);
        break;
      default:
        break;
    }
  }
  return state;
}

/// Sends it and waits for the answer. @param state what the answer says of the link, where it is asked for
Result<> exchange(const Request& request, NetdevState* state) noexcept {
  auto socket_file = open_socket(0, 0);
  if (!socket_file) return fail(socket_file.error());
  if (send(socket_file->get(), &request, request.header.nlmsg_len, 0) < 0) {
    return fail(call_failure("rtnetlink: send", errno));
  }
  alignas(nlmsghdr) std::array<std::byte, 32768> buffer;
  for (;;) {
    const ssize_t got = recv(socket_file->get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(call_failure("rtnetlink: recv", errno));
    auto left = static_cast<std::uint32_t>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == RTM_NEWLINK && state) *state = parse(*message);
      if (message->nlmsg_type != NLMSG_ERROR) continue;
      const int error = static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error;
      if (error != 0) return fail(call_failure("rtnetlink", error));
      return {};
    }
  }
}

}  // namespace

Result<NetdevState> Netdev::state() const noexcept {
  NetdevState state{};
  if (auto done = exchange(make_request(RTM_GETLINK, index_), &state); !done) {
    if (done.error().errnum == ENODEV) {
      return fail(
          ENODEV,
          "netdev %u has gone, or is in another network namespace by now; `ip link set NAME netns PID` "
          "in that one brings it back",
          index_);
    }
    return fail(done.error().within("netdev %u", index_));
  }
  return state;
}

Result<> Netdev::set_mtu(std::uint32_t mtu) const noexcept {
  Request request = make_request(RTM_NEWLINK, index_);
  add_attribute(request, IFLA_MTU, mtu);
  auto done = exchange(request, nullptr);
  if (!done) return fail(done.error().within("MTU %u of netdev %u", mtu, index_));
  return done;
}

Result<> Netdev::set_up(bool up) const noexcept {
  Request request = make_request(RTM_NEWLINK, index_);
  request.link.ifi_change = IFF_UP;
  request.link.ifi_flags = up ? IFF_UP : 0;
  auto done = exchange(request, nullptr);
  if (!done) return fail(done.error().within("netdev %u %s", index_, up ? "up" : "down"));
  return done;
}

Result<FileDescriptor> Netdev::watch() noexcept {
  return open_socket(SOCK_NONBLOCK, RTMGRP_LINK);
}

void Netdev::drain(const FileDescriptor& watch) noexcept {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const ssize_t got = recv(watch.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    // ENOBUFS says that messages were lost: whoever drains looks at the state anyway.
    const bool more = got > 0 || (got < 0 && (errno == ENOBUFS || errno == EINTR));
    if (!more) return;
  }
}

}  // namespace chime::hca::verbs
