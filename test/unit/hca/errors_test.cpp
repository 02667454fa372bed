// SPDX-License-Identifier: BSD-3-Clause
#include "../support/failing_allocation.h"
#include "card.h"
#include "hca/command.h"
#include "path.h"

/// @file
/// Whatever fails, at whichever step: an error that says so, nothing left behind, and the next try works.

namespace chime::test {
namespace {

class Errors : public CardTest {};

TEST_F(Errors, EveryCommandOfSetUpMayFail) {
  unsigned n = 1;
  for (;; ++n) {
    hca::embedded::fail_command(*device, n);
    auto path = Path::make(*device);
    hca::embedded::fail_command(*device, 0);
    if (path) break;
    EXPECT_NE(path.error().text[0], 0);
    EXPECT_EQ(path.error().errnum, EIO) << path.error().text;
    EXPECT_EQ(path.error().status, static_cast<unsigned>(prm::cmd_status::internal_err));
    ASSERT_EQ(objects(*device), objects_at_start) << "after command " << n << ": " << path.error().text;
    ASSERT_LT(n, 100u);
  }
  EXPECT_GT(n, 20u);
}

TEST_F(Errors, EveryAllocationOfSetUpMayFail) {
  unsigned n = 1;
  for (;; ++n) {
    Result<Path> path = [&] {
      const FailingAllocation failing(n);
      auto made = Path::make(*device);
      if (made && failing.failed()) ADD_FAILURE() << "allocation " << n << " failed, and nobody minded";
      return made;
    }();
    if (path) break;
    EXPECT_NE(path.error().text[0], 0);
    ASSERT_EQ(objects(*device), objects_at_start) << "after allocation " << n << ": " << path.error().text;
    ASSERT_LT(n, 1000u);
  }
  EXPECT_GT(n, 40u);
}

TEST_F(Errors, EveryAllocationOfOpenMayFail) {
  auto pd = hca::alloc_pd(*device);
  ASSERT_TRUE(pd);
  for (unsigned n = 1;; ++n) {
    auto other = [&] {
      const FailingAllocation failing(n);
      return runtime->open({.name = "test1", .model_thread = "caller"});
    }();
    if (other) break;
    EXPECT_NE(other.error().text[0], 0);
    ASSERT_LT(n, 2000u);
  }
}

TEST_F(Errors, TheCardsWordsAreInTheError) {
  hca::Command<prm::create_cq> command;
  command.in.at(prm::create_cq_in::cq_context).set(prm::cqc::log_cq_size, 31);
  auto made = command.create(*device);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().errnum, EINVAL);
  EXPECT_NE(made.error().status, 0);
  EXPECT_NE(std::string(made.error().text).find("log_max_cq_sz"), std::string::npos) << made.error().text;
}

TEST_F(Errors, AnotherContextsObjectsAreOutOfReach) {
  prm::Box<prm::create_uctx_in> context;
  prm::Box<prm::create_uctx_out> made;
  ASSERT_TRUE(hca::embedded::execute(*device, context.bytes(), made.bytes()));
  const std::uint32_t other = made.get(prm::create_uctx_out::uid);
  prm::Box<prm::alloc_transport_domain_in> alloc;
  prm::Box<prm::alloc_transport_domain_out> allocated;
  alloc.set(prm::alloc_transport_domain_in::uid, other);
  ASSERT_TRUE(hca::embedded::execute(*device, alloc.bytes(), allocated.bytes()));
  const std::uint32_t theirs = allocated.get(prm::alloc_transport_domain_out::transport_domain);

  auto tis = hca::create_tis(*device, theirs);
  ASSERT_FALSE(tis);
  EXPECT_EQ(tis.error().errnum, EINVAL);
  EXPECT_NE(tis.error().status, 0);

  prm::Box<prm::dealloc_transport_domain_in> dealloc;
  prm::Box<prm::dealloc_transport_domain_out> deallocated;
  dealloc.set(prm::dealloc_transport_domain_in::uid, other)
      .set(prm::dealloc_transport_domain_in::transport_domain, theirs);
  ASSERT_TRUE(hca::embedded::execute(*device, dealloc.bytes(), deallocated.bytes()));
  prm::Box<prm::destroy_uctx_in> end;
  prm::Box<prm::destroy_uctx_out> ended;
  end.set(prm::destroy_uctx_in::uid, other);
  ASSERT_TRUE(hca::embedded::execute(*device, end.bytes(), ended.bytes()));
}

TEST_F(Errors, EndingWhatIsInUseIsReportedAndMadeGoodAtClose) {
  auto td = hca::alloc_transport_domain(*device);
  auto tis = hca::create_tis(*device, td->number());
  ASSERT_TRUE(tis) << why(tis);
  *td = {};
  EXPECT_EQ(hca::embedded::refused_destroys(*device), 1u);
  EXPECT_NE(objects(*device), objects_at_start);
  *tis = {};
  device.reset();  // what was left goes with the context
}

TEST_F(Errors, UmemsAreChecked) {
  alignas(4096) static std::byte page[8192];
  auto crooked = device->register_umem(page + 8, 4096, {.local_write = true});
  ASSERT_FALSE(crooked);
  EXPECT_EQ(crooked.error().errnum, EINVAL);
  auto nowhere = device->register_umem(reinterpret_cast<void*>(0x1000), 4096, {.local_write = true});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().errnum, EFAULT);
  auto atomic = device->register_umem(page, 4096, {.local_write = true, .remote_atomic = true});
  ASSERT_FALSE(atomic);
  EXPECT_EQ(atomic.error().errnum, EPERM);
  EXPECT_TRUE(device->register_umem(page, 8192, {.local_write = true}));
}

TEST_F(Errors, OpenIsChecked) {
  const auto refused = [&](const hca::OpenOptions& options, int errnum) {
    auto opened = runtime->open(options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().errnum, errnum) << opened.error().text;
  };
  auto card = runtime->open({.name = "x", .ibdev = "no-such-card"});
  ASSERT_FALSE(card);
  EXPECT_NE(std::string(card.error().text).find("ibdev=no-such-card: "), std::string::npos)
      << card.error().text;
  refused({.name = "x", .profile = "no-such-card"}, ENOENT);
  refused({.name = "x", .model_thread = "elsewhere"}, EINVAL);
  refused({.name = "test0", .model_thread = "caller"}, EEXIST);
}

}  // namespace
}  // namespace chime::test
