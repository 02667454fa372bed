// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/keys.h"

#include <algorithm>

namespace chime::rdma {
namespace {

class Locked {
 public:
  explicit Locked(rte_spinlock_t& lock) noexcept : lock_(lock) { rte_spinlock_lock(&lock_); }
  ~Locked() { rte_spinlock_unlock(&lock_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  rte_spinlock_t& lock_;
};

/// Ended keys are forgotten, oldest first, when there are more records than this.
constexpr std::size_t remembered = 256;

}  // namespace

KeyRecord* KeyBook::newest(std::uint32_t key, bool live) const noexcept {
  for (std::size_t i = count_; i-- > 0;)
    if (records_[i].key == key && records_[i].live == live) return &records_[i];
  return nullptr;
}

Result<> KeyBook::add(const KeyRecord& record) noexcept {
  const Locked locked(lock_);
  if (count_ == records_.size()) {
    KeyRecord* ended =
        std::find_if(records_.begin(), records_.begin() + count_, [](const KeyRecord& r) { return !r.live; });
    if (count_ >= remembered && ended != records_.begin() + count_) {
      std::copy(ended + 1, records_.begin() + count_, ended);
      --count_;
    } else {
      auto grown = Array<KeyRecord>::make(std::max<std::size_t>(16, 2 * count_), "the list of memory keys");
      if (!grown) return fail(grown.error());
      std::copy(records_.begin(), records_.begin() + count_, grown->begin());
      records_ = std::move(*grown);
    }
  }
  records_[count_] = record;
  records_[count_++].live = true;
  return {};
}

void KeyBook::end(std::uint32_t key) noexcept {
  const Locked locked(lock_);
  if (KeyRecord* record = newest(key, true)) record->live = false;
}

bool KeyBook::find(std::uint32_t key, KeyRecord& record) const noexcept {
  const Locked locked(lock_);
  const KeyRecord* found = newest(key, true);
  if (found == nullptr) found = newest(key, false);
  if (found == nullptr) return false;
  record = *found;
  return true;
}

bool holds_for_card(const KeyBook& book, std::uint32_t lkey, std::uint64_t address, std::uint64_t length,
                    bool write) noexcept {
  KeyRecord record;
  if (!book.find(lkey, record) || !record.live) return false;
  if (write && !(record.rights & local_write)) return false;
  return address >= record.address && length <= record.length &&
         address - record.address <= record.length - length;
}

}  // namespace chime::rdma
