// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <memory>

/// @file
/// Owners of rdma-core's objects.

namespace chime::test {

struct Delete {
  void operator()(ibv_context* c) const { ibv_close_device(c); }
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_cq* c) const { ibv_destroy_cq(c); }
  void operator()(ibv_qp* q) const { ibv_destroy_qp(q); }
  void operator()(ibv_mr* m) const { ibv_dereg_mr(m); }
  void operator()(ibv_ah* a) const { ibv_destroy_ah(a); }
  void operator()(ibv_flow* f) const { ibv_destroy_flow(f); }
  void operator()(mlx5dv_devx_obj* o) const { mlx5dv_devx_obj_destroy(o); }
  void operator()(mlx5dv_devx_umem* u) const { mlx5dv_devx_umem_dereg(u); }
  void operator()(mlx5dv_devx_uar* u) const { mlx5dv_devx_free_uar(u); }
  void operator()(mlx5dv_devx_event_channel* c) const { mlx5dv_devx_destroy_event_channel(c); }
  void operator()(mlx5dv_flow_matcher* m) const { mlx5dv_destroy_flow_matcher(m); }
};
template <class T>
using Handle = std::unique_ptr<T, Delete>;

}  // namespace chime::test
