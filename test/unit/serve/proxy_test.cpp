// SPDX-License-Identifier: BSD-3-Clause
// Messages of QEMU's proxy: in pieces, in garbage, and as they should be.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "../support/quiet_wire.h"
#include "model/profile.h"
#include "proxy_device.h"
#include "support.h"

namespace chime::serve::test {
namespace {

struct Messages final : model::pci::MessageTarget {
  void write(std::uint64_t, std::uint32_t) noexcept override {}
};

struct Findings final : model::Diagnostics {
  void report(const model::Finding&) noexcept override { ++count; }
  unsigned count = 0;
};

class Proxy : public ::testing::Test {
 protected:
  static constexpr std::uint32_t bar = 0xe0000000;

  Proxy() {
    auto made = model::pci::Function::create(profile, {memory, messages, wire, clock, findings});
    if (!made) throw std::runtime_error(made.error().text);
    function = std::move(*made);
    device = std::make_unique<ProxyDevice>(qemu.take_end(), *function, memory);
  }
  std::uint64_t answer() {
    std::uint64_t value = 0xdead;
    EXPECT_TRUE(qemu.answer(value));
    return value;
  }
  bool silent() {
    std::uint64_t value;
    return !qemu.answer(value);
  }
  void served(unsigned messages) {
    const auto done = device->serve();
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_EQ(*done, messages);
  }
  void refused(const std::string& why, int error = EPROTO) {
    const auto done = device->serve();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().errnum, error) << done.error().text;
    EXPECT_NE(std::string(done.error().text).find(why), std::string::npos) << done.error().text;
    EXPECT_TRUE(silent());
  }
  void place_bar() {
    function->write_config(0x10, bar, 4);
    function->write_config(0x04, 6, 2);
  }

  model::Profile profile = std::move(*model::Profile::named("connectx6dx"));
  GuestMemory memory;
  Messages messages;
  chime::test::QuietWire wire;
  model::SystemClock clock;
  Findings findings;
  Qemu qemu;
  Owned<model::pci::Function> function;
  Owned<ProxyDevice> device;
};

TEST_F(Proxy, ReadsAndWritesConfigurationSpace) {
  qemu.config(false, 0, 0, 4);
  served(1);
  EXPECT_EQ(answer(), 0x101d15b3u);
  qemu.config(true, 0x10, 0xffffffff, 4);
  qemu.config(false, 0x10, 0, 4);
  qemu.config(false, 0x28, 0, 4);
  qemu.config(false, 0xfff, 0, 1);
  served(4);
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(answer(), 0xfe000000u);
  EXPECT_EQ(answer(), 0u) << "QEMU takes the slot behind BAR 5 for a seventh";
  EXPECT_EQ(answer(), 0xffu);
}

TEST_F(Proxy, ReadsAndWritesTheBar) {
  place_bar();
  qemu.bar(false, bar, 0, 4);
  qemu.bar(true, bar + 0x10, 0x12000000, 4);
  qemu.bar(false, bar + 0x10, 0, 4);
  qemu.bar(false, bar + 0x13, 0, 1);
  served(4);
  EXPECT_EQ(answer(), __builtin_bswap32(35u << 16 | 22u));
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(answer(), 0x12000000u);
  EXPECT_EQ(answer(), 0x12u);
}

TEST_F(Proxy, NothingLiesOutsideTheBar) {
  qemu.bar(false, bar, 0, 4);
  served(1);
  EXPECT_EQ(answer(), ~std::uint64_t{0}) << "memory is not enabled";
  place_bar();
  qemu.bar(false, bar - 4, 0, 4);
  qemu.bar(false, bar + model::pci::Function::bar_size, 0, 4);
  qemu.bar(false, bar, 0, 4, false);
  qemu.bar(true, bar - 4, 1, 4);
  qemu.bar(true, ~std::uint64_t{0}, 1, 8);
  served(5);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer(), ~std::uint64_t{0}) << i;
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(findings.count, 0u);
}

TEST_F(Proxy, ADeviceResetIsAnswered) {
  place_bar();
  qemu.send(ProxyCommand::device_reset);
  served(1);
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(function->bar_address(), 0u);
}

TEST_F(Proxy, TakesTheMapAndTheInterruptsWithoutAnAnswer) {
  const std::size_t before = open_descriptors();
  {
    const FileDescriptor file = memory_file(1 << 20);
    qemu.send(ProxyCommand::sync_sysmem, one_region(1 << 20), {file.get()});
    qemu.send(ProxyCommand::set_irqfd, {}, {file.get(), file.get()});
    served(2);
  }
  EXPECT_TRUE(silent());
  EXPECT_NE(memory.map(0, 1 << 20), nullptr) << "the file itself may be closed";
  served(0);
  EXPECT_EQ(open_descriptors(), before) << "of the descriptors that came none is left";
}

TEST_F(Proxy, MessagesMayComeByteByByte) {
  const ProxyHeader header{static_cast<std::int32_t>(ProxyCommand::config_read), 0,
                           sizeof(ProxyConfigAccess)};
  const ProxyConfigAccess access{0, 0, 2};
  std::vector<std::byte> bytes;
  for (const auto part : {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(&access, 1))})
    bytes.insert(bytes.end(), part.begin(), part.end());
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    qemu.send_bytes(std::span(bytes).subspan(i, 1));
    served(0);
  }
  qemu.send_bytes(std::span(bytes).last(1));
  served(1);
  EXPECT_EQ(answer(), 0x15b3u);
}

/// Messages that came together, also in part: descriptors are those of the message that they came with.
TEST_F(Proxy, DescriptorsStayWithTheirMessage) {
  place_bar();
  const auto map_of = [&](std::uint64_t size) {
    const FileDescriptor file = memory_file(size);
    qemu.send(ProxyCommand::sync_sysmem, one_region(size), {file.get()});
  };
  for (int round = 0; round < 3; ++round) {
    qemu.config(false, 0, 0, 4);
    map_of(0x2000);
    map_of(0x3000);
    qemu.bar(false, bar, 0, 4);
    map_of(0x1000);
    qemu.config(false, 0, 0, 4);
    const std::size_t before = open_descriptors();
    served(6);
    EXPECT_EQ(answer(), 0x101d15b3u);
    answer();
    EXPECT_EQ(answer(), 0x101d15b3u);
    EXPECT_NE(memory.map(0, 0x1000), nullptr);
    EXPECT_EQ(memory.map(0x1000, 0x1000), nullptr);
    served(0);
    EXPECT_EQ(open_descriptors(), before) << round;
  }
}

TEST_F(Proxy, ServesSoManyAtOnce) {
  for (unsigned i = 0; i < ProxyDevice::most + 3; ++i) qemu.config(false, 0, 0, 2);
  served(ProxyDevice::most);
  served(3);
}

TEST_F(Proxy, RefusesWhatIsNoMessage) {
  qemu.send(static_cast<ProxyCommand>(8));
  refused("message 8 is none");
}

TEST_F(Proxy, RefusesAnswersToNothing) {
  qemu.send(ProxyCommand::ret, std::uint64_t{0});
  refused("message 1 is none");
}

TEST_F(Proxy, RefusesNegativeCommands) {
  qemu.send(static_cast<ProxyCommand>(-1));
  refused("message -1 is none");
}

TEST_F(Proxy, RefusesLongMessages) {
  const ProxyHeader header{2, 0, proxy_largest + 1};
  qemu.send_bytes(std::as_bytes(std::span(&header, 1)));
  refused("announces 193 bytes");
}

TEST_F(Proxy, RefusesVeryLongMessages) {
  const ProxyHeader header{0, 0, ~std::uint64_t{0}};
  qemu.send_bytes(std::as_bytes(std::span(&header, 1)));
  refused("announces");
}

TEST_F(Proxy, RefusesPayloadsOfAnotherSize) {
  qemu.send(ProxyCommand::config_read, std::uint64_t{0});
  refused("8 bytes of payload; it must have 12");
}

TEST_F(Proxy, RefusesAMapOfAnotherSize) {
  qemu.send(ProxyCommand::sync_sysmem, std::uint64_t{0});
  refused("it must have 192");
}

TEST_F(Proxy, RefusesOddSizesOfConfigAccess) {
  qemu.config(false, 0, 0, 3);
  refused("3 bytes of configuration space");
}

TEST_F(Proxy, RefusesNegativeSizesOfConfigAccess) {
  qemu.config(true, 0, 0, -4);
  refused("-4 bytes");
}

TEST_F(Proxy, RefusesOddSizesOfBarAccess) {
  place_bar();
  qemu.bar(true, bar, 0, 16);
  refused("16 bytes of a BAR");
}

TEST_F(Proxy, RefusesMapsThatAreNone) {
  const FileDescriptor file = memory_file(4096);
  qemu.send(ProxyCommand::sync_sysmem, one_region(1 << 20), {file.get()});
  refused("is none", EINVAL);
}

TEST_F(Proxy, RefusesTooManyDescriptors) {
  const std::size_t before = open_descriptors();
  {
    const FileDescriptor file = memory_file(4096);
    const std::vector<int> many(proxy_regions + 4, file.get());
    const ProxyHeader header{0, 0, sizeof(ProxySysmem)};
    qemu.send_bytes(std::as_bytes(std::span(&header, 1)), many);
    refused("more than 8 file descriptors");
  }
  device.reset();
  EXPECT_LT(open_descriptors(), before) << "all are closed, and the connection";
}

TEST_F(Proxy, RefusesTooManyDescriptorsInPieces) {
  const FileDescriptor file = memory_file(4096);
  const ProxyHeader header{0, 0, sizeof(ProxySysmem)};
  const auto bytes = std::as_bytes(std::span(&header, 1));
  qemu.send_bytes(bytes.first(3), std::vector<int>(5, file.get()));
  qemu.send_bytes(bytes.subspan(3), std::vector<int>(5, file.get()));
  refused("more than 8 file descriptors");
}

TEST_F(Proxy, TellsWhenQemuIsGone) {
  qemu.hang_up();
  const auto done = device->serve();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, EPIPE);
}

TEST_F(Proxy, TellsWhenQemuGoesAmidAMessage) {
  const ProxyHeader header{2, 0, 12};
  qemu.send_bytes(std::as_bytes(std::span(&header, 1)).first(7));
  qemu.hang_up();
  const auto done = device->serve();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, EPIPE);
}

/// Somebody who asks and asks and reads no answer must not stop the other cards, and loses nothing.
TEST_F(Proxy, DoesNotWaitForOneWhoTakesNoAnswers) {
  const struct {
    ProxyHeader header{static_cast<std::int32_t>(ProxyCommand::config_read), 0, sizeof(ProxyConfigAccess)};
    ProxyConfigAccess access{0, 0, 4};
  } question;
  constexpr std::size_t length = sizeof(ProxyHeader) + sizeof(ProxyConfigAccess);  // without padding
  unsigned asked = 0, served = 0;
  while (send(qemu.fd(), &question, length, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(length)) {
    ++asked;
    const auto done = device->serve();
    ASSERT_TRUE(done) << done.error().text;
    served += *done;
  }
  EXPECT_LT(served, asked);
  EXPECT_EQ(device->events(), POLLOUT);
  unsigned answers = 0;
  for (std::uint64_t value = 0; qemu.answer(value); ++answers) {
    EXPECT_EQ(value, 0x101d15b3u);
    ASSERT_TRUE(device->serve());
  }
  EXPECT_EQ(answers, asked);
  EXPECT_EQ(device->events(), POLLIN);
}

}  // namespace
}  // namespace chime::serve::test
