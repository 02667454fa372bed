// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/uar.h"

#include <cerrno>

#include "hca/verbs/failure.h"
#include "prm/doorbell.h"

namespace chime::hca::verbs {
Result<Owned<UarHandle>> UarHandle::make(ibv_context& context) noexcept {
  // Doorbell::ring stores 8 bytes without a fence. A write-combining (BlueFlame) page would hold them back.
  DevxUar uar(mlx5dv_devx_alloc_uar(&context, MLX5DV_UAR_ALLOC_TYPE_NC));
  if (!uar) {
    const int errnum = errno;
    if (errnum == EOPNOTSUPP || errnum == EINVAL) {
      return fail(ENOTSUP,
                  "mlx5dv_devx_alloc_uar: the kernel maps no uncached UAR; one of version 5.11 or newer does "
                  "(`uname -r` tells)");
    }
    return fail(call_failure("mlx5dv_devx_alloc_uar", errnum));
  }
  return make_owned<UarHandle>("a UAR", std::move(uar));
}

Doorbell UarHandle::send_doorbell() const noexcept {
  return {.base = static_cast<std::byte*>(uar_->reg_addr), .position = 0, .step = 0, .mask = 0};
}

Doorbell UarHandle::arm_doorbell() const noexcept {
  auto* page = static_cast<std::byte*>(uar_->base_addr);
  return {.base = page + prm::uar_cq_doorbell, .position = 0, .step = 0, .mask = 0};
}

}  // namespace chime::hca::verbs
