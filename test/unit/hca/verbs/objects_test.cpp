// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/objects.h"

#include "prm/layouts.h"
#include "prm/view.h"
#include "verbs_test.h"

namespace chime::test {
namespace {

using namespace hca::verbs;

class Objects : public VerbsTest {
 protected:
  template <class In>
  Result<Owned<Handle>> create(prm::Box<In>& in) {
    return create_object(*context, in.bytes(), out);
  }
  std::array<std::byte, 0x100> out{};
};

TEST_F(Objects, AreMadeByCommandsAndEndWithTheHandle) {
  prm::Box<prm::alloc_transport_domain_in> in;
  auto made = create(in);
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ((*made)->number(), rdma.last_number);
  EXPECT_EQ((*made)->created_by(), prm::cmd_opcode::alloc_transport_domain);
  EXPECT_EQ(rdma.alive("object"), 1);
}

TEST_F(Objects, APdIsOneThatMemoryCanBeRegisteredOn) {
  prm::Box<prm::alloc_pd_in> in;
  auto made = create(in);
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_NE((*made)->pd(), nullptr);
  EXPECT_EQ((*made)->devx(), nullptr);
  EXPECT_EQ(rdma.alive("pd"), 1);
  EXPECT_EQ(prm::ConstView<prm::alloc_pd_out>(out).get(prm::alloc_pd_out::pd), (*made)->number());
}

TEST_F(Objects, EveryFailureOfAPdLeavesNone) {
  prm::Box<prm::alloc_pd_in> in;
  rdma.fail("ibv_alloc_pd", ENOMEM);
  EXPECT_TRUE(says(create(in), ENOMEM, "ibv_alloc_pd"));
  rdma.fail("mlx5dv_init_obj", EOPNOTSUPP);
  EXPECT_TRUE(says(create(in), EOPNOTSUPP, "mlx5dv_init_obj"));
  EXPECT_EQ(rdma.alive("pd"), 0);
}

TEST_F(Objects, WhatTheCardRefusesComesWithStatusAndSyndrome) {
  rdma.refuse(prm::cmd_opcode::alloc_transport_domain, prm::cmd_status::exceed_lim, 0x1234);
  prm::Box<prm::alloc_transport_domain_in> in;
  auto made = create(in);
  EXPECT_TRUE(says(made, ENOMEM, "alloc_transport_domain"));
  EXPECT_EQ(made.error().status, static_cast<std::uint8_t>(prm::cmd_status::exceed_lim));
  EXPECT_EQ(made.error().syndrome, 0x1234u);

  rdma.refuse(prm::cmd_opcode::query_hca_cap, prm::cmd_status::bad_op, 7);
  prm::Box<prm::query_hca_cap_in> query;
  auto done = general_command(*context, query.bytes(), out);
  EXPECT_TRUE(says(done, EINVAL, "query_hca_cap"));
  EXPECT_EQ(done.error().syndrome, 7u);
}

TEST_F(Objects, WhatTheKernelRefusesSaysSo) {
  prm::Box<prm::alloc_transport_domain_in> in;
  rdma.fail("mlx5dv_devx_obj_create", ENOTTY);
  EXPECT_TRUE(says(create(in), ENOTTY, "the kernel did not send it to the card"));
  prm::Box<prm::query_hca_cap_in> query;
  rdma.fail("mlx5dv_devx_general_cmd", EINVAL);
  EXPECT_TRUE(says(general_command(*context, query.bytes(), out), EINVAL, "query_hca_cap: the kernel"));
}

TEST_F(Objects, AreModifiedAndQueried) {
  prm::Box<prm::create_tis_in> in;
  auto tis = create(in);
  ASSERT_TRUE(tis);
  prm::Box<prm::modify_tis_in> modify;
  modify.set(prm::modify_tis_in::tisn, (*tis)->number());
  prm::Box<prm::query_tis_in> query;
  query.set(prm::query_tis_in::tisn, (*tis)->number());
  EXPECT_TRUE(modify_object(**tis, modify.bytes(), out));
  EXPECT_TRUE(query_object(**tis, query.bytes(), out));
  rdma.fail("mlx5dv_devx_obj_modify", EBUSY);
  EXPECT_TRUE(says(modify_object(**tis, modify.bytes(), out), EBUSY, "modify_tis"));
  rdma.fail("mlx5dv_devx_obj_query", EIO);
  EXPECT_TRUE(says(query_object(**tis, query.bytes(), out), EIO, "query_tis"));
  rdma.refuse(prm::cmd_opcode::query_tis, prm::cmd_status::bad_resource, 1);
  EXPECT_TRUE(says(query_object(**tis, query.bytes(), out), EINVAL, "query_tis"));
}

TEST_F(Objects, WhatNoUserContextMayDoDoesNotReachTheKernel) {
  prm::Box<prm::create_tis_in> in;
  auto tis = create(in);
  ASSERT_TRUE(tis);
  const unsigned calls = rdma.calls("mlx5dv_devx_general_cmd") + rdma.calls("mlx5dv_devx_obj_create");
  prm::Box<prm::set_flow_table_root_in> root;
  EXPECT_TRUE(says(general_command(*context, root.bytes(), out), EPERM, "hca::Steering::root"));
  EXPECT_TRUE(says(create_object(*context, root.bytes(), out), EPERM, "hca::Steering::root"));
  EXPECT_TRUE(says(modify_object(**tis, root.bytes(), out), EPERM, "hca::Steering::root"));
  EXPECT_TRUE(says(query_object(**tis, root.bytes(), out), EPERM, "hca::Steering::root"));
  prm::Box<prm::query_tis_in> other;
  other.set(prm::query_tis_in::tisn, (*tis)->number() + 1);
  EXPECT_TRUE(says(query_object(**tis, other.bytes(), out), EINVAL, "through the handle of"));
  EXPECT_EQ(rdma.calls("mlx5dv_devx_general_cmd") + rdma.calls("mlx5dv_devx_obj_create"), calls);
  EXPECT_EQ(rdma.calls("mlx5dv_devx_obj_modify") + rdma.calls("mlx5dv_devx_obj_query"), 0u);
}

}  // namespace
}  // namespace chime::test
