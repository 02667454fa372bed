// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/handles.h"

namespace chime::hca::verbs {

Handle& Handles::adopt(Owned<Handle> handle) noexcept {
  const std::scoped_lock lock(mutex_);
  handle->older = newest_;
  if (newest_) newest_->newer = handle.get();
  newest_ = handle.get();
  return *handle.release();
}

void Handles::end(Handle& handle) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    (handle.newer ? handle.newer->older : newest_) = handle.older;
    if (handle.older) handle.older->newer = handle.newer;
  }
  Owned<Handle>(&handle).reset();
}

const Handle* Handles::find(prm::cmd_opcode created_by, std::uint32_t number) noexcept {
  const std::scoped_lock lock(mutex_);
  const Handle* handle = newest_;
  while (handle && (handle->created_by() != created_by || handle->number() != number)) handle = handle->older;
  return handle;
}

}  // namespace chime::hca::verbs
