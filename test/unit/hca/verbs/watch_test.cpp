// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/watch.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs_test.h"

namespace chime::test {
namespace {

using hca::verbs::Watch;

class WatchTest : public VerbsTest {
 protected:
  static bool readable(const Watch& watch) {
    pollfd poll_fd{.fd = watch.fd(), .events = POLLIN, .revents = 0};
    return poll(&poll_fd, 1, 0) == 1;
  }
};

TEST_F(WatchTest, TakesAllEventsAndKnowsTheFatalOne) {
  Watch watch(*context);
  ASSERT_TRUE(watch.open());
  rdma.raise_async(IBV_EVENT_PORT_ACTIVE);
  rdma.raise_async(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(readable(watch));
  watch.drain();
  EXPECT_FALSE(readable(watch));
  EXPECT_FALSE(watch.lost());
  EXPECT_EQ(rdma.unacknowledged, 0u);
  rdma.raise_async(IBV_EVENT_PORT_ERR);
  rdma.raise_async(IBV_EVENT_DEVICE_FATAL);
  rdma.raise_async(IBV_EVENT_PORT_ERR);
  EXPECT_TRUE(readable(watch));
  watch.drain();
  EXPECT_TRUE(watch.lost());
  EXPECT_EQ(rdma.unacknowledged, 0u);
  EXPECT_FALSE(readable(watch)) << "a lost device's descriptor would be so for ever";
  watch.drain();
  EXPECT_TRUE(watch.lost());
}

TEST_F(WatchTest, ADescriptorThatTheKernelClosedIsALoss) {
  Watch watch(*context);
  ASSERT_TRUE(watch.open());
  rdma.raise_async(IBV_EVENT_PORT_ACTIVE);
  rdma.fail("ibv_get_async_event", EINTR);
  watch.drain();
  EXPECT_FALSE(watch.lost()) << "a signal is none";
  EXPECT_TRUE(rdma.pending_async.empty());
  rdma.fail("ibv_get_async_event", EIO);
  watch.drain();
  EXPECT_TRUE(watch.lost());
}

TEST_F(WatchTest, OpenThatFails) {
  Watch watch(*context);
  close(context->async_fd);
  context->async_fd = memfd_create("no events", MFD_CLOEXEC);
  EXPECT_TRUE(says(watch.open(), EPERM, "epoll_ctl of asynchronous events"));
  close(context->async_fd);
  context->async_fd = -1;
  EXPECT_TRUE(says(watch.open(), EBADF, "asynchronous events: O_NONBLOCK"));
}

TEST_F(WatchTest, OpenWithoutDescriptorsLeft) {
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  const int next = dup(context->async_fd);
  close(next);
  const auto open_with = [&](int more) {
    rlimit few = former;
    few.rlim_cur = static_cast<rlim_t>(next + more);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    Watch watch(*context);
    auto opened = watch.open();
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
    return opened;
  };
  EXPECT_TRUE(says(open_with(0), EMFILE, "rtnetlink socket"));
  EXPECT_TRUE(says(open_with(1), EMFILE, "epoll_create1"));
  EXPECT_TRUE(open_with(2));
}

}  // namespace
}  // namespace chime::test
