// SPDX-License-Identifier: BSD-3-Clause
// A hostile QEMU at the other end of a card's socket. The input is a list of operations:
//
//     0 bytes  1 byte count, then these bytes as they are, with 0 to 2 descriptors of the memory
//     1 map    pieces of the memory at guest addresses, some of which make no sense
//     2 config 1 byte offset, 1 byte length and direction, 4 bytes of value
//     3 BAR    2 bytes offset in units of 4 in one of the places of interest, 1 byte size, 8 bytes of value
//     4 memory 2 bytes offset, 1 byte count, bytes: what software would write into guest memory
//     5 command: an entry of the command queue of these bytes is made the card's, and rung for
//     6 reset
//
// Wants no crash, no leak, nothing written outside the guest's memory, and an end of the connection with a
// reason for whatever makes no sense.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "model/profile.h"
#include "prm/layouts.h"
#include "prm/view.h"
#include "proxy_device.h"

namespace {

using namespace chime;
using serve::ProxyCommand;

constexpr std::size_t memory_size = 1 << 20;
constexpr std::uint32_t bar = 0xe0000000;
constexpr std::uint64_t queue = 0x10000;

class Wire final : public model::Wire {
 public:
  void plug(model::WirePort* port) noexcept override { port_ = port; }
  void transmit(std::span<const model::Frame> frames) noexcept override {
    if (port_) port_->deliver(frames);
  }
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return {true, 10'000}; }
  std::uint32_t largest_frame() const noexcept override { return 1518; }

 private:
  model::WirePort* port_ = nullptr;
};

struct Surroundings final : model::pci::MessageTarget, model::Clock, model::Diagnostics {
  void write(std::uint64_t, std::uint32_t) noexcept override {}
  std::uint64_t nanoseconds() noexcept override { return now += 1000; }
  void report(const model::Finding& finding) noexcept override {
    if (!finding.rule || !finding.text || !*finding.text) std::abort();
  }
  std::uint64_t now = 0;
};

struct Input {
  const std::uint8_t* at;
  std::size_t left;

  std::uint8_t byte() { return left ? (--left, *at++) : std::uint8_t{0}; }
  std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << i * 8;
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    count = std::min(count, left);
    const std::span taken(reinterpret_cast<const std::byte*>(at), count);
    at += count;
    left -= count;
    return taken;
  }
};

/// The guest's memory: the same file for all runs, emptied.
struct Memory {
  Memory() : file(memfd_create("guest", MFD_CLOEXEC)) {
    if (ftruncate(file, memory_size) != 0) std::abort();
    data = static_cast<std::byte*>(mmap(nullptr, memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (data == MAP_FAILED) std::abort();
  }
  int file;
  std::byte* data;
};

class Qemu {
 public:
  Qemu(int socket, Memory& memory) : socket_(socket), memory_(memory) {}
  ~Qemu() { ::close(socket_); }

  void send(std::span<const std::byte> bytes, unsigned descriptors = 0) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 2)]{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptors) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
      cmsghdr* const c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
      const int both[] = {memory_.file, memory_.file};
      std::memcpy(CMSG_DATA(c), both, sizeof(int) * descriptors);
    }
    (void)::sendmsg(socket_, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  template <class T>
  void send(ProxyCommand command, const T& payload, unsigned descriptors = 0) {
    struct {
      serve::ProxyHeader header;
      T payload;
    } message{{static_cast<std::int32_t>(command), 0, sizeof(T)}, payload};
    send(std::as_bytes(std::span(&message, 1)).first(sizeof message.header + sizeof(T)), descriptors);
  }
  void config(std::uint32_t offset, std::uint32_t value, std::int32_t length, bool write) {
    send(write ? ProxyCommand::config_write : ProxyCommand::config_read,
         serve::ProxyConfigAccess{offset, value, length});
  }
  void bar_write(std::uint64_t offset, std::uint64_t value, std::uint32_t size) {
    send(ProxyCommand::bar_write, serve::ProxyBarAccess{bar + offset, value, size, 1, {}});
  }
  void take_answers() {
    char answers[4096];
    while (::recv(socket_, answers, sizeof answers, MSG_DONTWAIT) > 0) continue;
  }

  /// What firmware and driver do first.
  void bring_up() {
    serve::ProxySysmem map{};
    map.size[0] = memory_size;
    send(ProxyCommand::sync_sysmem, map, 1);
    config(0x10, bar, 4, true);
    config(0x04, 6, 2, true);
    config(0x9e, 0x8000, 2, true);
    bar_write(0x14, __builtin_bswap32(queue), 4);
  }

  void map(Input& input) {
    serve::ProxySysmem map{};
    const unsigned pieces = input.byte() % 3;
    for (unsigned i = 0; i < pieces; ++i) {
      map.address[i] = input.number(2) << 12;
      map.size[i] = input.number(2) << 10;
      map.offset[i] = static_cast<std::int64_t>(static_cast<std::int8_t>(input.byte())) << 12;
    }
    send(ProxyCommand::sync_sysmem, map, pieces);
  }

  void access_bar(Input& input) {
    constexpr std::uint64_t places[] = {0, 0x1000, 0x8000, 0x9000, 0x10000, 0x20000, 0x1fff000, 0x2000000};
    const std::uint8_t how = input.byte();
    const std::uint64_t offset = places[how & 7] + input.number(2) % 0x1000;
    constexpr std::uint32_t sizes[] = {4, 8, 4, 8, 1, 2, 3, 16};
    const serve::ProxyBarAccess access{
        bar + offset, input.number(8), sizes[how >> 3 & 7], static_cast<std::uint8_t>(how != 0xff), {}};
    send(how >> 6 == 3 ? ProxyCommand::bar_read : ProxyCommand::bar_write, access);
  }

  void command(Input& input) {
    using Entry = prm::cmd_queue_entry;
    const unsigned slot = input.byte() & 31;
    const std::span entry(memory_.data + queue + slot * 64, 64);
    const auto given = input.bytes(input.byte() % 65);
    std::copy(given.begin(), given.end(), entry.begin());
    const std::uint8_t how = input.byte();
    const prm::View<Entry> view(entry);
    if (!(how & 1)) view.set(Entry::type, 7);
    if (!(how & 2))
      view.set(Entry::input_length, 16 + (how >> 4) * 64u).set(Entry::output_length, 16 + (how >> 4) * 64u);
    if (!(how & 4))
      view.set(Entry::input_mailbox_pointer, 0x20000).set(Entry::output_mailbox_pointer, 0x21000);
    if (!(how & 8)) view.set(Entry::ownership, 1);
    bar_write(0x18, __builtin_bswap32(1u << slot), 4);
  }

  void operate(Input& input) {
    switch (input.byte() % 8) {
      case 0: {
        const std::uint8_t how = input.byte();
        const auto bytes = input.bytes(how & 63);
        if (!bytes.empty()) send(bytes, (how >> 6) % 3);
        break;
      }
      case 1:
        return map(input);
      case 2: {
        const std::uint32_t offset = input.byte();
        const std::uint8_t how = input.byte();
        constexpr std::int32_t lengths[] = {4, 2, 1, 4, 2, 1, 3, -4};
        return config(offset, static_cast<std::uint32_t>(input.number(4)), lengths[how & 7], how & 8);
      }
      case 3:
      case 7:
        return access_bar(input);
      case 4: {
        const std::size_t at = queue + input.number(2) * 4 % 0x20000;
        const auto bytes = input.bytes(input.byte());
        std::copy(bytes.begin(), bytes.end(), memory_.data + at);
        break;
      }
      case 5:
        return command(input);
      default: {
        const serve::ProxyHeader header{static_cast<std::int32_t>(ProxyCommand::device_reset), 0, 0};
        send(std::as_bytes(std::span(&header, 1)));
      }
    }
  }

 private:
  int socket_;
  Memory& memory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto profile = model::Profile::named("connectx6dx");
  static Memory memory;
  std::memset(memory.data, 0, memory_size);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  Surroundings around;
  Wire wire;
  serve::GuestMemory guest;
  auto function = model::pci::Function::create(*profile, {guest, around, wire, around, around});
  if (!function) std::abort();
  serve::ProxyDevice device(FileDescriptor(ends[0]), **function, guest);
  Qemu qemu(ends[1], memory);
  qemu.bring_up();
  for (Input input{data, size}; input.left > 0;) {
    qemu.operate(input);
    const auto served = device.serve();
    (*function)->step();
    qemu.take_answers();
    if (served) continue;
    if (!*served.error().text) std::abort();
    break;
  }
  return 0;
}
