// SPDX-License-Identifier: BSD-3-Clause
// Options of a card, and the commands of the control socket on it.
#include "nic.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control.h"
#include "support.h"

namespace chime::serve::test {
namespace {

using Json = nlohmann::json;

std::string refusal(const std::string& text) {
  const auto parsed = NicOptions::parse(text);
  return parsed ? "" : parsed.error().text;
}

TEST(NicOptions, AreRead) {
  const auto nic =
      NicOptions::parse("name=a,fd=7,qtest=/x/q,wire=cable:c,profile=connectx7,mac=02:00:00:00:00:0A");
  ASSERT_TRUE(nic) << nic.error().text;
  EXPECT_EQ(nic->name, "a");
  EXPECT_EQ(nic->fd, 7);
  EXPECT_EQ(nic->qtest, "/x/q");
  EXPECT_EQ(nic->wire, "cable:c");
  EXPECT_EQ(nic->profile, "connectx7");
  EXPECT_EQ(nic->mac, 0x02000000000au);
  const auto least = NicOptions::parse("name=a,fd=0,qtest=q");
  ASSERT_TRUE(least);
  EXPECT_EQ(least->wire, "loop");
  EXPECT_EQ(least->mac, 0u);
}

TEST(NicOptions, ThatAreWrongSaySo) {
  EXPECT_NE(refusal(""), "");
  for (const char* lacking : {"fd=3,qtest=q", "name=a,qtest=q", "name=a,fd=3"})
    EXPECT_NE(refusal(lacking).find("are needed"), std::string::npos) << lacking;
  for (const char* fd : {"-1", "x", "3x", "99999999999", " 3"})
    EXPECT_NE(refusal(std::string("name=a,qtest=q,fd=") + fd).find("no file descriptor"), std::string::npos)
        << fd;
  EXPECT_NE(refusal("name=a,fd=3,qtest=q,speed=9").find("speed=: unknown; there are"), std::string::npos);
  EXPECT_NE(refusal("name,fd=3,qtest=q").find("'name' has no value"), std::string::npos);
  EXPECT_NE(refusal("name=,fd=3,qtest=q").find("has no value"), std::string::npos);
  for (const char* mac : {"02:00:00:00:00", "02:00:00:00:00:01:02", "01:00:00:00:00:01", "00:00:00:00:00:00",
                          "02:00:00:00:00:100", "02:00:00:00:00:0g", "02:00:00:00:00:01:",
                          "02-00-00-00-00-01", "02:00:00:00:00:-1", "02:00:00::00:01", ":::::"})
    EXPECT_NE(refusal(std::string("name=a,fd=3,qtest=q,mac=") + mac).find("no unicast address"),
              std::string::npos)
        << mac;
}

struct Direct final : wire::Executor {
  void call(void (*function)(void*), void* argument) noexcept override { function(argument); }
};

class Cards : public ::testing::Test {
 protected:
  Cards() {
    add("net0");
    add("net1");
  }
  void add(const std::string& name) {
    Qemu& qemu = qemus.emplace_back();
    FileDescriptor end = qemu.take_end();
    NicOptions options;
    options.name = name;
    options.wire = "cable:c";
    options.fd = dup(end.get());
    options.qtest = "/nowhere/qtest";
    auto nic = Nic::create(options, &qtest, *wires, direct);
    if (!nic) throw std::runtime_error(nic.error().text);
    nics.push_back(std::move(*nic));
  }
  Json ask(const std::string& line) { return Json::parse(execute_control(line, nics, *wires)); }
  std::string error(const std::string& line) {
    const Json answer = ask(line);
    EXPECT_EQ(answer["ok"], false) << line;
    return answer.value("error", "");
  }
  void agreed(const std::string& line) {
    EXPECT_EQ(ask(line)["ok"], true) << line << ": " << ask(line).dump();
  }

  Direct direct;
  Owned<wire::Factory> wires = std::move(*wire::Factory::create());
  Qtest qtest{"/nowhere/qtest"};
  std::vector<Qemu> qemus;
  std::vector<Owned<Nic>> nics;
};

TEST_F(Cards, LinkAndFaultsDoNotDisturbEachOther) {
  agreed("link net0 down");
  EXPECT_TRUE(nics[0]->faults().link_down);
  EXPECT_FALSE(nics[1]->faults().link_down);
  agreed("faults net0 loss=1000,delay=5,seed=3");
  EXPECT_TRUE(nics[0]->faults().link_down);
  EXPECT_EQ(nics[0]->faults().loss_ppm, 1000u);
  agreed("link net0 up");
  EXPECT_EQ(nics[0]->faults().loss_ppm, 1000u);
  EXPECT_EQ(nics[0]->faults().delay_us, 5u);
  agreed("faults net0 duplicate=1,reorder=2,corrupt=3");
  EXPECT_EQ(nics[0]->faults().loss_ppm, 0u) << "a list replaces the last";
  agreed("faults net0");
  EXPECT_FALSE(nics[0]->faults().any());
}

TEST_F(Cards, HealthIsShown) {
  agreed("health net1 0x10");
  EXPECT_EQ(nics[1]->function().read_bar(0x23c, 4) >> 8 & 0xff, 0x10u);
  agreed("health net1 1 fatal");
  agreed("health net1 0");
  EXPECT_EQ(nics[1]->function().read_bar(0x23c, 4), 0u);
}

TEST_F(Cards, CountersAndObjectsAreCounted) {
  const Json counters = ask("counters net0");
  EXPECT_EQ(counters["ok"], true);
  EXPECT_EQ(counters["wire"]["tx_frames"], 0);
  EXPECT_EQ(counters["interrupts"]["lost"], 0);
  EXPECT_EQ(counters["errors"], 0);
  const Json objects = ask("objects net0");
  EXPECT_EQ(objects["ok"], true);
  EXPECT_EQ(objects["objects"]["EQ"], 0);
}

TEST_F(Cards, MistakesAreExplained) {
  EXPECT_NE(error("").find("there are net0 net1"), std::string::npos);
  EXPECT_NE(error("link net7 up").find("no NIC 'net7'"), std::string::npos);
  EXPECT_NE(error("dance net0").find("there are link, faults, health, counters, objects"), std::string::npos);
  for (const char* line : {"link net0", "link net0 sideways", "link net0 up down"})
    EXPECT_EQ(error(line), "link NIC up|down") << line;
  for (const char* line : {"faults net0 loss", "faults net0 loss=", "faults net0 loss=x",
                           "faults net0 loss=-1", "faults net0 loss=4294967296", "faults net0 loss=1,,"})
    EXPECT_NE(error(line).find("no number"), std::string::npos) << line;
  EXPECT_NE(error("faults net0 colour=3").find("colour: unknown"), std::string::npos);
  EXPECT_NE(error("faults net0 loss=1 delay=2").find("without a blank"), std::string::npos);
  for (const char* line : {"health net0", "health net0 x", "health net0 256", "health net0 -1",
                           "health net0 1 fatally", "health net0 1 fatal now"})
    EXPECT_NE(error(line).find("health NIC SYNDROME [fatal]"), std::string::npos) << line;
  EXPECT_FALSE(nics[0]->faults().any()) << "nothing of what was refused took effect";
}

TEST_F(Cards, WhatIsNoTextIsAnsweredAsText) {
  EXPECT_NE(error("link \xff\xfe\x80 up"), "");
  EXPECT_NE(error("\xc3\x28 net0"), "");
  EXPECT_NE(error("faults net0 \xff=1"), "");
}

TEST_F(Cards, ACardWithoutQemuIsLeftAsNew) {
  nics[0]->function().write_config(0x10, 0xe0000000, 4);
  qemus[0].hang_up();
  const auto served = nics[0]->serve();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().errnum, EPIPE);
  EXPECT_FALSE(nics[0]->connected());
  EXPECT_EQ(nics[0]->fd(), -1);
  EXPECT_EQ(nics[0]->function().read_config(0x10, 4), 0u);
  EXPECT_TRUE(nics[0]->serve()) << "said once";
  EXPECT_TRUE(nics[1]->connected());
}

TEST_F(Cards, TakeTurnsOnTheControlSocket) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("chime-control-" + std::to_string(getpid()));
  {
    auto control = Control::listen(path);
    ASSERT_TRUE(control) << control.error().text;
    FileDescriptor client(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string first = "link net0 down\nlink ", second = "net0 up\n";
    ASSERT_EQ(write(client.get(), first.data(), first.size()), static_cast<ssize_t>(first.size()));
    EXPECT_EQ(control->serve(nics, *wires), 1u);
    EXPECT_TRUE(nics[0]->faults().link_down);
    ASSERT_EQ(write(client.get(), second.data(), second.size()), static_cast<ssize_t>(second.size()));
    EXPECT_EQ(control->serve(nics, *wires), 1u);
    EXPECT_FALSE(nics[0]->faults().link_down);
    std::string text(256, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(client.get(), text.data(), text.size()))));
    EXPECT_EQ(text, "{\"ok\":true}\n{\"ok\":true}\n");
    const std::string endless(8192, 'x');
    ASSERT_EQ(write(client.get(), endless.data(), endless.size()), static_cast<ssize_t>(endless.size()));
    for (int i = 0; i < 10; ++i) control->serve(nics, *wires);
    EXPECT_EQ(control->descriptors().size(), 1u) << "a line without end is hung up on";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ControlSocket, TakesThePlaceOfNoFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("chime-file-" + std::to_string(getpid()));
  std::ofstream(path) << "precious";
  EXPECT_FALSE(Control::listen(path));
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  const auto long_path = Control::listen("/tmp/" + std::string(200, 'x'));
  ASSERT_FALSE(long_path);
  EXPECT_EQ(long_path.error().errnum, ENAMETOOLONG);
}

}  // namespace
}  // namespace chime::serve::test
