// SPDX-License-Identifier: BSD-3-Clause
// Who may connect to a card behind vfio-user, and when a connection ends.
#include <sys/resource.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vfio_card.h"

namespace chime::serve::test {
namespace {

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
