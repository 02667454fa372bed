// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/uar.h"

#include <rte_malloc.h>

#include <algorithm>
#include <new>

namespace chime::hca::embedded {
namespace {

constexpr std::uint16_t cell = sizeof(std::uint64_t);
constexpr std::uint16_t ring_mask = (model::UarCells::send_cells - 1) * cell;
static_assert(ring_mask == 0x3f8);

}  // namespace

Result<Owned<UarHandle>> UarHandle::make(Embedded& embedded) noexcept {
  auto handle = make_owned<UarHandle>("a UAR", embedded);
  if (!handle) return handle;
  void* memory = rte_zmalloc("chime_uar", sizeof(model::UarCells), alignof(model::UarCells));
  if (!memory) {
    return fail(ENOMEM, "no EAL memory for the doorbells of a UAR (%zu bytes); give EAL more (-m)",
                sizeof(model::UarCells));
  }
  (*handle)->cells_ = new (memory) model::UarCells{};
  std::fill(std::begin((*handle)->arms_), std::end((*handle)->arms_), nobody);
  return handle;
}

UarHandle::~UarHandle() {
  if (watched_) embedded_.remove(number);
  rte_free(cells_);
}

Result<> UarHandle::watch() noexcept {
  auto added = embedded_.add(number, *cells_);
  watched_ = added.has_value();
  return added;
}

Doorbell UarHandle::send_doorbell() const noexcept {
  return {.base = reinterpret_cast<std::byte*>(cells_->send), .position = 0, .step = cell, .mask = ring_mask};
}

Result<Doorbell> UarHandle::arm_doorbell(std::uint32_t cqn) noexcept {
  auto* at = std::find(std::begin(arms_), std::end(arms_), cqn);
  if (at == std::end(arms_)) at = std::find(std::begin(arms_), std::end(arms_), nobody);
  if (at == std::end(arms_)) {
    return fail(ENOSPC, "UAR %#x arms %zu completion queues already; alloc_uar gives another", number,
                std::size(arms_));
  }
  *at = cqn;
  auto* base = reinterpret_cast<std::byte*>(&cells_->arm[at - std::begin(arms_)]);
  return Doorbell{.base = base, .position = 0, .step = 0, .mask = 0};
}

void UarHandle::release_arm(std::uint32_t cqn) noexcept {
  std::replace(std::begin(arms_), std::end(arms_), cqn, nobody);
}

}  // namespace chime::hca::embedded
