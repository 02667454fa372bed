// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>

#include "hca/verbs/event_channel.h"
#include "hca/verbs/memory.h"
#include "hca/verbs/pd.h"
#include "hca/verbs/uar.h"
#include "verbs_test.h"

namespace chime::test {
namespace {

using namespace hca::verbs;

alignas(4096) std::byte page[4096];

class Resources : public VerbsTest {
 protected:
  Owned<Handle> make_pd() {
    std::array<std::byte, 16> out;
    auto pd = alloc_pd(*context, out);
    EXPECT_TRUE(pd);
    return std::move(*pd);
  }
};

TEST_F(Resources, MemoryHasItsKeysAndRights) {
  const auto pd = make_pd();
  auto range =
      register_range(*pd, page, sizeof page,
                     {.local_write = true, .remote_read = true, .remote_write = true, .remote_atomic = true});
  ASSERT_TRUE(range) << range.error().text;
  EXPECT_EQ(range->lkey, rdma.last_number << 8);
  EXPECT_EQ(rdma.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_ATOMIC);
  EXPECT_EQ(rdma.alive("mr"), 1);
}

TEST_F(Resources, RegistrationThatFailsNamesTheLimitOfLockedMemory) {
  const auto pd = make_pd();
  rdma.fail("ibv_reg_mr", EFAULT);
  EXPECT_TRUE(says(register_range(*pd, page, sizeof page, {}), EFAULT, "4096 bytes of memory: ibv_reg_mr"));
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &former), 0);
  rlimit small = former;
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &small), 0);
  rdma.fail("ibv_reg_mr", ENOMEM);
  EXPECT_TRUE(says(register_range(*pd, page, sizeof page, {}), ENOMEM, "(64 KiB a process); `ulimit -l"));
  rdma.fail("mlx5dv_devx_umem_reg", ENOMEM);
  EXPECT_TRUE(says(make_umem(*context, page, sizeof page, {}), ENOMEM, "LimitMEMLOCK=infinity"));
  setrlimit(RLIMIT_MEMLOCK, &former);
}

TEST_F(Resources, MemoryIsRegisteredOnAPd) {
  auto umem = make_umem(*context, page, sizeof page, {.local_write = true});
  ASSERT_TRUE(umem);
  EXPECT_TRUE(says(register_range(**umem, page, sizeof page, {}), EINVAL, "protection domain"));
}

TEST_F(Resources, UmemsAreChecked) {
  auto umem = make_umem(*context, page, sizeof page, {.local_write = true});
  ASSERT_TRUE(umem);
  EXPECT_EQ((*umem)->number(), rdma.last_number);
  EXPECT_EQ(rdma.access, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_TRUE(says(make_umem(*context, page + 8, 64, {}), EINVAL, "begins on a page"));
  EXPECT_TRUE(says(make_umem(*context, page, 64, {.remote_atomic = true}), EPERM, "register_memory"));
  rdma.fail("mlx5dv_devx_umem_reg", EINVAL);
  EXPECT_TRUE(says(make_umem(*context, page, 64, {}), EINVAL, "mlx5dv_devx_umem_reg"));
}

TEST_F(Resources, AUarHasItsTwoDoorbells) {
  auto uar = UarHandle::make(*context);
  ASSERT_TRUE(uar);
  const hca::Doorbell send = (*uar)->send_doorbell();
  const hca::Doorbell arm = (*uar)->arm_doorbell();
  EXPECT_EQ(send.base - arm.base, 0x800 - 0x20);
  EXPECT_EQ(send.step, 0);
  EXPECT_EQ(send.mask, 0);
  EXPECT_EQ((*uar)->number(), rdma.last_number);
}

TEST_F(Resources, AUarThatFails) {
  rdma.fail("mlx5dv_devx_alloc_uar", EOPNOTSUPP);
  EXPECT_TRUE(says(UarHandle::make(*context), ENOTSUP, "uname -r"));
  rdma.fail("mlx5dv_devx_alloc_uar", ENOMEM);
  EXPECT_TRUE(says(UarHandle::make(*context), ENOMEM, "mlx5dv_devx_alloc_uar"));
}

TEST_F(Resources, AChannelWithoutEventsDoesNotBlock) {
  auto channel = Channel::make(*context);
  ASSERT_TRUE(channel);
  auto none = (*channel)->next();
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST_F(Resources, AChannelThatFails) {
  rdma.fail("mlx5dv_devx_create_event_channel", EMFILE);
  EXPECT_TRUE(says(Channel::make(*context), EMFILE, "mlx5dv_devx_create_event_channel"));
  auto channel = Channel::make(*context);
  ASSERT_TRUE(channel);
  EXPECT_TRUE(says((*channel)->subscribe({}, prm::event_type::completion, 1), EINVAL, "empty"));
  rdma.fail("mlx5dv_devx_get_event", EIO);
  EXPECT_TRUE(says((*channel)->next(), EIO, "mlx5dv_devx_get_event"));
  rdma.fail("mlx5dv_devx_get_event", ERANGE);  // the fake's short event
  EXPECT_TRUE(says((*channel)->next(), EIO, "no cookie"));
}

}  // namespace
}  // namespace chime::test
