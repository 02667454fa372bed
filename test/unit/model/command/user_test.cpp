// SPDX-License-Identifier: BSD-3-Clause
// User contexts, their memory, and what belongs to whom.
#include "../support/host.h"

namespace chime::test {
namespace {

using model::Rule;

Answer destroy_context(Host& host, std::uint16_t uid) {
  Call<prm::destroy_uctx> call;
  call.in.set(prm::destroy_uctx_in::uid, uid);
  return host.run(call);
}

Answer dealloc_pd(Host& host, std::uint32_t pd, std::uint16_t uid) {
  Call<prm::dealloc_pd> call;
  call.in.set(prm::dealloc_pd_in::pd, pd);
  return host.run(call, uid);
}

struct UmemCall {
  explicit UmemCall(std::uint64_t pages = 1, std::size_t listed = 1)
      : in(prm::create_umem_in::size + listed * 8), out(16) {
    view().set(prm::create_umem_in::opcode, prm::cmd_opcode::create_umem);
    umem().set(prm::umem::num_of_mtt, pages);
    for (std::size_t i = 0; i < listed; ++i) {
      prm::set_bits(in.data(), (prm::create_umem_in::size + i * 8) * 8, 64, HostMemory::base + i * 4096);
    }
  }
  prm::View<prm::create_umem_in> view() { return prm::View<prm::create_umem_in>(in); }
  prm::View<prm::umem> umem() { return view().at(prm::create_umem_in::umem); }
  Answer run(Host& host) { return host.execute(in, out); }

  std::vector<std::byte> in, out;
};

TEST(UserContext, UidsAreNeverZeroAndComeBackLate) {
  Host host;
  const std::uint16_t first = host.context();
  EXPECT_NE(first, 0);
  EXPECT_TRUE(destroy_context(host, first).ok());
  EXPECT_NE(host.context(), first);
  EXPECT_TRUE(destroy_context(host, first).is(Rule::unknown_object));
}

TEST(UserContext, CapabilitiesAreTheCards) {
  Host host;
  Call<prm::create_uctx> call;
  call.in.at(prm::create_uctx_in::uctx).set(prm::uctx::cap, 0x80);
  EXPECT_TRUE(host.run(call).is(Rule::context_capabilities));
}

TEST(UserContext, OldCardsHaveNone) {
  Host host("connectx4lx-14.12");
  Call<prm::create_uctx> call;
  EXPECT_TRUE(host.run(call).is(Rule::not_modelled));
}

TEST(UserContext, ReachesItsOwnObjectsOnly) {
  Host host;
  const std::uint16_t one = host.context(), two = host.context();
  const std::uint32_t pd = host.pd(one), kernels = host.pd();
  EXPECT_TRUE(dealloc_pd(host, pd, two).is(Rule::foreign_object));
  EXPECT_TRUE(dealloc_pd(host, kernels, one).is(Rule::foreign_object));
  EXPECT_TRUE(dealloc_pd(host, pd, one).ok());
  EXPECT_TRUE(dealloc_pd(host, host.pd(one), 0).ok()) << "the kernel may use all";
  EXPECT_TRUE(dealloc_pd(host, kernels, 0).ok());
  EXPECT_TRUE(destroy_context(host, one).ok());
  EXPECT_TRUE(destroy_context(host, two).ok());
}

TEST(UserContext, StaysWhileItHasObjects) {
  Host host;
  const std::uint16_t uid = host.context();
  const std::uint32_t pd = host.pd(uid);
  EXPECT_TRUE(destroy_context(host, uid).is(Rule::context_has_objects));
  EXPECT_TRUE(dealloc_pd(host, pd, uid).ok());
  EXPECT_TRUE(destroy_context(host, uid).ok());
}

TEST(UserContext, MayTakeItsObjectsAlong) {
  auto profile = model::Profile::named("connectx6dx");
  ASSERT_TRUE(profile);
  profile->behaviour.context_with_objects_goes = true;
  Host host(*profile);
  const std::uint16_t uid = host.context();
  Bench bench(host, uid);
  const std::uint32_t rq = bench.make_rq();
  bench.make_sq();
  auto tir = bench.tir_call(rq);
  ASSERT_TRUE(bench.run(tir).ok());
  EXPECT_TRUE(destroy_context(host, uid).ok());
  EXPECT_EQ(host.objects(), (Objects{{"EQ", 1}, {"UAR", 1}})) << "the kernel's own";
}

TEST(UserContext, StatusForForeignObjectsIsASwitch) {
  auto profile = model::Profile::named("connectx6dx");
  ASSERT_TRUE(profile);
  profile->behaviour.foreign_object_is_bad_param = true;
  Host host(*profile);
  const std::uint16_t uid = host.context();
  EXPECT_EQ(dealloc_pd(host, host.pd(), uid).status, prm::cmd_status::bad_param);
}

TEST(Umem, ChecksWhatItIsMadeOf) {
  Host host;
  UmemCall none(0);
  EXPECT_TRUE(none.run(host).is(Rule::page_count));
  UmemCall endless(~std::uint64_t{0});
  EXPECT_TRUE(endless.run(host).is(Rule::page_count));
  UmemCall beyond(3, 2);
  EXPECT_TRUE(beyond.run(host).is(Rule::page_list_length));
  UmemCall offset;
  offset.umem().set(prm::umem::page_offset, 4096);
  EXPECT_TRUE(offset.run(host).is(Rule::page_offset));
  UmemCall ats;
  ats.umem().set(prm::umem::ats, 1);
  EXPECT_TRUE(ats.run(host).is(Rule::address_translation));
  EXPECT_TRUE(host.objects().empty());
}

TEST(Umem, OfMemoryThatIsNotThereIsMadeWithANote) {
  Host host;
  UmemCall call;
  prm::set_bits(call.in.data(), prm::create_umem_in::size * 8, 64, 0xdead'0000'0000);
  EXPECT_TRUE(call.run(host).ok());
  EXPECT_EQ(host.rules.back(), "memory.not-host-memory");
}

TEST(Umem, InUseStays) {
  Host host;
  const std::uint16_t uid = host.context();
  Bench bench(host, uid);
  Call<prm::destroy_umem> destroy;
  destroy.in.set(prm::destroy_umem_in::umem_id, bench.umem);
  const Answer answer = host.run(destroy, uid);
  EXPECT_TRUE(answer.is(Rule::object_in_use));
  Call<prm::destroy_cq> cq;
  cq.in.set(prm::destroy_cq_in::cqn, bench.cq);
  EXPECT_TRUE(host.run(cq, uid).ok());
  EXPECT_TRUE(host.run(destroy, uid).ok());
}

}  // namespace
}  // namespace chime::test
