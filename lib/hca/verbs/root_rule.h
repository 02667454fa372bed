// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/verbs/admission.h"
#include "hca/verbs/handle.h"
#include "prm/layouts.h"

namespace chime::hca::verbs {

/// Match parameters as rdma-core takes them.
struct MatchParameters {
  std::size_t size = 0;  ///< bytes that are passed on
  std::array<std::uint64_t, (prm::fte_match_param::size + 7) / 8> words{};

  mlx5dv_flow_match_parameters* get() noexcept {
    return reinterpret_cast<mlx5dv_flow_match_parameters*>(this);
  }
  std::span<std::byte> bytes() noexcept { return std::as_writable_bytes(std::span(words)); }
};
static_assert(offsetof(MatchParameters, words) == sizeof(mlx5dv_flow_match_parameters));

/// One rule of hca::Steering: in the kernel's bypass namespace a rule for each address that the port lets in,
/// so that the netdev keeps all other packets. A rule that asks for a destination address itself is one rule.
class RootRule {
 public:
  struct Config {
    ibv_context* context;
    std::uint8_t criteria_enable;
    MatchParameters mask, value;
    std::uint16_t priority;
    mlx5dv_devx_obj* destination;  ///< TIR or flow table; outlives the rule
  };
  explicit RootRule(const Config& config) noexcept : config_(config) {}

  /// Makes what is missing for these addresses. @param matches sorted
  Result<> prepare(std::span<const AddressMatch> matches) noexcept;
  /// Takes up what was prepared, and ends what is not among it. Can't fail.
  void commit() noexcept;
  /// Forgets what was prepared.
  void cancel() noexcept { next_ = {}; }

  RootRule* next_rule = nullptr;  ///< of the port's

 private:
  struct Entry {
    AddressMatch match{};
    Flow flow;  ///< empty while prepared: the present one goes on
  };
  /// Rules of one mask share a matcher.
  struct MaskMatcher {
    std::uint64_t mask = 0;
    Matcher matcher;
  };

  Result<mlx5dv_flow_matcher*> matcher_for(std::uint64_t mask) noexcept;
  Result<Flow> make_flow(const AddressMatch& match) noexcept;
  Entry* find(const AddressMatch& match) noexcept;
  bool asks_for_address() noexcept;

  Config config_;
  std::array<MaskMatcher, 3> matchers_;  ///< everything, one address, every group; outlive the rules
  Array<Entry> entries_;
  Array<Entry> next_;
};

}  // namespace chime::hca::verbs
