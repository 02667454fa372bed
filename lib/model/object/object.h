// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>

/// @file
/// What all objects of the card have in common: a number by which software names them, the user context that
/// owns them, and how many others use them.

namespace chime::model {

enum class Kind : std::uint8_t {
  user_context,
  uar,
  umem,
  pd,
  transport_domain,
  mkey,
  eq,
  cq,
  tis,
  sq,
  rq,
  qp,
  rqt,
  tir,
  flow_table,
  flow_group,
  flow_entry,
  flow_counter,
  q_counter,
  xrcd,
  srq,
};
inline constexpr unsigned kind_count = static_cast<unsigned>(Kind::srq) + 1;

/// "CQ", "SQ", "mkey": the manual's word for it.
const char* name(Kind kind) noexcept;

/// In place of a user context in a create command: the kernel's, for all user contexts to use (Linux:
/// MLX5_SHARED_RESOURCE_UID).
inline constexpr std::uint16_t shared_uid = 0xffff;

struct Object {
  explicit Object(Kind k) noexcept : kind(k) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  std::uint32_t number = 0;  ///< never 0 once it is in its table
  std::uint32_t uses = 0;    ///< Refs to it; one that is in use can't be destroyed
  std::uint16_t uid = 0;     ///< user context that made it, 0 the kernel's own, or shared_uid
  const Kind kind;
};

/// Uses an object for as long as it lives. Empty by default.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(T* target) noexcept : target_(target) {
    if (target_) ++target_->uses;
  }
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      reset();
      target_ = std::exchange(other.target_, nullptr);
    }
    return *this;
  }
  ~Ref() { reset(); }

  void reset() noexcept {
    if (!target_) return;
    assert(target_->uses > 0);
    --target_->uses;
    target_ = nullptr;
  }

  T* get() const noexcept { return target_; }
  T* operator->() const noexcept { return target_; }
  T& operator*() const noexcept { return *target_; }
  explicit operator bool() const noexcept { return target_ != nullptr; }

 private:
  T* target_ = nullptr;
};

}  // namespace chime::model
