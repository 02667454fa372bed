// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/user_context.h"

#include <algorithm>

#include "hca/model/umem_form.h"
#include "prm/layouts.h"
#include "prm/text.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

using Header = prm::general_obj_in_cmd_hdr;
constexpr std::size_t header_size = Header::size;

prm::cmd_opcode opcode_of(std::span<const std::byte> in) noexcept {
  return prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::opcode);
}
std::uint32_t op_mod_of(std::span<const std::byte> in) noexcept {
  return prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::op_mod);
}

Result<> check_sizes(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (in.size() >= header_size && out.size() >= 16) return {};
  return fail(EINVAL, "a command of %zu bytes with room for an answer of %zu; both have 16 at least",
              in.size(), out.size());
}

tl::unexpected<Error> not_permitted(std::span<const std::byte> in, const char* what) noexcept {
  const auto opcode = opcode_of(in);
  return fail(EPERM, "%s (%#x, op_mod %#x): the kernel lets no user context %s it; %s",
              prm::command_name(opcode), static_cast<unsigned>(opcode), op_mod_of(in), what,
              instead_of(opcode));
}

std::uint32_t number_at(std::span<const std::byte> bytes, NumberAt at) noexcept {
  if (bytes.size() < at.offset + 4u) return 0;
  return static_cast<std::uint32_t>(prm::get_bits(bytes.data(), at.offset * 8u + 32 - at.bits, at.bits));
}

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
  if (auto sizes = check_sizes(in, out); !sizes) return sizes;
  if (!is_general(opcode_of(in))) return not_permitted(in, "execute");
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  return kernel_.execute(copy->span(), out);
}

Result<Handle*> UserContext::create(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return fail(sizes.error());
  const auto opcode = opcode_of(in);
  const Creator* creator = find_creator(opcode, op_mod_of(in));
  if (!creator) return not_permitted(in, "create an object with");
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  if (creator->umem_form) set_umem_form(opcode, copy->span());
  auto handle = make_owned<Handle>("an object", opcode);
  if (!handle) return fail(handle.error());

  if (auto done = kernel_.execute(copy->span(), out); !done) return fail(done.error());
  (*handle)->number =
      number_at(creator->number_in_input ? in : std::span<const std::byte>(out), creator->number);
  if (opcode == prm::cmd_opcode::create_cq && in.size() >= prm::create_cq_in::size) {
    (*handle)->uar_page =
        prm::ConstView<prm::create_cq_in>(in).at(prm::create_cq_in::cq_context).get(prm::cqc::uar_page);
  }
  prepare_destroy(**handle, *creator, in, kernel_.uid());
  return adopt(std::move(*handle));
}

Result<> UserContext::access(const Accessor* accessor, const Handle& handle, const char* verb,
                             std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (!accessor) return not_permitted(in, verb);
  if (accessor->created_by != handle.created_by()) {
    return fail(EINVAL, "%s of an object that %s made: the command is about others",
                prm::command_name(accessor->opcode), prm::command_name(handle.created_by()));
  }
  if (const std::uint32_t number = number_at(in, accessor->number); number != handle.number) {
    return fail(EINVAL, "%s names object %#x through the handle of %#x", prm::command_name(accessor->opcode),
                number, handle.number);
  }
  auto copy = stamped(in);
  if (!copy) return fail(copy.error());
  set_umem_form(accessor->opcode, copy->span());
  return kernel_.execute(copy->span(), out);
}

Result<> UserContext::modify(const Handle& handle, std::span<const std::byte> in,
                             std::span<std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return sizes;
  return access(find_modifier(opcode_of(in), op_mod_of(in)), handle, "modify an object with", in, out);
}

Result<> UserContext::query(const Handle& handle, std::span<const std::byte> in,
                            std::span<std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return sizes;
  return access(find_query(opcode_of(in)), handle, "query an object with", in, out);
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
