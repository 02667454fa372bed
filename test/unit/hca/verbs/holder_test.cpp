// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/holder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace chime::test {
namespace {

namespace fs = std::filesystem;
using hca::verbs::check_unheld;

/// A folder that looks like /proc.
class Holder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "chime-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    proc = pattern;
    add("self", nullptr, "");
  }
  void TearDown() override { fs::remove_all(proc); }
  void add(const std::string& pid, const char* file, const std::string& library) {
    fs::create_directories(proc + "/" + pid + "/fd");
    if (file) fs::create_symlink(file, proc + "/" + pid + "/fd/7");
    std::ofstream(proc + "/" + pid + "/maps") << "7f00-7f01 r-xp 0 00:00 0 /lib/libc.so.6\n"
                                              << "7f02-7f03 r-xp 0 00:00 0 " << library << "\n";
    std::ofstream(proc + "/" + pid + "/comm") << "program\n";
  }
  Result<> check() { return check_unheld("uverbs0", "mlx5_0", "0000:03:00.0", proc.c_str()); }

  std::string proc;
};

TEST_F(Holder, NobodyIs) {
  add("1000", "/dev/infiniband/uverbs1", "/usr/lib/librte_net_mlx5.so.23");
  add("1001", "/dev/null", "/usr/lib/librte_net_chime.so.0");
  EXPECT_TRUE(check());
}

TEST_F(Holder, AnotherRdmaProgramIsNone) {
  add("1000", "/dev/infiniband/uverbs0", "/usr/lib/libmlx5.so.1");
  EXPECT_TRUE(check());
}

TEST_F(Holder, ADpdkProgramIsNamed) {
  add("1000", "/dev/infiniband/uverbs0", "/usr/lib/librte_net_mlx5.so.23");
  const auto held = check();
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().errnum, EBUSY);
  EXPECT_TRUE(std::strstr(held.error().text, "process 1000 (program)")) << held.error().text;
  EXPECT_TRUE(std::strstr(held.error().text, "`kill 1000`")) << held.error().text;
}

TEST_F(Holder, ThisProcessMayBeIt) {
  fs::create_symlink("/dev/infiniband/uverbs0", proc + "/self/fd/9");
  const auto held = check();
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().errnum, EBUSY);
  EXPECT_TRUE(std::strstr(held.error().text, "`-b 0000:03:00.0`")) << held.error().text;
}

}  // namespace
}  // namespace chime::test
