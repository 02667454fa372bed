// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/objects.h"

#include <cerrno>

#include "hca/user_commands.h"
#include "hca/verbs/failure.h"
#include "hca/verbs/pd.h"
#include "prm/layouts.h"
#include "prm/text.h"
#include "prm/view.h"

namespace chime::hca::verbs {
namespace {

std::uint32_t uar_of(prm::cmd_opcode opcode, std::span<const std::byte> in) noexcept {
  if (opcode != prm::cmd_opcode::create_cq || in.size() < prm::create_cq_in::size) return 0;
  return prm::ConstView<prm::create_cq_in>(in).at(prm::create_cq_in::cq_context).get(prm::cqc::uar_page);
}

/// @param call mlx5dv_devx_obj_modify or its like for queries
Result<> access(const Handle& handle, const Result<const Accessor*>& permitted,
                decltype(mlx5dv_devx_obj_modify)* call, std::span<const std::byte> in,
                std::span<std::byte> out) noexcept {
  if (!permitted) return fail(permitted.error());
  const prm::cmd_opcode opcode = (*permitted)->opcode;
  if (!handle.devx()) {
    return fail(ENOTSUP, "%s: what %s made was made by a call of rdma-core, and is for no command",
                prm::command_name(opcode), prm::command_name(handle.created_by()));
  }
  const int failed = call(handle.devx(), in.data(), in.size(), out.data(), out.size());
  if (failed != 0) return fail(command_failure(opcode, failed, out));
  return {};
}

}  // namespace

Result<> general_command(ibv_context& context, std::span<const std::byte> in,
                         std::span<std::byte> out) noexcept {
  if (auto permitted = check_general(in, out); !permitted) return permitted;
  const int failed = mlx5dv_devx_general_cmd(&context, in.data(), in.size(), out.data(), out.size());
  if (failed != 0) return fail(command_failure(opcode_of(in), failed, out));
  return {};
}

Result<Owned<Handle>> create_object(ibv_context& context, std::span<const std::byte> in,
                                    std::span<std::byte> out) noexcept {
  const auto permitted = check_creation(in, out);
  if (!permitted) return fail(permitted.error());
  const Creator& creator = **permitted;
  if (creator.create == prm::cmd_opcode::alloc_pd) return alloc_pd(context, out);

  DevxObject object(mlx5dv_devx_obj_create(&context, in.data(), in.size(), out.data(), out.size()));
  if (!object) return fail(command_failure(creator.create, errno, out));
  const std::uint32_t number =
      number_at(creator.number_in_input ? in : std::span<const std::byte>(out), creator.number);
  auto handle = make_owned<DevxHandle>("an object", creator.create, number, std::move(object),
                                       uar_of(creator.create, in));
  if (!handle) return fail(handle.error());
  return Owned<Handle>(std::move(*handle));
}

Result<> modify_object(const Handle& handle, std::span<const std::byte> in,
                       std::span<std::byte> out) noexcept {
  return access(handle, check_modification(handle.created_by(), handle.number(), in, out),
                mlx5dv_devx_obj_modify, in, out);
}

Result<> query_object(const Handle& handle, std::span<const std::byte> in,
                      std::span<std::byte> out) noexcept {
  return access(handle, check_query(handle.created_by(), handle.number(), in, out), mlx5dv_devx_obj_query, in,
                out);
}

}  // namespace chime::hca::verbs
