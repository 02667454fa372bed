// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/multicast.h"

namespace chime::model {

bool MulticastGroups::has(const GidBytes& group, const Qp& qp) const noexcept {
  bool found = false;
  for_each(group, [&](const Qp& member) { found = found || &member == &qp; });
  return found;
}

std::uint32_t MulticastGroups::members(const GidBytes& group) const noexcept {
  std::uint32_t count = 0;
  for_each(group, [&](const Qp&) { ++count; });
  return count;
}

std::uint32_t MulticastGroups::groups() const noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto same = [&](const Member& member) { return member.group == members_[i].group; };
    count += std::none_of(members_.begin(), members_.begin() + i, same);
  }
  return count;
}

Result<> MulticastGroups::attach(const GidBytes& group, Qp& qp) noexcept {
  if (count_ == members_.size()) {
    auto more =
        Array<Member>::make(std::max<std::size_t>(8, members_.size() * 2), "members of multicast groups");
    if (!more) return fail(more.error());
    std::move(members_.begin(), members_.end(), more->begin());
    members_ = std::move(*more);
  }
  members_[count_].group = group;
  members_[count_].qp = Ref<Qp>(&qp);
  ++count_;
  return {};
}

bool MulticastGroups::detach(const GidBytes& group, const Qp& qp) noexcept {
  return remove([&](const Member& member) { return member.group == group && member.qp.get() == &qp; });
}

}  // namespace chime::model
