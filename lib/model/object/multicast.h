// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.h"
#include "model/object/gid.h"
#include "model/object/qp.h"
#include "model/object/transport.h"

/// @file
/// Multicast groups: ATTACH_TO_MCG, DETACH_FROM_MCG.

namespace chime::model {

/// The destination of a datagram that is for a group, in BTH.
inline constexpr std::uint32_t multicast_qpn = 0xffffff;

/// Which queue pairs get what is sent to a group. A group is there as long as it has members.
class MulticastGroups {
 public:
  bool has(const GidBytes& group, const Qp& qp) const noexcept;
  /// Members of one group.
  std::uint32_t members(const GidBytes& group) const noexcept;
  std::uint32_t groups() const noexcept;
  bool empty() const noexcept { return count_ == 0; }
  /// ENOMEM. The queue pair must not be a member yet.
  Result<> attach(const GidBytes& group, Qp& qp) noexcept;
  /// @return whether it was a member
  bool detach(const GidBytes& group, const Qp& qp) noexcept;
  /// Ends the memberships of the queue pairs that `leaves` names.
  template <class F>
  void detach_if(F&& leaves) noexcept {
    remove([&](const Member& member) { return leaves(*member.qp); });
  }
  /// `visit` must not attach or detach.
  template <class F>
  void for_each(const GidBytes& group, F&& visit) const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (members_[i].group == group) visit(*members_[i].qp);
    }
  }

 private:
  struct Member {
    GidBytes group{};
    Ref<Qp> qp;
  };

  /// @return whether there was one
  template <class F>
  bool remove(F&& goes) noexcept {
    const auto end = members_.begin() + count_;
    const auto last = std::remove_if(members_.begin(), end, goes);
    std::for_each(last, end, [](Member& member) { member.qp.reset(); });
    count_ = static_cast<std::uint32_t>(last - members_.begin());
    return last != end;
  }

  Array<Member> members_;  ///< in the order in which they came; the first count_ are there
  std::uint32_t count_ = 0;
};

}  // namespace chime::model
