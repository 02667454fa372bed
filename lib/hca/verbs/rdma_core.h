// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <memory>
#include <type_traits>

/// @file
/// Owners of rdma-core's objects. What the kernel will not end, because something still uses it, ends with
/// the context.

namespace chime::hca::verbs {

/// Logs that the kernel did not end an object; but for EIO, with which it says that there is no device any
/// more: the object ended with it. (What libmlx5 then keeps of a DevX object, some bytes, stays.)
void report_unended(int errnum) noexcept;

/// Calls `End` on what it owns.
template <auto End>
struct Ended {
  template <class T>
  void operator()(T* object) const noexcept {
    if constexpr (std::is_void_v<decltype(End(object))>) {
      End(object);
    } else if (const int failed = End(object); failed != 0) {
      report_unended(failed);
    }
  }
};

using DeviceList = std::unique_ptr<ibv_device*[], Ended<ibv_free_device_list>>;
using Context = std::unique_ptr<ibv_context, Ended<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Ended<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Ended<ibv_dereg_mr>>;
using DevxObject = std::unique_ptr<mlx5dv_devx_obj, Ended<mlx5dv_devx_obj_destroy>>;
using DevxUmem = std::unique_ptr<mlx5dv_devx_umem, Ended<mlx5dv_devx_umem_dereg>>;
using DevxUar = std::unique_ptr<mlx5dv_devx_uar, Ended<mlx5dv_devx_free_uar>>;
using DevxChannel = std::unique_ptr<mlx5dv_devx_event_channel, Ended<mlx5dv_devx_destroy_event_channel>>;
using Matcher = std::unique_ptr<mlx5dv_flow_matcher, Ended<mlx5dv_destroy_flow_matcher>>;
/// ibv_destroy_flow has no linkage, and can't be a template's argument.
struct EndedFlow {
  void operator()(ibv_flow* flow) const noexcept {
    if (const int failed = ibv_destroy_flow(flow); failed != 0) report_unended(failed);
  }
};
using Flow = std::unique_ptr<ibv_flow, EndedFlow>;

}  // namespace chime::hca::verbs
