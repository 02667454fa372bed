// SPDX-License-Identifier: BSD-3-Clause
// Messages of QEMU's vfio-user-pci: as they should be, and as they must not be believed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../support/quiet_wire.h"
#include "model/profile.h"
#include "support.h"
#include "vfio_device.h"

namespace chime::serve::test {
namespace {

struct Findings final : model::Diagnostics {
  void report(const model::Finding& finding) noexcept override { last = finding.text; }
  std::string last;
};

/// The client's side.
class Client {
 public:
  struct Answer {
    VfioHeader header{};
    std::vector<std::byte> payload;
    int errnum() const { return header.flags & VfioHeader::error ? static_cast<int>(header.errnum) : 0; }
    template <class T>
    T as(std::size_t at = 0) const {
      T value{};
      EXPECT_GE(payload.size(), at + sizeof value);
      if (payload.size() >= at + sizeof value) std::memcpy(&value, payload.data() + at, sizeof value);
      return value;
    }
  };

  explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    connected = connect(socket_.get(), where, sizeof address) == 0;
  }
  void raw(std::span<const std::byte> bytes, const std::vector<int>& descriptors = {}) {
    send_with_descriptors(socket_.get(), bytes, descriptors);
  }
  void send(VfioCommand command, std::span<const std::byte> payload = {}, std::uint32_t flags = 0,
            const std::vector<int>& descriptors = {}) {
    const VfioHeader header{++id, static_cast<std::uint16_t>(command),
                            static_cast<std::uint32_t>(sizeof header + payload.size()), flags, 0};
    std::vector<std::byte> bytes(header.size);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof header);
    raw(bytes, descriptors);
  }
  template <class T>
  void send(VfioCommand command, const T& payload, std::uint32_t flags = 0,
            const std::vector<int>& descriptors = {}) {
    send(command, std::as_bytes(std::span(&payload, 1)), flags, descriptors);
  }
  std::optional<Answer> answer() {
    Answer answer;
    if (recv(socket_.get(), &answer.header, sizeof answer.header, MSG_DONTWAIT) != sizeof answer.header)
      return std::nullopt;
    answer.payload.resize(answer.header.size - sizeof answer.header);
    if (!answer.payload.empty()) {
      EXPECT_EQ(recv(socket_.get(), answer.payload.data(), answer.payload.size(), MSG_DONTWAIT),
                static_cast<ssize_t>(answer.payload.size()));
    }
    return answer;
  }
  void hang_up() { socket_ = FileDescriptor(); }
  bool hung_up_on() {
    std::byte byte;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
  }

  bool connected = false;
  std::uint16_t id = 0xfff0;

 private:
  FileDescriptor socket_;
};

struct OneWrite {
  VfioAccess access;
  std::uint64_t value;
};

class Vfio : public ::testing::Test {
 protected:
  Vfio() : path(std::filesystem::temp_directory_path() / ("chime-vfio-" + std::to_string(getpid()))) {
    auto made = model::pci::Function::create(profile, {memory, interrupts, wire, clock, findings});
    if (!made) throw std::runtime_error(made.error().text);
    function = std::move(*made);
    auto listener = Listener::listen(path);
    if (!listener) throw std::runtime_error(listener.error().text);
    device = std::make_unique<VfioDevice>(std::move(*listener), *function, memory, interrupts, findings);
  }
  void connect() {
    client = std::make_unique<Client>(path);
    client->send(VfioCommand::version, VfioVersion{0, 1});
    served(1);
    ASSERT_TRUE(client->answer());
  }
  void served(unsigned messages) {
    const auto done = device->serve();
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_EQ(*done, messages);
  }
  template <class... Arguments>
  Client::Answer ask(VfioCommand command, const Arguments&... arguments) {
    client->send(command, arguments...);
    served(1);
    auto answer = client->answer();
    EXPECT_TRUE(answer);
    if (!answer) return {};
    EXPECT_EQ(answer->header.id, client->id);
    EXPECT_EQ(answer->header.command, static_cast<std::uint16_t>(command));
    EXPECT_EQ(answer->header.flags & VfioHeader::type, VfioHeader::reply);
    return *answer;
  }
  template <class... Arguments>
  void refused(int errnum, const char* why, VfioCommand command, const Arguments&... arguments) {
    findings.last.clear();
    EXPECT_EQ(ask(command, arguments...).errnum(), errnum);
    EXPECT_NE(findings.last.find(why), std::string::npos) << findings.last;
  }
  void ended(const char* why, int error = EPROTO) {
    const auto done = device->serve();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().errnum, error) << done.error().text;
    EXPECT_NE(std::string(done.error().text).find(why), std::string::npos) << done.error().text;
  }
  std::uint64_t read(std::uint32_t region, std::uint64_t offset, std::uint32_t count) {
    const auto answer = ask(VfioCommand::region_read, VfioAccess{offset, region, count});
    EXPECT_EQ(answer.errnum(), 0);
    EXPECT_EQ(answer.payload.size(), sizeof(VfioAccess) + count);
    std::uint64_t value = 0;
    std::memcpy(&value, answer.payload.data() + sizeof(VfioAccess), count);
    return value;
  }

  static vfio_region_info region_number(std::uint32_t index) {
    vfio_region_info asked{};
    asked.argsz = sizeof asked;
    asked.index = index;
    return asked;
  }
  static vfio_irq_info irq_number(std::uint32_t index) {
    vfio_irq_info asked{};
    asked.argsz = sizeof asked;
    asked.index = index;
    return asked;
  }

  static constexpr std::uint32_t bar = VFIO_PCI_BAR0_REGION_INDEX, config = VFIO_PCI_CONFIG_REGION_INDEX;
  const std::string path;
  model::Profile profile = std::move(*model::Profile::named("connectx6dx"));
  GuestMemory memory;
  VfioInterrupts interrupts;
  chime::test::QuietWire wire;
  model::SystemClock clock;
  Findings findings;
  Owned<model::pci::Function> function;
  Owned<VfioDevice> device;
  std::unique_ptr<Client> client;
};

TEST_F(Vfio, WaitsForAClientAndAgreesOnAVersion) {
  served(0);
  client = std::make_unique<Client>(path);
  served(0);
  const auto answer = ask(VfioCommand::version, VfioVersion{0, 3});
  EXPECT_EQ(answer.errnum(), 0);
  EXPECT_EQ(answer.as<VfioVersion>().major, 0);
  ASSERT_GT(answer.payload.size(), sizeof(VfioVersion));
  EXPECT_EQ(answer.payload.back(), std::byte{0});
  const auto text =
      nlohmann::json::parse(reinterpret_cast<const char*>(answer.payload.data()) + sizeof(VfioVersion));
  EXPECT_EQ(text["capabilities"]["write_multiple"], true);
  EXPECT_EQ(text["capabilities"]["max_msg_fds"], vfio_descriptors);
  EXPECT_EQ(text["capabilities"]["max_dma_maps"], GuestMemory::most_pieces);
}

TEST_F(Vfio, SpeaksNoOtherVersion) {
  client = std::make_unique<Client>(path);
  client->send(VfioCommand::version, VfioVersion{1, 0});
  served(0);
  EXPECT_TRUE(client->hung_up_on());
  EXPECT_NE(findings.last.find("speaks version 1.0"), std::string::npos) << findings.last;
  connect();
}

TEST_F(Vfio, AgreesOnAVersionFirst) {
  client = std::make_unique<Client>(path);
  client->send(VfioCommand::device_get_info, VfioDeviceInfo{});
  served(0);
  EXPECT_TRUE(client->hung_up_on());
  EXPECT_NE(findings.last.find("before a version"), std::string::npos) << findings.last;
  connect();
}

TEST_F(Vfio, WaitsOnWhenAClientGoesWithoutAWord) {
  const std::size_t before = open_descriptors();
  client = std::make_unique<Client>(path);
  served(0);
  client->hang_up();
  served(0);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(findings.last, "");
  connect();
  EXPECT_EQ(read(config, 0, 2), 0x15b3u);
}

TEST_F(Vfio, ASecondClientIsRefused) {
  client = std::make_unique<Client>(path);
  Client second(path);
  EXPECT_TRUE(second.connected);
  client->send(VfioCommand::version, VfioVersion{0, 0});
  served(1);
  ASSERT_TRUE(client->answer());
  EXPECT_TRUE(second.hung_up_on());
  EXPECT_FALSE(Client(path).connected);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(read(config, 0, 2), 0x15b3u);
}

TEST_F(Vfio, OneThatSaysNothingMakesRoomForTheNext) {
  Client silent(path), part(path);
  const VfioHeader header{1, 1, 20, 0, 0};
  part.raw(std::as_bytes(std::span(&header, 1)).first(5));
  served(0);
  EXPECT_FALSE(silent.hung_up_on());
  served(0);
  EXPECT_TRUE(silent.hung_up_on());
  connect();
  EXPECT_TRUE(part.hung_up_on());
  EXPECT_EQ(read(config, 0, 2), 0x15b3u);
}

TEST_F(Vfio, ASecondServerDoesNotTakeTheSocket) {
  const auto second = Listener::listen(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().errnum, EADDRINUSE);
  EXPECT_NE(std::string(second.error().text).find("another process listens"), std::string::npos);
  served(0);  // who looked
  served(0);
  connect();
  EXPECT_EQ(read(config, 0, 2), 0x15b3u);
}

TEST_F(Vfio, ASocketThatWasLeftIsTakenAway) {
  const std::string left = path + "-left";
  {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    left.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(bind(socket.get(), where, sizeof address), 0);
    ASSERT_EQ(listen(socket.get(), 1), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(left));
  auto first = Listener::listen(left);
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_TRUE(Client(left).connected);
  first->refuse();
  {
    auto second = Listener::listen(left);
    ASSERT_TRUE(second) << second.error().text;
    *first = std::move(*second);
    EXPECT_TRUE(Client(left).connected) << "the name is the second one's";
    second = Listener::listen(left + "2");
    *first = std::move(*second);
    EXPECT_FALSE(std::filesystem::exists(left));
  }
  first = Listener::listen(left);
  std::filesystem::remove(left);
  std::ofstream(left) << "precious";
  first = Listener::listen(left + "2");
  EXPECT_TRUE(std::filesystem::exists(left)) << "another one's";
  std::filesystem::remove(left);
}

TEST_F(Vfio, DescribesTheDevice) {
  connect();
  const auto info = ask(VfioCommand::device_get_info, VfioDeviceInfo{16, 0, 0, 0}).as<VfioDeviceInfo>();
  EXPECT_EQ(info.flags, unsigned{VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET});
  EXPECT_EQ(info.regions, unsigned{VFIO_PCI_NUM_REGIONS});
  EXPECT_EQ(info.irqs, unsigned{VFIO_PCI_NUM_IRQS});
  for (std::uint32_t i = 0; i < VFIO_PCI_NUM_REGIONS; ++i) {
    const auto region = ask(VfioCommand::device_get_region_info, region_number(i)).as<vfio_region_info>();
    EXPECT_EQ(region.index, i);
    EXPECT_EQ(region.size, i == bar ? model::pci::Function::bar_size : i == config ? 256u : 0u) << i;
  }
  for (std::uint32_t i = 0; i < VFIO_PCI_NUM_IRQS; ++i) {
    const auto irqs = ask(VfioCommand::device_get_irq_info, irq_number(i)).as<vfio_irq_info>();
    EXPECT_EQ(irqs.count, i == VFIO_PCI_MSIX_IRQ_INDEX ? 64u : i == VFIO_PCI_INTX_IRQ_INDEX ? 1u : 0u) << i;
  }
  refused(EINVAL, "region 9", VfioCommand::device_get_region_info, region_number(9));
  refused(EINVAL, "interrupts 5", VfioCommand::device_get_irq_info, irq_number(5));
}

TEST_F(Vfio, ReadsAndWritesConfigurationSpace) {
  connect();
  EXPECT_EQ(read(config, 0, 4), 0x101d15b3u);
  EXPECT_EQ(read(config, 2, 1), 0x1du);
  EXPECT_EQ(ask(VfioCommand::region_write, OneWrite{{0x10, config, 4}, 0xffffffff}).errnum(), 0);
  EXPECT_EQ(read(config, 0x10, 4), 0xfe000000u);
  const auto all = ask(VfioCommand::region_read, VfioAccess{0, config, 256});
  ASSERT_EQ(all.payload.size(), sizeof(VfioAccess) + 256);
  EXPECT_EQ(all.as<std::uint32_t>(sizeof(VfioAccess)), 0x101d15b3u);
  const auto odd = ask(VfioCommand::region_read, VfioAccess{1, config, 7});
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(odd.payload[sizeof(VfioAccess) + i], all.payload[sizeof(VfioAccess) + 1 + i]) << i;
}

TEST_F(Vfio, ExtendedConfigurationSpaceIsEmpty) {
  connect();
  EXPECT_EQ(read(config, 0x100, 4), 0u) << "no capability";
  EXPECT_EQ(read(config, 0xffc, 4), 0u);
  EXPECT_EQ(ask(VfioCommand::region_write, OneWrite{{0x110, config, 4}, 0xffffffff}).errnum(), 0);
  EXPECT_EQ(read(config, 0x110, 4), 0u);
  EXPECT_EQ(read(config, 0x10, 4), 0u) << "and is not the beginning once more";
  const auto over = ask(VfioCommand::region_read, VfioAccess{0xfc, config, 8});
  ASSERT_EQ(over.payload.size(), sizeof(VfioAccess) + 8);
  EXPECT_EQ(over.as<std::uint32_t>(sizeof(VfioAccess) + 4), 0u);
}

TEST_F(Vfio, ReadsAndWritesTheBarWhereverItLies) {
  connect();
  EXPECT_EQ(read(bar, 0, 4), __builtin_bswap32(35u << 16 | 22u)) << "the client decodes addresses";
  const auto written = ask(VfioCommand::region_write, OneWrite{{0x10, bar, 4}, 0x12000000});
  EXPECT_EQ(written.as<VfioAccess>().count, 4u);
  EXPECT_EQ(read(bar, 0x10, 4), 0x12000000u);
  EXPECT_EQ(read(bar, 0x13, 1), 0x12u);
}

TEST_F(Vfio, APostedWriteIsNotAnswered) {
  connect();
  client->send(VfioCommand::region_write, OneWrite{{0x10, bar, 4}, 0x34000000}, VfioHeader::no_reply);
  client->send(VfioCommand::region_write, OneWrite{{0, 9, 4}, 0}, VfioHeader::no_reply);
  served(2);
  EXPECT_FALSE(client->answer());
  EXPECT_NE(findings.last.find("region 9"), std::string::npos) << "nobody else tells of it";
  EXPECT_EQ(read(bar, 0x10, 4), 0x34000000u);
}

TEST_F(Vfio, SeveralWritesComeAtOnce) {
  connect();
  struct {
    std::uint64_t count = 3;
    VfioWrite writes[3];
  } message;
  const std::uint32_t values[] = {0x11000000, 0x22000000, 0x33000000};
  for (unsigned i = 0; i < 3; ++i) {
    message.writes[i].access = {i == 1 ? 0x14u : 0x10u, bar, 4};
    std::memcpy(message.writes[i].data, &values[i], 4);
  }
  const auto answer = ask(VfioCommand::region_write_multi, message);
  EXPECT_EQ(answer.errnum(), 0);
  EXPECT_EQ(answer.payload.size(), sizeof(std::uint64_t));
  EXPECT_EQ(answer.as<std::uint64_t>(), 3u);
  EXPECT_EQ(read(bar, 0x10, 4), 0x33000000u) << "in their order";
  message.count = 4;
  refused(EINVAL, "4 writes are announced, 3 came", VfioCommand::region_write_multi, message);
  message.count = ~std::uint64_t{0};
  refused(EINVAL, "are announced", VfioCommand::region_write_multi, message);
  refused(EINVAL, "payload of 0 bytes", VfioCommand::region_write_multi);
}

TEST_F(Vfio, RefusesAccessesThatAreNone) {
  connect();
  constexpr std::uint64_t end = model::pci::Function::bar_size;
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{end, bar, 4});
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{end - 2, bar, 4});
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{~std::uint64_t{0}, bar, 4});
  refused(EINVAL, "1, 2, 4 and 8", VfioCommand::region_read, VfioAccess{0, bar, 3});
  refused(EINVAL, "of region 7", VfioCommand::region_read, VfioAccess{0, config, 4097});
  refused(EINVAL, "of region 7", VfioCommand::region_read, VfioAccess{4096, config, 4});
  refused(EINVAL, "region 1 is none", VfioCommand::region_read, VfioAccess{0, 1, 4});
  refused(EINVAL, "payload of 8 bytes", VfioCommand::region_read, std::uint64_t{0});
  refused(EINVAL, "brings 0", VfioCommand::region_write, VfioAccess{0, bar, 4});
  refused(EINVAL, "1, 2 and 4", VfioCommand::region_write, OneWrite{{0, config, 8}, 0});
  refused(EINVAL, "brings 8", VfioCommand::region_write, OneWrite{{0, config, 255}, 0});
}

TEST_F(Vfio, MapsAndUnmapsMemory) {
  connect();
  const std::size_t before = open_descriptors();
  {
    const FileDescriptor file = memory_file(1 << 20);
    const VfioDmaMap map{32, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE, 0x1000, 0x100000, 0x2000};
    EXPECT_EQ(ask(VfioCommand::dma_map, map, 0u, std::vector<int>{file.get()}).errnum(), 0);
    VfioDmaMap read_only = map;
    read_only.address = 0x200000;
    read_only.flags = VFIO_DMA_MAP_FLAG_READ;
    EXPECT_EQ(ask(VfioCommand::dma_map, read_only, 0u, std::vector<int>{file.get()}).errnum(), 0);
    VfioDmaMap no_file = map;
    no_file.address = 0x300000;
    EXPECT_EQ(ask(VfioCommand::dma_map, no_file).errnum(), 0);
    refused(EEXIST, "overlap", VfioCommand::dma_map, map, 0u, std::vector<int>{file.get()});
  }
  served(0);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_NE(memory.map(0x100000, 0x2000), nullptr);
  EXPECT_EQ(memory.map(0x200000, 1), nullptr) << "a card must not write there";
  EXPECT_EQ(memory.map(0x300000, 1), nullptr);
  refused(EINVAL, "only a part", VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x100000, 0x1000});
  refused(ENOTSUP, "dirty pages", VfioCommand::dma_unmap, VfioDmaUnmap{24, 1, 0x100000, 0x2000});
  const auto gone = ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x100000, 0x2000});
  EXPECT_EQ(gone.as<VfioDmaUnmap>().size, 0x2000u);
  EXPECT_EQ(memory.map(0x100000, 1), nullptr);
  EXPECT_EQ(ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x300000, 0x2000}).errnum(), 0) << "of no file";
  EXPECT_EQ(ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, VFIO_DMA_UNMAP_FLAG_ALL, 0, 0}).errnum(), 0);
}

TEST_F(Vfio, MissesNoDescriptorThatCannotBeOpened) {
  connect();
  const FileDescriptor file = memory_file(1 << 20);
  const VfioDmaMap map{32, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE, 0, 0, 0x1000};
  client->send(VfioCommand::dma_map, map, 0u, std::vector<int>{file.get()});
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ended("more than can be opened here");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

class VfioVectors : public Vfio {
 protected:
  static constexpr std::uint32_t eventfd_set = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  static VfioIrqSet set(std::uint32_t flags, std::uint32_t start, std::uint32_t count,
                        std::uint32_t index = VFIO_PCI_MSIX_IRQ_INDEX) {
    return {20, flags, index, start, count};
  }
  /// Times that the event was signalled.
  std::uint64_t signalled(const FileDescriptor& event) {
    std::uint64_t count = 0;
    return eventfd_read(event.get(), &count) == 0 ? count : 0;
  }
  const FileDescriptor a{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)}, b{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};

TEST_F(VfioVectors, AreEvents) {
  connect();
  const std::size_t before = open_descriptors();
  EXPECT_FALSE(interrupts.signal(3));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 3, 2), 0u, std::vector<int>{a.get(), b.get()})
                .errnum(),
            0);
  EXPECT_TRUE(interrupts.signal(3));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_EQ(signalled(a), 1u);
  EXPECT_EQ(signalled(b), 2u);
  EXPECT_FALSE(interrupts.signal(5));
  EXPECT_FALSE(interrupts.signal(64));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 3, 1)).errnum(), 0)
      << "no descriptor: taken away";
  EXPECT_FALSE(interrupts.signal(3));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, 0, 0))
                .errnum(),
            0);
  EXPECT_FALSE(interrupts.signal(4));
  served(0);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(VfioVectors, ThatAreNoneAreRefused) {
  connect();
  const std::vector<int> both{a.get(), b.get()};
  refused(EINVAL, "vectors 63 to 65", VfioCommand::device_set_irqs, set(eventfd_set, 63, 2), 0u, both);
  refused(EINVAL, "the card has 64", VfioCommand::device_set_irqs, set(eventfd_set, ~0u, 1));
  refused(EINVAL, "the card has 64", VfioCommand::device_set_irqs, set(eventfd_set, 1, ~0u));
  refused(EINVAL, "2 eventfds came for 3", VfioCommand::device_set_irqs, set(eventfd_set, 0, 3), 0u, both);
  refused(ENOTSUP, "MSI-X vectors", VfioCommand::device_set_irqs,
          set(eventfd_set, 0, 1, VFIO_PCI_MSI_IRQ_INDEX));
  refused(ENOTSUP, "eventfds are set", VfioCommand::device_set_irqs,
          set(VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, 0, 1));
  refused(EINVAL, "payload", VfioCommand::device_set_irqs, std::uint32_t{0});
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1, VFIO_PCI_INTX_IRQ_INDEX), 0u,
                std::vector<int>{a.get()})
                .errnum(),
            0)
      << "INTA#, which is never raised";
}

TEST_F(VfioVectors, AreNoPipes) {
  connect();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor reader(ends[0]), writer(ends[1]), file = memory_file(4096);
  for (const int fd : {writer.get(), file.get()}) {
    refused(EINVAL, "vector 1 is no eventfd", VfioCommand::device_set_irqs, set(eventfd_set, 0, 2), 0u,
            std::vector<int>{a.get(), fd});
  }
  EXPECT_FALSE(interrupts.signal(0)) << "all or none";
}

TEST_F(VfioVectors, NeverBlock) {
  connect();
  const FileDescriptor blocking(eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(eventfd_write(blocking.get(), ~std::uint64_t{1}), 0);
  ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1), 0u, std::vector<int>{blocking.get()});
  EXPECT_TRUE(interrupts.signal(0)) << "a full counter has been signalled";
  EXPECT_EQ(signalled(blocking), ~std::uint64_t{1});
  EXPECT_TRUE(interrupts.signal(0));
  EXPECT_EQ(signalled(blocking), 1u);
}

TEST_F(VfioVectors, AreRaisedWithoutATable) {
  connect();
  ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1), 0u, std::vector<int>{a.get()});
  model::pci::ConfigSpace space({});
  model::pci::Msix msix(space, interrupts, 64);
  msix.raise(0);
  msix.raise(1);
  EXPECT_EQ(signalled(a), 1u);
  EXPECT_EQ(msix.delivered(), 1u);
  EXPECT_EQ(msix.lost(), 1u);
}

TEST_F(Vfio, ADeviceResetIsAnswered) {
  connect();
  ask(VfioCommand::region_write, OneWrite{{0x10, config, 4}, 0xe0000000});
  EXPECT_EQ(ask(VfioCommand::device_reset).errnum(), 0);
  EXPECT_EQ(read(config, 0x10, 4), 0u);
}

TEST_F(Vfio, RefusesWhatItDoesNotKnow) {
  connect();
  for (const auto command :
       {VfioCommand::device_get_region_io_fds, VfioCommand::dirty_pages, VfioCommand::device_feature,
        VfioCommand::mig_data_read, VfioCommand::mig_data_write})
    refused(ENOTSUP, "not supported", command);
  for (const auto command : {VfioCommand::dma_read, VfioCommand::dma_write, VfioCommand{0}, VfioCommand{999}})
    refused(EINVAL, "no such request", command);
  EXPECT_EQ(read(config, 0, 2), 0x15b3u) << "and goes on";
}

TEST_F(Vfio, EndsWithWhatIsNoMessage) {
  connect();
  const VfioHeader small{1, 4, 15, 0, 0};
  client->raw(std::as_bytes(std::span(&small, 1)));
  ended("announces 15 bytes");
}

TEST_F(Vfio, EndsWithMessagesThatAreTooLong) {
  connect();
  const VfioHeader large{1, 4, vfio_largest + 1, 0, 0};
  client->raw(std::as_bytes(std::span(&large, 1)));
  ended("announces 8193 bytes");
}

TEST_F(Vfio, EndsWithAnswersToNothing) {
  connect();
  client->send(VfioCommand::dma_read, {}, VfioHeader::reply);
  ended("nothing was asked");
}

TEST_F(Vfio, TellsWhenQemuIsGone) {
  connect();
  client->hang_up();
  ended("closed the connection", EPIPE);
  device.reset();
  EXPECT_FALSE(std::filesystem::exists(path)) << "its socket goes with it";
}

}  // namespace
}  // namespace chime::serve::test
