// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/find_device.h"

#include <filesystem>

#include "hca/verbs/absence.h"
#include "verbs_test.h"

namespace chime::test {
namespace {

using namespace hca::verbs;
namespace fs = std::filesystem;

/// A folder with as much of /sys and /dev as is looked at. The netdev of a device here is lo, which every
/// machine has.
class Machine : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "chime-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override {
    EXPECT_EQ(rdma.alive(), 0);
    fs::remove_all(root);
  }
  void make(const std::string& folder) { fs::create_directories(root + folder); }
  void link(const std::string& from, const std::string& to) {
    make(fs::path(from).parent_path());
    fs::create_symlink(root + to, root + from);
  }
  void add_card(const std::string& address, const char* driver) {
    make("/sys/bus/pci/devices/" + address);
    if (driver)
      link("/sys/bus/pci/devices/" + address + "/driver", std::string("/sys/bus/pci/drivers/") + driver);
  }
  /// @param netdev nullptr: none in this network namespace
  void add_device(const std::string& name, const std::string& address, const char* netdev, bool mlx5 = true) {
    add_card(address, "mlx5_core");
    if (netdev) make("/sys/bus/pci/devices/" + address + "/net/" + netdev);
    link("/sys/class/infiniband/" + name + "/device", "/sys/bus/pci/devices/" + address);
    rdma.add_device(name.c_str(), (root + "/sys/class/infiniband/" + name).c_str(), mlx5);
  }
  template <class R>
  static ::testing::AssertionResult says(const R& result, int errnum, const char* words) {
    if (result) return ::testing::AssertionFailure() << "it succeeded";
    return says(result.error(), errnum, words);
  }
  static ::testing::AssertionResult says(const Error& error, int errnum, const char* words) {
    if (error.errnum == errnum && std::strstr(error.text, words)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "errno " << error.errnum << ": " << error.text;
  }
  Error absent(const char* name, int errnum = 0) { return why_absent(name, errnum, root.c_str()); }

  FakeRdmaCore rdma;
  std::string root;
};

TEST_F(Machine, FindsADeviceByEachOfItsNames) {
  add_device("mlx5_0", "0000:03:00.0", nullptr);
  add_device("mlx5_1", "0000:03:00.1", "lo");
  for (const char* name : {"mlx5_1", "0000:03:00.1", "03:00.1", "lo"}) {
    auto found = find_device(name);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_STREQ(found->device->name, "mlx5_1");
    EXPECT_STREQ(found->pci_address.data(), "0000:03:00.1");
    EXPECT_EQ(found->netdev, if_nametoindex("lo"));
  }
}

TEST_F(Machine, ListsTheDevicesThereAre) {
  add_device("mlx5_0", "0000:03:00.0", nullptr);
  add_device("mlx5_1", "0000:03:00.1", "lo");
  make("/sys/class/infiniband_verbs");
  auto found = find_device("mlx5_7");
  ASSERT_FALSE(found);
  EXPECT_NE(std::string(found.error().text).find("ibdev=mlx5_7"), std::string::npos) << found.error().text;
}

TEST_F(Machine, TellsOfANetdevElsewhere) {
  add_device("mlx5_0", "0000:03:00.0", nullptr);
  EXPECT_TRUE(says(find_device("mlx5_0"), ENODEV, "no netdev in this network namespace"));
  EXPECT_TRUE(says(find_device("mlx5_0"), ENODEV, "ip -n NAME link set NETDEV netns $$"));
}

TEST_F(Machine, TellsOfOtherCards) {
  add_device("irdma0", "0000:04:00.0", "lo", false);
  EXPECT_TRUE(says(find_device("irdma0"), ENOTSUP, "no ConnectX"));
}

TEST_F(Machine, TellsWhyThereIsNone) {
  EXPECT_TRUE(says(absent("mlx5_0"), ENOTCONN, "`modprobe -a ib_uverbs mlx5_ib`"));
  make("/sys/class/infiniband_verbs");
  EXPECT_TRUE(says(absent("mlx5_0"), ENODEV, "`modprobe -a mlx5_core mlx5_ib`"));
  EXPECT_TRUE(says(absent("mlx5_0", ENOSYS), ENOSYS, "ibv_get_device_list"));
  make("/sys/class/infiniband_verbs/uverbs0");
  EXPECT_TRUE(says(absent("mlx5_0"), ENOENT, "`--device=/dev/infiniband`"));
  make("/dev/infiniband");
  EXPECT_TRUE(says(absent("mlx5_0"), ENODEV, "there is no RDMA device"));
}

TEST_F(Machine, TellsOfTheDriverOfTheCard) {
  add_card("0000:03:00.0", "vfio-pci");
  add_card("0000:03:00.1", nullptr);
  add_card("0000:03:00.2", "mlx5_core");
  EXPECT_TRUE(says(absent("0000:03:00.0"), EBUSY, "is bound to vfio-pci"));
  EXPECT_TRUE(says(absent("03:00.0"), EBUSY, "`dpdk-devbind.py -b mlx5_core 0000:03:00.0`"));
  EXPECT_TRUE(says(absent("0000:03:00.1"), ENOTCONN, "`modprobe mlx5_core`"));
  EXPECT_TRUE(says(absent("0000:03:00.2"), ENOTCONN, "`modprobe mlx5_ib`"));
}

TEST_F(Machine, TellsOfAListThatFails) {
  rdma.fail("ibv_get_device_list", EIO);
  auto found = find_device("nothing");
  ASSERT_FALSE(found);
}

}  // namespace
}  // namespace chime::test
