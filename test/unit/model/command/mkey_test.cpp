// SPDX-License-Identifier: BSD-3-Clause
#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using M = prm::mkc;
using model::Rule;

class Mkeys : public ::testing::Test {
 protected:
  Host host;
  Bench user{host, host.context()};
  Bench kernel{host};

  static prm::View<M> mkc(Call<prm::create_mkey>& call) {
    return call.in.at(prm::create_mkey_in::memory_key_mkey_entry);
  }
  model::Mkey& made(Call<prm::create_mkey>& call) {
    return *host.hca().card().mkeys.find(call.out.get(prm::create_mkey_out::mkey_index));
  }
};

TEST_F(Mkeys, CoverAPieceOfAUmem) {
  auto call = user.mkey_call(8192);
  call.in.set(prm::create_mkey_in::mkey_umem_offset, 4096);
  const Answer answer = user.run(call);
  ASSERT_TRUE(answer.ok()) << answer.words;
  model::Mkey& mkey = made(call);
  model::Hca::Card& card = host.hca().card();
  const std::uint64_t va = 0x7f00'0000'0000;
  EXPECT_EQ(mkey.key_byte, 0x42);
  EXPECT_EQ(mkey.check(mkey.pd.get(), va, 8192, model::local_write), model::AccessError::none);
  EXPECT_EQ(mkey.check(mkey.pd.get(), va + 1, 8192, model::local_write), model::AccessError::bounds);
  EXPECT_EQ(mkey.check(mkey.pd.get(), va - 1, 1, model::local_write), model::AccessError::bounds);
  EXPECT_EQ(mkey.check(mkey.pd.get(), va + 8192, ~std::uint64_t{0}, model::local_read),
            model::AccessError::bounds);
  EXPECT_EQ(mkey.check(mkey.pd.get(), va, 1, model::remote_write), model::AccessError::rights);
  EXPECT_EQ(mkey.check(card.pds.find(kernel.pd), va, 1, model::local_read), model::AccessError::pd);
  model::Umem& umem = *card.umems.find(user.umem);
  EXPECT_EQ(mkey.translate(card.host, va, 8192).data, umem.pages.at(card.host, 4096, 1));
  EXPECT_EQ(mkey.translate(card.host, va + 100, 8000).length, 8000u);
}

TEST_F(Mkeys, FollowMemoryThatMoves) {
  auto call = user.mkey_call(4096);
  ASSERT_TRUE(user.run(call).ok());
  model::Hca::Card& card = host.hca().card();
  const std::byte* before = made(call).translate(card.host, 0x7f00'0000'0000, 8).data;
  host.memory.changed();
  card.host.refresh();
  EXPECT_EQ(made(call).translate(card.host, 0x7f00'0000'0000, 8).data, before);
}

TEST_F(Mkeys, DoNotReachBeyondTheirUmem) {
  auto call = user.mkey_call(1 << 20);
  EXPECT_TRUE(user.run(call).is(Rule::outside_umem));
  auto offset = user.mkey_call(4096);
  offset.in.set(prm::create_mkey_in::mkey_umem_offset, ~std::uint64_t{0});
  EXPECT_TRUE(user.run(offset).is(Rule::outside_umem));
  auto empty = user.mkey_call(0);
  EXPECT_TRUE(user.run(empty).is(Rule::mkey_length));
}

TEST_F(Mkeys, OfUsersAreNeverPhysical) {
  auto call = user.mkey_call(4096);
  call.in.set(prm::create_mkey_in::mkey_umem_valid, 0);
  mkc(call).set(M::access_mode_1_0, prm::mkc_access_mode::pa);
  EXPECT_TRUE(user.run(call).is(Rule::mkey_physical));
  mkc(call).set(M::access_mode_1_0, prm::mkc_access_mode::mtt);
  EXPECT_TRUE(user.run(call).is(Rule::mkey_physical));
}

TEST_F(Mkeys, OfTheKernelMayBePhysical) {
  auto call = kernel.mkey_call(0);
  call.in.set(prm::create_mkey_in::mkey_umem_valid, 0);
  mkc(call).set(M::access_mode_1_0, prm::mkc_access_mode::pa).set(M::length64, 1).set(M::start_addr, 0);
  ASSERT_TRUE(kernel.run(call).ok());
  model::Hca::Card& card = host.hca().card();
  EXPECT_EQ(made(call).translate(card.host, HostMemory::base + 5, 3).data, host.memory.begin() + 5);
}

TEST_F(Mkeys, OfTheKernelMayListPages) {
  Call<prm::create_mkey, 16> call;
  static_cast<prm::Box<prm::create_mkey_in, 16>&>(call.in).set(
      prm::create_mkey_in::translations_octword_actual_size, 1);
  const auto at = host.memory.allocate(8192);
  call.in.at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(M::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(M::log_page_size, 12)
      .set(M::lr, 1)
      .set(M::pd, kernel.pd)
      .set(M::start_addr, 0x5000'0010)
      .set(M::len, 5000);
  prm::set_bits(call.in.bytes().data(), prm::create_mkey_in::size * 8, 64, at + 4096);
  prm::set_bits(call.in.bytes().data(), (prm::create_mkey_in::size + 8) * 8, 64, at);
  const Answer answer = kernel.run(call);
  ASSERT_TRUE(answer.ok()) << answer.words;
  model::Hca::Card& card = host.hca().card();
  model::Mkey& mkey = *card.mkeys.find(call.out.get(prm::create_mkey_out::mkey_index));
  const model::Chunk first = mkey.translate(card.host, 0x5000'0010, 5000);
  EXPECT_EQ(first.length, 4096u - 16) << "the second page lies elsewhere";
  EXPECT_EQ(first.data, host.memory.map(at + 4096 + 16, 1));
  EXPECT_EQ(mkey.translate(card.host, 0x5000'1000, 8).data, host.memory.map(at, 1));

  call.in.at(prm::create_mkey_in::memory_key_mkey_entry).set(M::len, 9000);
  EXPECT_TRUE(kernel.run(call).is(Rule::mkey_length));
}

TEST_F(Mkeys, RefusePagesThatAreTooSmall) {
  Call<prm::create_mkey, 16> call;
  call.in.at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(M::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(M::log_page_size, 11)
      .set(M::pd, kernel.pd)
      .set(M::len, 64);
  EXPECT_TRUE(kernel.run(call).is(Rule::page_size));
}

TEST_F(Mkeys, RefuseWhatIsNotThere) {
  auto mode = user.mkey_call(4096);
  mkc(mode).set(M::access_mode_4_2, 1);
  EXPECT_TRUE(user.run(mode).is(Rule::mkey_mode));
  auto atomic = user.mkey_call(4096);
  mkc(atomic).set(M::a, 1);
  EXPECT_TRUE(user.run(atomic).ok());
  prm::View<prm::cmd_hca_cap>(host.hca().card().capabilities.current(0)).set(prm::cmd_hca_cap::atomic, 0);
  EXPECT_TRUE(user.run(atomic).is(Rule::mkey_rights));
  auto free = user.mkey_call(4096);
  mkc(free).set(M::free, 1);
  EXPECT_TRUE(user.run(free).is(Rule::mkey_feature));
  auto foreign = user.mkey_call(4096);
  mkc(foreign).set(M::pd, kernel.pd);
  EXPECT_TRUE(user.run(foreign).is(Rule::foreign_object));
}

TEST_F(Mkeys, AreQueriedAndKeepTheirPd) {
  auto call = user.mkey_call(4096);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::query_mkey> query;
  query.in.set(prm::query_mkey_in::mkey_index, call.out.get(prm::create_mkey_out::mkey_index));
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_mkey_out::memory_key_mkey_entry);
  EXPECT_EQ(seen.get(M::len), 4096u);
  EXPECT_EQ(seen.get(M::pd), user.pd);
  EXPECT_EQ(seen.get(M::lw), 1u);
  EXPECT_EQ(seen.get(M::rw), 0u);
  Call<prm::dealloc_pd> pd;
  pd.in.set(prm::dealloc_pd_in::pd, user.pd);
  EXPECT_TRUE(user.run(pd).is(Rule::object_in_use));
  Call<prm::destroy_mkey> destroy;
  destroy.in.set(prm::destroy_mkey_in::mkey_index, call.out.get(prm::create_mkey_out::mkey_index));
  EXPECT_TRUE(user.run(destroy).ok());
  EXPECT_TRUE(user.run(destroy).is(Rule::unknown_object));
  EXPECT_TRUE(user.run(pd).ok());
}

}  // namespace
}  // namespace chime::test
