// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/user_context.h"

#include <algorithm>

#include "hca/model/umem_form.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

using Header = prm::general_obj_in_cmd_hdr;

void prepare_destroy(Handle& handle, const Creator& creator, std::span<const std::byte> in,
                     std::uint16_t uid) noexcept {
  const std::span<std::byte> destroy = handle.prepare_destroy(creator.destroy_size);
  const std::size_t end = std::min<std::size_t>(creator.copied_to, in.size());
  for (std::size_t i = creator.copied_from; i < end; ++i) destroy[i] = in[i];
  prm::View<prm::cmd_in>(destroy).set(prm::cmd_in::opcode, creator.destroy);
  prm::View<Header>(destroy).set(Header::uid, uid);
  const NumberAt at = creator.number_in_destroy;
  prm::set_bits(destroy.data(), at.offset * 8u + 32 - at.bits, at.bits, handle.number);
}

}  // namespace

Result<Array<std::byte>> UserContext::stamped(std::span<const std::byte> in) noexcept {
  auto copy = Array<std::byte>::make(in.size(), "a command");
  if (!copy) return copy;
  std::copy(in.begin(), in.end(), copy->begin());
  prm::View<Header>(copy->span()).set(Header::uid, kernel_.uid());
  return copy;
}

Result<> UserContext::command(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (auto permitted = check_general(in, out); !permitted) return permitted;
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  return kernel_.execute(copy->span(), out);
}

Result<Handle*> UserContext::create(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  const auto permitted = check_creation(in, out);
  if (!permitted) return fail(permitted.error());
  const Creator& creator = **permitted;
  const auto opcode = creator.create;
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  if (creator.umem_form) set_umem_form(opcode, copy->span());
  auto handle = make_owned<Handle>("an object", opcode);
  if (!handle) return fail(handle.error());

  if (auto done = kernel_.execute(copy->span(), out); !done) return fail(done.error());
  (*handle)->number =
      number_at(creator.number_in_input ? in : std::span<const std::byte>(out), creator.number);
  if (opcode == prm::cmd_opcode::create_cq && in.size() >= prm::create_cq_in::size) {
    (*handle)->uar_page =
        prm::ConstView<prm::create_cq_in>(in).at(prm::create_cq_in::cq_context).get(prm::cqc::uar_page);
  }
  prepare_destroy(**handle, creator, in, kernel_.uid());
  return adopt(std::move(*handle));
}

Result<> UserContext::access(const Result<const Accessor*>& permitted, std::span<const std::byte> in,
                             std::span<std::byte> out) noexcept {
  if (!permitted) return fail(permitted.error());
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  set_umem_form((*permitted)->opcode, copy->span());
  return kernel_.execute(copy->span(), out);
}

Result<> UserContext::modify(const Handle& handle, std::span<const std::byte> in,
                             std::span<std::byte> out) noexcept {
  return access(check_modification(handle.created_by(), handle.number, in, out), in, out);
}

Result<> UserContext::query(const Handle& handle, std::span<const std::byte> in,
                            std::span<std::byte> out) noexcept {
  return access(check_query(handle.created_by(), handle.number, in, out), in, out);
}

Handle* UserContext::adopt(Owned<Handle> handle) noexcept {
  handle->older = newest_;
  if (newest_) newest_->newer = handle.get();
  newest_ = handle.get();
  return handle.release();
}

void UserContext::unlink(Handle& handle) noexcept {
  (handle.newer ? handle.newer->older : newest_) = handle.older;
  if (handle.older) handle.older->newer = handle.newer;
}

/// @return whether it has gone
bool UserContext::end(Handle& handle) noexcept {
  if (auto ended = handle.end(kernel_); !ended) {
    if (!handle.abandoned) {
      ++refused_destroys_;
      kernel_.report(ended.error().within("the end of an object's handle"));
    }
    handle.abandoned = true;
    handle.abandon();
    return false;
  }
  unlink(handle);
  Owned<Handle>(&handle).reset();
  return true;
}

void UserContext::destroy(Handle& handle) noexcept {
  end(handle);
}

/// What was made later uses what was made before, unless it was modified since: what is in use at first goes
/// in a later round.
void UserContext::close() noexcept {
  for (bool progress = true; newest_ && progress;) {
    progress = false;
    for (Handle* handle = newest_; handle;) {
      Handle* older = handle->older;
      if (auto ended = handle->end(kernel_)) {
        unlink(*handle);
        Owned<Handle>(handle).reset();
        progress = true;
      }
      handle = older;
    }
  }
  while (newest_) {
    Handle& handle = *newest_;
    if (!end(handle)) {
      unlink(handle);
      Owned<Handle>(&handle).reset();
    }
  }
}

Handle* UserContext::find(prm::cmd_opcode created_by, std::uint32_t number) noexcept {
  for (Handle* handle = newest_; handle; handle = handle->older) {
    if (handle->created_by() == created_by && handle->number == number) return handle;
  }
  return nullptr;
}

}  // namespace chime::hca::embedded
