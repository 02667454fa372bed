// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/pd.h"

#include <algorithm>
#include <cerrno>

#include "hca/verbs/failure.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::verbs {

Result<Owned<Handle>> alloc_pd(ibv_context& context, std::span<std::byte> out) noexcept {
  Pd pd(ibv_alloc_pd(&context));
  if (!pd) return fail(call_failure("ibv_alloc_pd", errno));
  mlx5dv_pd direct{};
  mlx5dv_obj object{};
  object.pd.in = pd.get();
  object.pd.out = &direct;
  if (const int failed = mlx5dv_init_obj(&object, MLX5DV_OBJ_PD); failed != 0) {
    return fail(call_failure("mlx5dv_init_obj of a PD", failed));
  }
  auto handle = make_owned<OwnedHandle<Pd>>("a protection domain", prm::cmd_opcode::alloc_pd, direct.pdn,
                                            std::move(pd));
  if (!handle) return fail(handle.error());
  std::ranges::fill(out, std::byte{});
  prm::View<prm::alloc_pd_out>(out).set(prm::alloc_pd_out::pd, direct.pdn);
  return Owned<Handle>(std::move(*handle));
}

}  // namespace chime::hca::verbs
