// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "hca/verbs/rdma_core.h"
#include "prm/enums.h"

namespace chime::hca::verbs {

/// What an hca::Object's handle points to: its end is the object's end.
class Handle {
 public:
  /// @param created_by the command that makes such objects, or that the kernel sends in its place
  Handle(prm::cmd_opcode created_by, std::uint32_t number) noexcept
      : created_by_(created_by), number_(number) {}
  virtual ~Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  prm::cmd_opcode created_by() const noexcept { return created_by_; }
  std::uint32_t number() const noexcept { return number_; }
  /// nullptr: made by a call of its own, and not to be modified or queried by commands.
  virtual mlx5dv_devx_obj* devx() const noexcept { return nullptr; }
  virtual ibv_pd* pd() const noexcept { return nullptr; }

  // The device's list.
  Handle* older = nullptr;
  Handle* newer = nullptr;

 private:
  prm::cmd_opcode created_by_;
  std::uint32_t number_;
};

/// An object made by a command.
class DevxHandle final : public Handle {
 public:
  DevxHandle(prm::cmd_opcode created_by, std::uint32_t number, DevxObject object,
             std::uint32_t uar_page) noexcept
      : Handle(created_by, number), object_(std::move(object)), uar_page_(uar_page) {}
  mlx5dv_devx_obj* devx() const noexcept override { return object_.get(); }
  /// Of a CQ: where it is armed.
  std::uint32_t uar_page() const noexcept { return uar_page_; }

 private:
  DevxObject object_;
  std::uint32_t uar_page_;
};

/// An object made by a call of its own. `Owner` is one of rdma_core.h.
template <class Owner>
class OwnedHandle final : public Handle {
 public:
  OwnedHandle(prm::cmd_opcode created_by, std::uint32_t number, Owner owner) noexcept
      : Handle(created_by, number), owner_(std::move(owner)) {}
  ibv_pd* pd() const noexcept override {
    if constexpr (std::is_same_v<Owner, Pd>) return owner_.get();
    return nullptr;
  }

 private:
  Owner owner_;
};

}  // namespace chime::hca::verbs
