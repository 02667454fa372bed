// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/multicast.h"

namespace chime::model {

bool is_multicast(const GidBytes& gid) noexcept {
  if (gid[0] == 0xff) return true;
  constexpr GidBytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(gid.begin(), gid.begin() + 12, mapped.begin()) && gid[12] >> 4 == 0xe;
}

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
  const std::uint32_t before = count_;
  const auto last = std::remove_if(members_.begin(), members_.begin() + count_, [&](const Member& member) {
    return member.group == group && member.qp.get() == &qp;
  });
  forget_from(static_cast<std::uint32_t>(last - members_.begin()));
  return count_ != before;
}

void MulticastGroups::forget_from(std::uint32_t count) noexcept {
  for (std::uint32_t i = count; i < count_; ++i) members_[i].qp.reset();
  count_ = count;
}

}  // namespace chime::model
