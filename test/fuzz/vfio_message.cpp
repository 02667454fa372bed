// SPDX-License-Identifier: BSD-3-Clause
// A hostile QEMU at the other end of a card's socket, as vfio-user-pci. The input is a byte, which is odd
// when nothing is agreed on before, and a list of operations:
//
//     0 bytes   1 byte count, then these bytes as they are, with 0 to 2 descriptors of the memory
//     1 map     a piece of the memory at a guest address, which may make no sense
//     2 unmap   a range of guest addresses, or all
//     3 access  region, offset, count, direction, posted or not, 8 bytes of value
//     4 memory  2 bytes offset, 1 byte count, bytes: what software would write into guest memory
//     5 command: an entry of the command queue of these bytes is made the card's, and rung for
//     6 irqs    index, flags, start, count, with 0 to 2 eventfds
//     7 any     a command with 1 byte count of payload
//
// Wants no crash, no leak, nothing written outside the guest's memory, and an answer or an end of the
// connection with a reason for whatever makes no sense.
#include <sys/eventfd.h>
#include <sys/un.h>

#include <string>

#include "model/profile.h"
#include "qemu_side.h"
#include "surroundings.h"
#include "vfio_device.h"

namespace {

using namespace chime;
using fuzz::GuestFile;
using fuzz::Input;
using serve::VfioCommand;

constexpr std::uint32_t bar = VFIO_PCI_BAR0_REGION_INDEX, config = VFIO_PCI_CONFIG_REGION_INDEX;

class Qemu {
 public:
  Qemu(FileDescriptor socket, GuestFile& memory) : end_(std::move(socket)), memory_(memory) {}

  void send(VfioCommand command, std::span<const std::byte> payload, std::uint32_t flags = 0,
            unsigned descriptors = 0) {
    const int fd = command == VfioCommand::device_set_irqs ? event_.get() : memory_.fd();
    std::array<std::byte, 512> message;
    const serve::VfioHeader header{++id_, static_cast<std::uint16_t>(command),
                                   static_cast<std::uint32_t>(sizeof header + payload.size()), flags, 0};
    std::memcpy(message.data(), &header, sizeof header);
    std::copy(payload.begin(), payload.end(), message.begin() + sizeof header);
    end_.send(std::span(message).first(header.size), descriptors, fd);
  }
  template <class T>
  void send(VfioCommand command, const T& payload, std::uint32_t flags = 0, unsigned descriptors = 0) {
    send(command, std::as_bytes(std::span(&payload, 1)), flags, descriptors);
  }
  void write(std::uint32_t region, std::uint64_t offset, std::uint64_t value, std::uint32_t count,
             std::uint32_t flags = 0) {
    const struct {
      serve::VfioAccess access;
      std::uint64_t value;
    } message{{offset, region, count}, value};
    send(VfioCommand::region_write, message, flags);
  }
  void take_answers() { end_.take_answers(); }

  /// What QEMU, firmware and driver do first.
  void bring_up() {
    constexpr std::uint32_t both = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    send(VfioCommand::version, serve::VfioVersion{0, 0});
    send(VfioCommand::dma_map, serve::VfioDmaMap{32, both, 0, 0, GuestFile::size}, 0, 1);
    write(config, 0x04, 6, 2);
    write(bar, 0x14, __builtin_bswap32(GuestFile::queue), 4);
  }

  void operate(Input& input) {
    const std::uint8_t how = input.u8();
    const unsigned descriptors = (how >> 3) % 3;
    switch (how % 8) {
      case 0: {
        const auto bytes = input.take(input.u8());
        if (!bytes.empty()) end_.send(std::as_bytes(bytes), descriptors, memory_.fd());
        break;
      }
      case 1:
        return send(VfioCommand::dma_map,
                    serve::VfioDmaMap{32, std::uint32_t{how} >> 6,
                                      static_cast<std::uint64_t>(static_cast<std::int8_t>(input.u8())) << 12,
                                      std::uint64_t{input.u16()} << 12, std::uint64_t{input.u16()} << 10},
                    0, descriptors);
      case 2:
        return send(VfioCommand::dma_unmap,
                    serve::VfioDmaUnmap{24, std::uint32_t{how} >> 6, std::uint64_t{input.u16()} << 12,
                                        std::uint64_t{input.u16()} << 12});
      case 3: {
        const std::uint32_t region = how & 0x80 ? config : how & 0x40 ? input.u8() : bar;
        const std::uint64_t offset =
            region == bar ? fuzz::bar_places[input.u8() & 7] + input.u16() % 0x1000 : input.u16() % 300u;
        const std::uint32_t count = 1u << input.u8() % 10;
        if (how & 8) return send(VfioCommand::region_read, serve::VfioAccess{offset, region, count});
        return write(region, offset, input.u64(), count, how & 0x10 ? serve::VfioHeader::no_reply : 0);
      }
      case 4:
        return memory_.write(input);
      case 5:
        return write(bar, 0x18, __builtin_bswap32(1u << memory_.command(input)), 4);
      case 6:
        return send(VfioCommand::device_set_irqs,
                    serve::VfioIrqSet{20, input.u8(), input.u8() % 6u, input.u8() % 66u, input.u8() % 66u}, 0,
                    descriptors);
      default: {
        const auto command = static_cast<VfioCommand>(input.u8() % 20);
        return send(command, std::as_bytes(input.take(input.u8())),
                    how & 0x40 ? serve::VfioHeader::no_reply : 0, descriptors);
      }
    }
  }

 private:
  fuzz::QemuEnd end_;
  GuestFile& memory_;
  const FileDescriptor event_{eventfd(0, EFD_CLOEXEC)};
  std::uint16_t id_ = 0;
};

FileDescriptor connect_to(const std::string& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  fuzz::want(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto profile = model::Profile::named("connectx6dx");
  static const std::string path = "/tmp/chime-fuzz-" + std::to_string(getpid());
  static GuestFile memory;
  memory.empty();
  serve::VfioInterrupts interrupts;
  fuzz::Wire wire;
  fuzz::Clock clock;
  fuzz::Diagnostics diagnostics;
  serve::GuestMemory guest;
  auto function = model::pci::Function::create(*profile, {guest, interrupts, wire, clock, diagnostics});
  auto listener = serve::Listener::listen(path);
  fuzz::want(function.has_value() && listener.has_value());
  serve::VfioDevice device(std::move(*listener), **function, guest, interrupts, diagnostics);
  Qemu qemu(connect_to(path), memory);
  Input input(data, size);
  if (!(input.u8() & 1)) qemu.bring_up();
  fuzz::operate(qemu, device, **function, input);
  return 0;
}
