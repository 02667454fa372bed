// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "prm/layouts.h"

namespace chime::model {
namespace {

using G = prm::cmd_hca_cap;
using P = prm::flow_table_prop_layout;

prm::ConstView<P> receive(const Profile& profile) {
  return profile.capabilities.view<prm::flow_table_nic_cap>(7).at(
      prm::flow_table_nic_cap::flow_table_properties_nic_receive);
}

/// What is wrong with the text; "" when it is a profile.
std::string mistake(const std::string& text) {
  auto profile = Profile::parse(text, "t.toml");
  return profile ? "" : profile.error().text;
}

TEST(Profile, TheDefaultIsAConnectX6Dx) {
  ASSERT_FALSE(Profile::names().empty());
  EXPECT_STREQ(Profile::names().front(), "connectx6dx");
}

TEST(Profile, AllAreThereAndDiffer) {
  for (const char* name : Profile::names()) {
    auto profile = Profile::named(name);
    ASSERT_TRUE(profile) << profile.error().text;
    EXPECT_STREQ(profile->name(), name);
    EXPECT_NE(profile->identity.device_id, 0);
    EXPECT_EQ(profile->capabilities.general().get(G::port_type), 1u);
  }
}

TEST(Profile, UserContextsAndBypassAsLinuxWantsThem) {
  for (const char* name : {"connectx5", "connectx6dx", "connectx7"}) {
    auto profile = Profile::named(name);
    ASSERT_TRUE(profile);
    const auto general = profile->capabilities.general();
    EXPECT_GT(general.get(G::log_max_uctx), 0u);
    EXPECT_EQ(general.get(G::uctx_cap), 3u);
    EXPECT_EQ(general.get(G::event_cap), 1u);
    EXPECT_EQ(general.get(G::eth_net_offloads), 1u);
    EXPECT_EQ(general.get(G::eswitch_manager), 0u);
    EXPECT_GE(general.get(G::log_max_sq), 7u);
    EXPECT_TRUE(profile->capabilities.has(0x14)) << "DEV_EVENT";
    const auto steering = receive(*profile);
    EXPECT_EQ(steering.get(P::flow_modify_en), 1u);
    EXPECT_EQ(steering.get(P::modify_root), 1u);
    EXPECT_EQ(steering.get(P::identified_miss_table_mode), 1u);
    EXPECT_EQ(steering.get(P::flow_table_modify), 1u);
    EXPECT_GE(steering.get(P::max_ft_level), 53u);
    EXPECT_GE(steering.get(P::log_max_ft_size), 17u);
    EXPECT_EQ(steering.get(P::sw_owner), 0u);
    EXPECT_GE(profile->port.max_mtu - 22, 9978);
  }
}

TEST(Profile, TheRecordedCardHasNeither) {
  auto profile = Profile::named("connectx4lx-14.12");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->capabilities.general().get(G::log_max_uctx), 0u);
  EXPECT_EQ(receive(*profile).get(P::flow_table_modify), 0u);
  const prm::ConstView<G> most(profile->capabilities.maximum(0));
  EXPECT_EQ(most.get(G::log_max_qp), 23u);
  EXPECT_EQ(profile->capabilities.general().get(G::log_max_qp), 14u) << "now";
}

TEST(Profile, AnUnknownNameListsTheKnown) {
  auto profile = Profile::named("connectx99");
  ASSERT_FALSE(profile);
  EXPECT_NE(std::string(profile.error().text).find("connectx6dx, connectx5, connectx7"), std::string::npos)
      << profile.error().text;
}

TEST(ProfileText, ChangesWhatItNames) {
  auto profile = Profile::parse(
      "# mine\n"
      "base = \"connectx5\"\n"
      "\n"
      "[identity]\n"
      "psid = \"MINE#1\"  # not a remark within\n"
      "[general]\n"
      "log_max_sq = 0x7 # few\r\n"
      "log_max_eq = 4\n"
      "[general.current]\n"
      "log_max_eq = 3\n"
      "[ flow_table ]\n"
      "flow_table_properties_nic_receive.max_ft_level = 60\n"
      "flow_table_properties_nic_receive.ft_field_support.outer_dmac = false\n"
      "[dev_event]\n"
      "user_affiliated_events.3 = 0x1_0000\n"
      "[behaviour]\n"
      "context_with_objects_goes = true",
      "mine.toml");
  ASSERT_TRUE(profile) << profile.error().text;
  EXPECT_STREQ(profile->name(), "mine.toml");
  EXPECT_STREQ(profile->identity.psid, "MINE#1");
  EXPECT_EQ(profile->identity.device_id, 0x1017);
  EXPECT_EQ(profile->capabilities.general().get(G::log_max_sq), 7u);
  EXPECT_EQ(profile->capabilities.general().get(G::log_max_eq), 3u);
  EXPECT_EQ(prm::ConstView<G>(profile->capabilities.maximum(0)).get(G::log_max_eq), 4u);
  EXPECT_EQ(receive(*profile).get(P::max_ft_level), 60u);
  EXPECT_EQ(receive(*profile).at(P::ft_field_support).get(prm::flow_table_fields_supported::outer_dmac), 0u);
  EXPECT_EQ(profile->capabilities.view<prm::device_event_cap>(0x14).get(
                prm::device_event_cap::user_affiliated_events, 3),
            0x10000u);
  EXPECT_TRUE(profile->behaviour.context_with_objects_goes);
}

TEST(ProfileText, NamesTheLineAndTheMistake) {
  const std::string base = "base = \"connectx6dx\"\n";
  auto wants = [](const std::string& got, const char* part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  wants(mistake(""), "t.toml:0: a profile begins with base");
  wants(mistake("[general]\nlog_max_sq = 3"), "t.toml:2: a profile begins with base");
  wants(mistake("base = \"none\""), "t.toml:1: there is no profile none");
  wants(mistake(base + "x = 1"), "t.toml:2: there is no section []");
  wants(mistake(base + "[nowhere]\nx = 1"), "t.toml:3: there is no section [nowhere]");
  wants(mistake(base + "[general]\nlog_max_sqs = 1"), "cmd_hca_cap has no field log_max_sqs");
  wants(mistake(base + "[general]\nlog_max_sq = 32"), "its 5 bits hold 31 at most");
  wants(mistake(base + "[general]\nlog_max_sq = \"3\""), "log_max_sq is an integer");
  wants(mistake(base + "[general]\nlog_max_sq = 3\nlog_max_sq = 4"),
        "t.toml:4: this key has a value already");
  wants(mistake(base + "[general]\nlog_max_sq = -3"), "an integer that is not negative");
  wants(mistake(base + "[general]\nlog_max_sq = 3.5"), "an integer is spelt");
  wants(mistake(base + "[general]\nlog_max_sq = 007"), "an integer is spelt");
  wants(mistake(base + "[general]\nlog_max_sq = 1_"), "an integer is spelt");
  wants(mistake(base + "[general]\nlog_max_sq = 99999999999999999999999"), "64 bits at most");
  wants(mistake(base + "[general]\nlog_max_sq ="), "the value is missing");
  wants(mistake(base + "[general]\nlog_max_sq"), "neither [section] nor key = value");
  wants(mistake(base + "[general\nlog_max_sq = 1"), "a section ends with ]");
  wants(mistake(base + "[gen eral]"), "a section's name has");
  wants(mistake(base + "[identity]\npsid = \"12345678901234567\""), "16 characters at most");
  wants(mistake(base + "[identity]\npsid = \"a\\\"b\""), "something follows the string");
  wants(mistake(base + "[identity]\npsid = \"a\\n\""), "no escapes");
  wants(mistake(base + "[identity]\npsid = \"a"), "the string has no end");
  wants(mistake(base + "[port]\nlanes = 9"), "it can be 4 at most");
  wants(mistake(base + "[port]\nspeed = 9"), "[port] has no speed");
  wants(mistake(base + "[behaviour]\nboot_pages = true"), "boot_pages is an integer");
  wants(mistake(base + "[behaviour]\ncontext_with_objects_goes = 2"), "true or false");
  wants(mistake(base + "[dev_event]\nuser_affiliated_events = 1"), "has no field");
  wants(mistake(base + "[dev_event]\nuser_affiliated_events.4 = 1"), "has no field");
  wants(mistake(base + "[general]\nreserved_0x1001 = 1"), "has no field");
}

TEST(ProfileText, IsReadFromAFile) {
  auto none = Profile::load("/nonexistent/profile.toml");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errnum, ENOENT);
  const std::string path = testing::TempDir() + "chime-profile-test.toml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_TRUE(file);
  std::fputs("base = \"connectx7\"\n[port]\nmax_mtu = 1522\n", file);
  std::fclose(file);
  auto profile = Profile::load(path.c_str());
  std::remove(path.c_str());
  ASSERT_TRUE(profile) << profile.error().text;
  EXPECT_EQ(profile->port.max_mtu, 1522);
}

}  // namespace
}  // namespace chime::model
