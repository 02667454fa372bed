// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/card.h"
#include "model/command/rules.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::model {

/// One command in execution: who issued it, and how handlers look objects up, make them, destroy them, and
/// refuse. A handler that returns without having refused succeeded.
class Command {
 public:
  /// @param name of the layout, "create_cq_in"
  /// @param out  zeroed
  Command(Hca::Card& c, std::string_view name, std::span<const std::byte> in,
          std::span<std::byte> out) noexcept;

  /// Ends the command with the rule's status and syndrome, and says why. The first refusal counts.
  /// @param object number of the object concerned, 0 when there is none
  [[gnu::format(printf, 4, 5)]] void refuse(Rule rule, std::uint32_t object, const char* format,
                                            ...) noexcept;
  bool refused() const noexcept { return refused_; }

  /// False, and refused, when `value` is not 0: a feature that the model does not have.
  bool absent(std::uint64_t value, Rule rule, const char* what) noexcept;
  /// False, and refused, unless the result is good: memory ran out.
  bool good(const Result<>& result, const char* what) noexcept;
  bool op_mod_is(std::uint32_t only) noexcept;

  /// An object of the command's own user context (the kernel, uid 0, may name any), or refused.
  template <class T>
  T* find(const ObjectTable<T>& table, std::uint32_t number) noexcept {
    return look_up(table, number, false);
  }
  /// The same; the kernel's own will do too: EQs and UARs are shared with user contexts.
  template <class T>
  T* find_shared(const ObjectTable<T>& table, std::uint32_t number) noexcept {
    return look_up(table, number, true);
  }

  /// An object of its own, or refused.
  template <class T>
  Owned<T> make() noexcept {
    auto made = make_owned<T>("an object");
    if (made) return std::move(*made);
    refuse(Rule::no_memory, 0, "no memory for the object");
    return nullptr;
  }
  /// An array, or refused. @return whether it was made
  template <class T>
  bool make_array(Array<T>& array, std::size_t count, const char* what) noexcept {
    auto made = Array<T>::make(count, what);
    if (made) {
      array = std::move(*made);
    } else {
      refuse(Rule::no_memory, 0, "no memory for %s of %zu", what, count);
    }
    return made.has_value();
  }

  /// Gives the object to its table and the command's user context. @return the object, or refused
  template <class T>
  T* publish(ObjectTable<T>& table, Owned<T> object) noexcept {
    object->uid = shared_ ? shared_uid : uid;
    auto number = table.insert(std::move(object));
    if (!number) {
      refuse(number.error().errnum == ENOSPC ? Rule::none_left : Rule::no_memory, 0, "%s: %s",
             model::name(table.kind()), number.error().text);
      return nullptr;
    }
    if (context_) ++context_->objects;
    return *number;
  }

  /// False, and refused, when others use the object.
  bool unused(const Object& object) noexcept;

  /// Destroys what nobody uses.
  template <class T>
  void retire(ObjectTable<T>& table, T& object) noexcept {
    if (!unused(object)) return;
    if (UserContext* owner = object.uid ? card.user_contexts.find(object.uid) : nullptr) --owner->objects;
    table.erase(object);
  }

  Hca::Card& card;
  const std::span<const std::byte> input;  ///< all of it, tail included
  const std::span<std::byte> output;
  const std::uint16_t uid;
  const std::uint16_t op_mod;
  const UserContext* context() const noexcept { return context_; }

 private:
  template <class T>
  T* look_up(const ObjectTable<T>& table, std::uint32_t number, bool shared) noexcept {
    T* found = table.find(number);
    if (!found) {
      unknown(table.kind(), number);
    } else if (uid != 0 && found->uid != uid && found->uid != shared_uid && !(shared && found->uid == 0)) {
      foreign(*found);
      found = nullptr;
    }
    return found;
  }
  void unknown(Kind kind, std::uint32_t number) noexcept;
  void foreign(const Object& object) noexcept;

  std::string_view name_;
  bool shared_;  ///< the kernel makes it for all user contexts
  UserContext* context_;
  bool refused_ = false;
};

}  // namespace chime::model
