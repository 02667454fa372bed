// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>

#include "card.h"
#include "hca/port.h"
#include "path.h"

namespace chime::test {
namespace {

bool readable(int fd) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, 0) == 1;
}

class Events : public CardTest {
 protected:
  void SetUp() override {
    CardTest::SetUp();
    auto made = Path::make(*device);
    ASSERT_TRUE(made) << why(made);
    path_ = std::make_unique<Path>(std::move(*made));
    path_->post_receives(32);
    auto channel = device->create_event_channel();
    ASSERT_TRUE(channel) << why(channel);
    channel_ = std::move(*channel);
    auto arm = device->arm_doorbell(path_->uar, path_->receive_cq.object());
    ASSERT_TRUE(arm) << why(arm);
    arm_ = *arm;
  }
  void TearDown() override {
    channel_.reset();
    path_.reset();
    CardTest::TearDown();
  }

  void arm() {
    prm::CqRecord* record = path_->receive_cq.record();
    const std::uint32_t word = prm::cq_arm_word(sequence_, prm::cq_arm::any, path_->receive_consumer);
    const std::uint64_t high = prm::host_to_be(path_->receive_cq.number());
    arm_.ring(&record->arm.raw, prm::host_to_be(word), high << 32 | prm::host_to_be(word));
    ++sequence_;
  }
  void send() {
    std::array<std::byte, 64> frame{};
    frame[0] = std::byte{0xff};
    path_->send(frame);
  }

  std::unique_ptr<Path> path_;
  Owned<hca::EventChannel> channel_;
  hca::Doorbell arm_;
  std::uint32_t sequence_ = 0;
};

TEST_F(Events, AnArmedQueueWakesOnce) {
  ASSERT_TRUE(channel_->subscribe(path_->receive_cq.object(), prm::event_type::completion, 0xc0ffee));
  send();
  settle();
  EXPECT_FALSE(readable(channel_->fd())) << "not armed";
  ASSERT_NE(path_->poll_receive(), nullptr);
  for (int round = 0; round < 10; ++round) {
    arm();
    settle();
    EXPECT_FALSE(readable(channel_->fd())) << "armed, nothing came";
    send();
    send();
    settle();
    EXPECT_TRUE(readable(channel_->fd()));
    auto event = channel_->next();
    ASSERT_TRUE(event && *event);
    EXPECT_EQ((*event)->type, prm::event_type::completion);
    EXPECT_EQ((*event)->cookie, 0xc0ffeeu);
    event = channel_->next();
    ASSERT_TRUE(event);
    EXPECT_FALSE(*event) << "one event an arming";
    EXPECT_FALSE(readable(channel_->fd()));
    unsigned got = 0;
    while (path_->poll_receive()) ++got;
    EXPECT_EQ(got, 2u);
    path_->post_receives(got);
  }
}

TEST_F(Events, ArmingLateFiresAtOnce) {
  ASSERT_TRUE(channel_->subscribe(path_->receive_cq.object(), prm::event_type::completion, 1));
  send();
  settle();
  arm();  // with a consumer index that is behind
  settle();
  EXPECT_TRUE(readable(channel_->fd()));
}

TEST_F(Events, AChannelThatEndsHearsNothing) {
  ASSERT_TRUE(channel_->subscribe(path_->receive_cq.object(), prm::event_type::completion, 1));
  channel_.reset();
  arm();
  send();
  settle();
}

TEST_F(Events, AQueueThatEndsTakesItsEventAlong) {
  auto cq = hca::CompletionQueue::create(*device, {.log_size = 4,
                                                   .uar_page = path_->uar.page_id(),
                                                   .eqn = *device->query_eqn(1),
                                                   .socket = SOCKET_ID_ANY});
  ASSERT_TRUE(cq) << why(cq);
  ASSERT_TRUE(channel_->subscribe(cq->object(), prm::event_type::completion, 2));
  ASSERT_TRUE(channel_->subscribe(cq->object(), prm::event_type::cq_error, 3));
  ASSERT_TRUE(channel_->subscribe(path_->receive_cq.object(), prm::event_type::completion, 4));
  cq = hca::CompletionQueue();
  arm();
  send();
  settle();
  auto event = channel_->next();
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->cookie, 4u);
  // One that waits to be read goes too.
  arm();
  send();
  settle();
  EXPECT_TRUE(readable(channel_->fd()));
}

TEST_F(Events, OnlyWhatAnObjectHas) {
  auto of_pd = channel_->subscribe(path_->pd, prm::event_type::completion, 0);
  ASSERT_FALSE(of_pd);
  EXPECT_EQ(of_pd.error().errnum, EINVAL);
  auto of_cq = channel_->subscribe(path_->receive_cq.object(), prm::event_type::port_change, 0);
  ASSERT_FALSE(of_cq);
  EXPECT_TRUE(channel_->subscribe(path_->sq.object(), prm::event_type::wq_catastrophic_error, 0));
}

TEST_F(Events, VectorsAreCounted) {
  EXPECT_TRUE(device->query_eqn(0));
  auto none = device->query_eqn(99);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errnum, EINVAL);
}

TEST_F(Events, ThePortTellsOfItsLink) {
  hca::Port& port = device->port();
  settle();
  port.acknowledge_change();
  EXPECT_FALSE(readable(port.change_fd()));
  auto link = port.link();
  ASSERT_TRUE(link) << why(link);
  EXPECT_TRUE(link->up);
  EXPECT_GT(link->speed_mbps, 0u);
  ASSERT_TRUE(port.set_link(false));
  settle();
  EXPECT_TRUE(readable(port.change_fd()));
  EXPECT_FALSE(port.link()->up);
  port.acknowledge_change();
  EXPECT_FALSE(readable(port.change_fd()));
  ASSERT_TRUE(port.set_link(true));
  settle();
  EXPECT_TRUE(readable(port.change_fd()));
  EXPECT_TRUE(port.link()->up);
}

}  // namespace
}  // namespace chime::test
