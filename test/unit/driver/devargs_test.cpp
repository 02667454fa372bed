// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace chime::net {
namespace {

/// Parses text that must be refused. @return the error's text
std::string refusal(std::string_view text) {
  Result<DevArgs> args = DevArgs::parse(text);
  EXPECT_FALSE(args) << text;
  if (args) return "";
  EXPECT_EQ(args.error().errnum, EINVAL) << text;
  return args.error().text;
}

bool mentions(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

TEST(DevArgs, NothingGivenIsALoopedHca) {
  Result<DevArgs> args = DevArgs::parse("");
  ASSERT_TRUE(args);
  const hca::OpenOptions options = args->options("net_chime7", 7);
  EXPECT_STREQ(options.name, "net_chime7");
  EXPECT_STREQ(options.wire, "loop");
  EXPECT_EQ(options.ibdev, nullptr);
  EXPECT_EQ(options.profile, nullptr);
  EXPECT_STREQ(options.model_thread, "shared");
  EXPECT_EQ(options.model_cpu, -1);
  EXPECT_EQ(options.mac_seed, 7u);
  EXPECT_EQ(options.loss_ppm, 0u);
  EXPECT_EQ(options.fault_seed, 1u);
  EXPECT_FALSE(args->mac);
}

TEST(DevArgs, EveryArgumentArrives) {
  Result<DevArgs> args = DevArgs::parse(
      "wire=cable:a,profile=connectx7,mac=02:00:5e:10:00:fe,model_thread=own,model_cpu=3,loss=2500,"
      "duplicate=0.25%,reorder=100%,corrupt=1%,delay=150,fault_seed=18446744073709551615,"
      "link_speed=25000");
  ASSERT_TRUE(args) << args.error().text;
  const hca::OpenOptions options = args->options("x", 0);
  EXPECT_STREQ(options.wire, "cable:a");
  EXPECT_STREQ(options.profile, "connectx7");
  EXPECT_STREQ(options.model_thread, "own");
  EXPECT_EQ(options.model_cpu, 3);
  EXPECT_EQ(options.loss_ppm, 2500u);
  EXPECT_EQ(options.duplicate_ppm, 2500u);
  EXPECT_EQ(options.reorder_ppm, 1'000'000u);
  EXPECT_EQ(options.corrupt_ppm, 10'000u);
  EXPECT_EQ(options.delay_us, 150u);
  EXPECT_EQ(options.fault_seed, UINT64_MAX);
  EXPECT_EQ(options.link_mbps, 25'000u);
  ASSERT_TRUE(args->mac);
  EXPECT_EQ(*args->mac, (hca::MacAddress{0x02, 0x00, 0x5e, 0x10, 0x00, 0xfe}));
}

TEST(DevArgs, CardTakesAnAddressAndNothingOfTheModel) {
  Result<DevArgs> args = DevArgs::parse("ibdev=mlx5_0,mac=02:00:00:00:00:01");
  ASSERT_TRUE(args) << args.error().text;
  EXPECT_STREQ(args->options("x", 0).ibdev, "mlx5_0");
  for (const char* more :
       {"wire=loop", "profile=connectx7", "model_thread=own", "model_cpu=1", "loss=1", "duplicate=1",
        "reorder=1", "corrupt=1", "delay=1", "fault_seed=1", "link_speed=10000"}) {
    const std::string text = refusal("ibdev=0000:03:00.0," + std::string(more));
    EXPECT_TRUE(mentions(text, std::string(more).substr(0, std::string(more).find('=')))) << text;
    EXPECT_TRUE(mentions(text, "0000:03:00.0")) << text;
  }
}

TEST(DevArgs, UnknownOneIsNamedAndTheKnownAreListed) {
  const std::string text = refusal("wire=loop,wires=3");
  EXPECT_TRUE(mentions(text, "\"wires\"")) << text;
  // The whole list fits the error's text.
  for (const char* key : {"wire,", "profile,", "ibdev,", "mac,", "model_thread,", "model_cpu,", "loss,",
                          "duplicate,", "reorder,", "corrupt,", "delay,", "fault_seed", "link_speed"})
    EXPECT_TRUE(mentions(text, key)) << key << " in " << text;
}

TEST(DevArgs, EveryWrongValueIsNamed) {
  struct Case {
    const char* text;
    const char* says;
  };
  const std::string long_wire = "wire=" + std::string(64, 'w');
  for (const Case& c : {Case{"wire", "wire has no value"},
                        Case{"wire=", "wire has no value"},
                        Case{"=loop", "unknown argument"},
                        Case{",", "unknown argument"},
                        Case{"wire=loop,wire=loop", "wire is given twice"},
                        Case{long_wire.c_str(), "at most 63 characters"},
                        Case{"mac=02:00:00:00:00", "not an address"},
                        Case{"mac=02:00:00:00:00:0g", "not an address"},
                        Case{"mac=02-00-00-00-00-01", "not an address"},
                        Case{"mac=+2:00:00:00:00:01", "not an address"},
                        Case{"mac=03:00:00:00:00:01", "multicast"},
                        Case{"mac=00:00:00:00:00:00", "zero"},
                        Case{"model_thread=none", "neither shared, own nor caller"},
                        Case{"model_cpu=-1", "model_cpu=-1"},
                        Case{"model_cpu=1.5", "model_cpu=1.5"},
                        Case{"model_cpu=99999", "0 to 4095"},
                        Case{"loss=1000001", "parts of a million"},
                        Case{"loss=100.0001%", "percent"},
                        Case{"loss=0.5", "percent"},
                        Case{"loss=%", "percent"},
                        Case{"loss=.5%", "percent"},
                        Case{"loss=5.%", "percent"},
                        Case{"loss=0.00001%", "percent"},
                        Case{"loss=1e3", "parts of a million"},
                        Case{"delay=10000001", "10000000"},
                        Case{"delay=1us", "delay=1us"},
                        Case{"fault_seed=18446744073709551616", "fault_seed="},
                        Case{"link_speed=999", "from 1000 to 400000"},
                        Case{"link_speed=10G", "10G"}}) {
    const std::string text = refusal(c.text);
    EXPECT_TRUE(mentions(text, c.says)) << c.text << " -> " << text;
  }
}

TEST(DevArgs, CommaAtTheEndSaysNothing) {
  EXPECT_TRUE(DevArgs::parse("wire=loop,"));
}

TEST(DevArgs, LongGarbageFitsTheError) {
  const std::string text = refusal(std::string(5000, 'x') + "=1");
  EXPECT_LT(text.size(), 248u);
  EXPECT_TRUE(mentions(text, "fault_seed")) << text;
}

}  // namespace
}  // namespace chime::net
