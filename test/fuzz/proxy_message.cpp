// SPDX-License-Identifier: BSD-3-Clause
// A hostile QEMU at the other end of a card's socket, as x-pci-proxy-dev. The input is a list of operations:
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
#include "model/pci/function.h"
#include "model/profile.h"
#include "proxy_device.h"
#include "qemu_side.h"
#include "surroundings.h"

namespace {

using namespace chime;
using fuzz::GuestFile;
using fuzz::Input;
using serve::ProxyCommand;

constexpr std::uint32_t bar = 0xe0000000;

struct NoMessages final : model::pci::MessageTarget {
  void write(std::uint64_t, std::uint32_t) noexcept override {}
};

class Qemu {
 public:
  Qemu(FileDescriptor socket, GuestFile& memory) : end_(std::move(socket)), memory_(memory) {}

  template <class T>
  void send(ProxyCommand command, const T& payload, unsigned descriptors = 0) {
    struct {
      serve::ProxyHeader header;
      T payload;
    } message{{static_cast<std::int32_t>(command), 0, sizeof(T)}, payload};
    end_.send(std::as_bytes(std::span(&message, 1)).first(sizeof message.header + sizeof(T)), descriptors,
              memory_.fd());
  }
  void config(std::uint32_t offset, std::uint32_t value, std::int32_t length, bool write) {
    send(write ? ProxyCommand::config_write : ProxyCommand::config_read,
         serve::ProxyConfigAccess{offset, value, length});
  }
  void bar_write(std::uint64_t offset, std::uint64_t value, std::uint32_t size) {
    send(ProxyCommand::bar_write, serve::ProxyBarAccess{bar + offset, value, size, 1, {}});
  }
  void take_answers() { end_.take_answers(); }

  /// What firmware and driver do first.
  void bring_up() {
    serve::ProxySysmem map{};
    map.size[0] = GuestFile::size;
    send(ProxyCommand::sync_sysmem, map, 1);
    config(0x10, bar, 4, true);
    config(0x04, 6, 2, true);
    config(0x9e, 0x8000, 2, true);
    bar_write(0x14, __builtin_bswap32(GuestFile::queue), 4);
  }

  void map(Input& input) {
    serve::ProxySysmem map{};
    const unsigned pieces = input.u8() % 3;
    for (unsigned i = 0; i < pieces; ++i) {
      map.address[i] = std::uint64_t{input.u16()} << 12;
      map.size[i] = std::uint64_t{input.u16()} << 10;
      map.offset[i] = static_cast<std::int64_t>(static_cast<std::int8_t>(input.u8())) << 12;
    }
    send(ProxyCommand::sync_sysmem, map, pieces);
  }

  void access_bar(Input& input) {
    const std::uint8_t how = input.u8();
    const std::uint64_t offset = fuzz::bar_places[how & 7] + input.u16() % 0x1000;
    constexpr std::uint32_t sizes[] = {4, 8, 4, 8, 1, 2, 3, 16};
    const serve::ProxyBarAccess access{
        bar + offset, input.u64(), sizes[how >> 3 & 7], static_cast<std::uint8_t>(how != 0xff), {}};
    send(how >> 6 == 3 ? ProxyCommand::bar_read : ProxyCommand::bar_write, access);
  }

  void operate(Input& input) {
    switch (input.u8() % 8) {
      case 0: {
        const std::uint8_t how = input.u8();
        const auto bytes = input.take(how & 63);
        if (!bytes.empty()) end_.send(std::as_bytes(bytes), (how >> 6) % 3, memory_.fd());
        break;
      }
      case 1:
        return map(input);
      case 2: {
        const std::uint32_t offset = input.u8();
        const std::uint8_t how = input.u8();
        constexpr std::int32_t lengths[] = {4, 2, 1, 4, 2, 1, 3, -4};
        return config(offset, input.u32(), lengths[how & 7], how & 8);
      }
      case 3:
      case 7:
        return access_bar(input);
      case 4:
        return memory_.write(input);
      case 5:
        return bar_write(0x18, __builtin_bswap32(1u << memory_.command(input)), 4);
      default: {
        const serve::ProxyHeader header{static_cast<std::int32_t>(ProxyCommand::device_reset), 0, 0};
        end_.send(std::as_bytes(std::span(&header, 1)), 0, memory_.fd());
      }
    }
  }

 private:
  fuzz::QemuEnd end_;
  GuestFile& memory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto profile = model::Profile::named("connectx6dx");
  static GuestFile memory;
  memory.empty();
  int ends[2];
  fuzz::want(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  NoMessages messages;
  fuzz::Wire wire;
  fuzz::Clock clock;
  fuzz::Diagnostics diagnostics;
  serve::GuestMemory guest;
  auto function = model::pci::Function::create(*profile, {guest, messages, wire, clock, diagnostics});
  fuzz::want(function.has_value());
  serve::ProxyDevice device(FileDescriptor(ends[0]), **function, guest);
  Qemu qemu(FileDescriptor(ends[1]), memory);
  qemu.bring_up();
  Input input(data, size);
  fuzz::operate(qemu, device, **function, input);
  return 0;
}
