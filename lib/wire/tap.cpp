// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tap.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace chime::wire {

namespace {

/// struct virtio_net_hdr of linux/virtio_net.h, which is no C++; host order on a TAP interface.
struct VnetHeader {
  std::uint8_t flags;
  std::uint8_t gso_type;
  std::uint16_t hdr_len;  ///< bytes in front of the payload
  std::uint16_t gso_size;
  std::uint16_t csum_start;
  std::uint16_t csum_offset;  ///< from csum_start
};
static_assert(sizeof(VnetHeader) == 10);
constexpr std::uint8_t hdr_needs_csum = 1, hdr_gso_tcpv4 = 1, hdr_gso_tcpv6 = 4;

constexpr std::uint16_t tcp_checksum = 16;
constexpr unsigned most_pieces = 512;  // of one frame; a large send of the card has 187 at most

VnetHeader header_of(const model::Frame& frame) noexcept {
  VnetHeader header{};
  const model::Cut& cut = frame.cut;
  if (cut.payload == 0) return header;
  header.flags = hdr_needs_csum;
  header.gso_type = cut.ipv6 ? hdr_gso_tcpv6 : hdr_gso_tcpv4;
  header.hdr_len = cut.headers;
  header.gso_size = cut.payload;
  header.csum_start = cut.tcp;
  header.csum_offset = tcp_checksum;
  return header;
}

Result<> refused(const char* port, const char* interface, int error) noexcept {
  switch (error) {
    case EPERM:
      return fail(EPERM, "%s: wire=tap:%s needs the right to make network interfaces (CAP_NET_ADMIN)", port,
                  interface);
    case EBUSY:
      return fail(EBUSY, "%s: wire=tap:%s: another process has this interface; another name makes another",
                  port, interface);
    case EINVAL:
      return fail(EINVAL,
                  "%s: wire=tap:%s: there is an interface of this name that is no TAP interface, or one of "
                  "many queues",
                  port, interface);
    default:
      return fail(error, "%s: wire=tap:%s: %s", port, interface, std::strerror(error));
  }
}

Result<> set_up(const char* port, const char* interface) noexcept {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  if (!socket || ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return refused(port, interface, errno);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return refused(port, interface, errno);
  return {};
}

}  // namespace

Result<Owned<BareWire>> TapWire::make(const char* port_name, const char* interface) noexcept {
  constexpr std::size_t longest = IFNAMSIZ - 1;
  if (*interface == '\0' || std::strlen(interface) > longest || std::strpbrk(interface, "/ %")) {
    return fail(EINVAL, "%s: wire=tap:%s: a network interface has a name of 1 to %zu characters", port_name,
                interface, longest);
  }
  FileDescriptor device(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!device) {
    const int error = errno;
    return fail(error, "%s: wire=tap:%s: /dev/net/tun: %s; modprobe tun may help", port_name, interface,
                std::strerror(error));
  }
  ifreq request{};
  std::strncpy(request.ifr_name, interface, longest);
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  const int header = sizeof(VnetHeader);
  // What arrives is whole: cut, and with its checksums.
  constexpr unsigned long nothing_left_to_do = 0;
  if (ioctl(device.get(), TUNSETIFF, &request) != 0 || ioctl(device.get(), TUNSETVNETHDRSZ, &header) != 0 ||
      ioctl(device.get(), TUNSETOFFLOAD, nothing_left_to_do) != 0) {
    return fail(refused(port_name, interface, errno).error());
  }
  if (auto up = set_up(port_name, interface); !up) return fail(up.error());
  auto arrived = Array<std::byte>::make(std::size_t{batch} * largest, "a batch of frames of a TAP interface");
  if (!arrived) return fail(arrived.error());
  auto wire = make_owned<TapWire>("a TAP wire", std::move(device), std::move(*arrived));
  if (!wire) return fail(wire.error());
  return Owned<BareWire>(std::move(*wire));
}

void TapWire::plug(model::WirePort* port) noexcept {
  port_ = port;
  if (port_) port_->wire_changed();
}

void TapWire::transmit(std::span<const model::Frame> frames) noexcept {
  if (gone_) {
    counters_.tx_dropped.gone.add(frames.size());
    return;
  }
  for (const model::Frame& frame : frames) send(frame);
}

void TapWire::send(const model::Frame& frame) noexcept {
  if ((frame.cut.payload == 0 && frame.length > largest) || frame.segment_count >= most_pieces) {
    counters_.tx_dropped.too_long.add(1);
    return;
  }
  VnetHeader header = header_of(frame);
  std::array<iovec, most_pieces> pieces;
  pieces[0] = {&header, sizeof header};
  for (std::uint32_t i = 0; i < frame.segment_count; ++i) {
    const model::Segment& segment = frame.segments[i];
    pieces[i + 1] = {const_cast<std::byte*>(segment.data), segment.length};
  }
  if (writev(device_.get(), pieces.data(), static_cast<int>(frame.segment_count + 1)) >= 0) {
    counters_.tx_frames.add(1);
    counters_.tx_bytes.add(frame.length);
    return;
  }
  switch (errno) {
    case EIO:
      counters_.tx_dropped.link_down.add(1);  // ip link set ... down
      break;
    case EBADFD:
      counters_.tx_dropped.gone.add(1);
      interface_is_gone();
      break;
    default:
      counters_.tx_dropped.no_buffer.add(1);
      break;
  }
}

unsigned TapWire::poll(unsigned budget) noexcept {
  if (!begun_.load(std::memory_order_relaxed) || gone_) return 0;
  unsigned done = 0;
  for (bool more = true; more && done < budget;) {
    std::array<model::Frame, batch> frames;
    std::array<model::Segment, batch> segments;
    unsigned count = 0;
    std::uint64_t bytes = 0;
    while (count < batch && done + count < budget) {
      std::byte* const to = arrived_.data() + std::size_t{count} * largest;
      const std::uint32_t length = receive(to);
      if (length == 0) {
        more = false;
        break;
      }
      segments[count] = {to, length};
      frames[count] = {&segments[count], 1, length};
      bytes += length;
      ++count;
    }
    if (count == 0) break;
    done += count;
    if (!port_) {
      counters_.rx_dropped.no_port.add(count);
      continue;
    }
    counters_.rx_frames.add(count);
    counters_.rx_bytes.add(bytes);
    port_->deliver({frames.data(), count});
  }
  return done;
}

std::uint32_t TapWire::receive(std::byte* to) noexcept {
  VnetHeader header;
  std::byte excess;  // a frame that reaches here is cut off by the kernel
  iovec pieces[] = {{&header, sizeof header}, {to, largest}, {&excess, 1}};
  for (;;) {
    const ssize_t n = readv(device_.get(), pieces, 3);
    if (n > static_cast<ssize_t>(sizeof header)) {
      const auto length = static_cast<std::uint32_t>(n) - std::uint32_t{sizeof header};
      if (length <= largest) return length;
      counters_.rx_dropped.too_long.add(1);
      continue;
    }
    if (n < 0 && errno == EBADFD) interface_is_gone();
    return 0;
  }
}

void TapWire::interface_is_gone() noexcept {
  if (gone_) return;
  gone_ = true;
  if (port_) port_->wire_changed();
}

}  // namespace chime::wire
