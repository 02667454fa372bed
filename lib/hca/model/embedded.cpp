// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/embedded.h"

#include <algorithm>
#include <utility>

namespace chime::hca::embedded {
namespace {

constexpr std::uint32_t quiet_after = 256;  ///< steps without a ring
constexpr std::size_t quiet_a_step = 8;

}  // namespace

unsigned Embedded::step() noexcept {
  unsigned work = drain_busy() + drain_quiet(quiet_a_step);
  work += hca_.step();
  if (work == 0) {
    work = drain_quiet(count_);
    if (work != 0) work += hca_.step();
  }
  if (const std::uint64_t vectors = interrupts_.take()) work += handler_.serve(vectors);
  return work;
}

unsigned Embedded::drain_busy() noexcept {
  unsigned stores = 0;
  for (std::size_t i = 0; i < busy_;) {
    Watched& watched = watched_[i];
    const unsigned rang = watched.aperture->drain(hca_);
    stores += rang;
    watched.quiet_steps = rang ? 0 : watched.quiet_steps + 1;
    if (watched.quiet_steps > quiet_after) {
      std::swap(watched, watched_[--busy_]);
    } else {
      ++i;
    }
  }
  return stores;
}

unsigned Embedded::drain_quiet(std::size_t most) noexcept {
  unsigned stores = 0;
  for (std::size_t n = std::min(most, count_ - busy_); n > 0; --n) {
    if (turn_ < busy_ || turn_ >= count_) turn_ = busy_;
    if (turn_ == count_) break;
    Watched& watched = watched_[turn_++];
    const unsigned rang = watched.aperture->drain(hca_);
    if (!rang) continue;
    stores += rang;
    watched.quiet_steps = 0;
    std::swap(watched, watched_[busy_++]);
  }
  return stores;
}

Result<> Embedded::add(std::uint32_t uar, model::UarCells& cells) noexcept {
  if (count_ == watched_.size()) {
    auto grown = Array<Watched>::make(std::max<std::size_t>(8, count_ * 2), "the list of doorbell apertures");
    if (!grown) return fail(grown.error());
    std::move(watched_.begin(), watched_.end(), grown->begin());
    watched_ = std::move(*grown);
  }
  auto aperture = make_owned<model::Aperture>("a doorbell aperture", uar, cells);
  if (!aperture) return fail(aperture.error());
  watched_[count_++] = {std::move(*aperture), 0};
  return {};
}

void Embedded::remove(std::uint32_t uar) noexcept {
  Watched* end = watched_.begin() + count_;
  Watched* at =
      std::find_if(watched_.begin(), end, [=](const Watched& w) { return w.aperture->uar() == uar; });
  if (at == end) return;
  if (static_cast<std::size_t>(at - watched_.begin()) < busy_) {
    std::swap(*at, watched_[--busy_]);
    at = &watched_[busy_];
  }
  std::swap(*at, watched_[count_ - 1]);
  watched_[--count_] = {};
}

}  // namespace chime::hca::embedded
