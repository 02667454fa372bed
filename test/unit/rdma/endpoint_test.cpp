// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/endpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

namespace chime::rdma {
namespace {

Endpoint endpoint() {
  Endpoint e{.qpn = 0x800100,
             .psn = 0x3f2a10,
             .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 0, 1},
             .mac = {2, 0, 0, 0, 0, 1},
             .mtu = 4096,
             .depth = 16,
             .reserved = 0,
             .check = 0};
  seal(e);
  return e;
}

MemoryDescriptor descriptor() {
  MemoryDescriptor d{.address = 0x7f0012345000, .length = 4096, .rkey = 0x1234, .rights = 0xf, .check = 0};
  seal(d);
  return d;
}

template <class T>
std::string text(const T& what) {
  char room[endpoint_text_size];
  const std::size_t length = format(what, room);
  EXPECT_LT(length, sizeof room);
  return {room, length};
}

TEST(EndpointText, IsReadBack) {
  const Endpoint e = endpoint();
  const std::string line = text(e);
  EXPECT_TRUE(
      line.starts_with("chime-qp-1,qpn=800100,psn=3f2a10,gid=00000000000000000000ffffc0a80001,"
                       "mac=020000000001,mtu=4096,depth=16,check="))
      << line;
  const auto again = parse_endpoint(line);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(std::memcmp(&*again, &e, sizeof e), 0);
  EXPECT_TRUE(parse_endpoint(line + "\r\n"));
}

TEST(EndpointText, EveryChangedCharacterIsFound) {
  const std::string line = text(endpoint());
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(parse_endpoint(changed)) << changed;
  }
  for (std::size_t i = 0; i < line.size(); ++i) EXPECT_FALSE(parse_endpoint(line.substr(0, i))) << i;
  EXPECT_FALSE(parse_endpoint(line + ",more=1"));
  EXPECT_FALSE(parse_endpoint(""));
}

TEST(EndpointText, ErrorsNameTheField) {
  const auto error = [](const std::string& line) { return std::string(parse_endpoint(line).error().text); };
  EXPECT_NE(error("chime-qp-2,qpn=1").find("chime-qp-1"), std::string::npos);
  EXPECT_NE(error("chime-qp-1,qpn=x").find("`qpn`"), std::string::npos);
  EXPECT_NE(error("chime-qp-1,qpn=8001000").find("`qpn`"), std::string::npos) << "more than 24 bits";
  EXPECT_NE(error("chime-qp-1,qpn=800100,psn=0,gid=00").find("`gid`"), std::string::npos);
}

TEST(Endpoint, NonsenseIsRefused) {
  EXPECT_TRUE(check(endpoint()));
  const auto wrong = [](const std::function<void(Endpoint&)>& change) {
    Endpoint e = endpoint();
    change(e);
    seal(e);
    return !check(e);
  };
  EXPECT_TRUE(wrong([](Endpoint& e) { e.qpn = 0; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.qpn = 1; })) << "QP1 is for management";
  EXPECT_TRUE(wrong([](Endpoint& e) { e.qpn = 0xffffff; })) << "that is multicast";
  EXPECT_TRUE(wrong([](Endpoint& e) { e.qpn = 0x1000000; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.psn = 0x1000000; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.gid = {}; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.mac = {}; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.mac[0] = 1; })) << "a group address";
  for (const unsigned mtu : {0u, 1u, 128u, 255u, 1000u, 8192u})
    EXPECT_TRUE(wrong([=](Endpoint& e) { e.mtu = static_cast<std::uint16_t>(mtu); }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.depth = 0; }));
  EXPECT_TRUE(wrong([](Endpoint& e) { e.depth = 129; }));
  Endpoint torn = endpoint();
  torn.psn ^= 1;
  EXPECT_EQ(check(torn).error().errnum, EBADMSG);
}

TEST(MemoryDescriptorText, IsReadBack) {
  const MemoryDescriptor d = descriptor();
  const std::string line = text(d);
  EXPECT_TRUE(line.starts_with("chime-mem-1,address=7f0012345000,length=4096,rkey=1234,rights=f,check="))
      << line;
  const auto again = parse_memory(line);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(std::memcmp(&*again, &d, sizeof d), 0);
  EXPECT_FALSE(parse_endpoint(line)) << "not an endpoint";
  MemoryDescriptor longest{
      .address = UINT64_MAX, .length = UINT64_MAX, .rkey = UINT32_MAX, .rights = 0xf, .check = 0};
  seal(longest);
  EXPECT_TRUE(parse_memory(text(longest)));
}

TEST(MemoryDescriptorCheck, FindsWhatWouldFail) {
  MemoryDescriptor d = descriptor();
  EXPECT_TRUE(check(d, 0, 4096, remote_write));
  EXPECT_TRUE(check(d, 4088, 8, remote_atomic));
  EXPECT_EQ(check(d, 4092, 8, remote_atomic).error().errnum, ERANGE);
  EXPECT_EQ(check(d, UINT64_MAX, 8, 0).error().errnum, ERANGE);
  EXPECT_EQ(check(d, 4, 8, remote_atomic).error().errnum, EINVAL);
  EXPECT_TRUE(check(d, 4, 4, remote_atomic));
  EXPECT_EQ(check(d, 0, 0, remote_atomic).error().errnum, EINVAL);
  d.rights = remote_read;
  EXPECT_EQ(check(d, 0, 8, remote_read).error().errnum, EBADMSG) << "not sealed";
  seal(d);
  EXPECT_TRUE(check(d, 0, 8, remote_read));
  EXPECT_EQ(check(d, 0, 8, remote_atomic).error().errnum, EACCES);
  // As a host of the other byte order would see it.
  d.address = __builtin_bswap64(d.address);
  d.length = __builtin_bswap64(d.length);
  d.rkey = __builtin_bswap32(d.rkey);
  d.rights = __builtin_bswap16(d.rights);
  d.check = __builtin_bswap16(d.check);
  EXPECT_EQ(check(d, 0, 8, 0).error().errnum, EBADMSG);
}

}  // namespace
}  // namespace chime::rdma
