// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <sys/un.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "../support/quiet_wire.h"
#include "model/profile.h"
#include "support.h"
#include "vfio_device.h"

/// @file
/// A card behind vfio-user, and the client's side of its socket.

namespace chime::serve::test {

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

}  // namespace chime::serve::test
