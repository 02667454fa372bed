// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/command/rules.h"
#include "model/hca.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// A host that talks to a software HCA by commands: memory, a wire, and short ways to make objects.

namespace chime::test {

class HostMemory final : public model::HostMemory {
 public:
  static constexpr std::uint64_t base = 0x100000;

  explicit HostMemory(std::size_t size) : bytes_(size) {}
  std::byte* map(std::uint64_t address, std::size_t length) noexcept override;
  std::uint64_t generation() const noexcept override { return generation_; }
  void changed() { ++generation_; }

  /// Pages that nobody has; @return bus address
  std::uint64_t allocate(std::size_t size);
  std::byte* begin() { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  std::uint64_t generation_ = 1;
};

/// What one command is answered: 0 and 0 when it was executed.
struct Answer {
  prm::cmd_status status = prm::cmd_status::ok;
  std::uint32_t syndrome = 0;
  std::string words;  ///< of the last finding

  bool ok() const { return status == prm::cmd_status::ok; }
  /// Refused by this rule: its status, its syndrome and its words.
  testing::AssertionResult is(model::Rule rule) const;
};

/// One command with room for lists behind both layouts.
template <class C, std::size_t InTail = 0, std::size_t OutTail = 0>
struct Call {
  using in_type = typename C::in;
  using out_type = typename C::out;
  prm::Box<in_type, InTail> in;
  prm::Box<out_type, OutTail + (out_type::size < 16 ? 16 - out_type::size : 0)> out;
};

using Objects = std::map<std::string, std::uint32_t>;

class Host {
 public:
  /// @param up whether the device is brought up as the kernel does
  explicit Host(const char* profile = "connectx6dx", bool up = true);
  explicit Host(const model::Profile& profile, bool up = true);
  ~Host();

  Answer execute(std::span<const std::byte> in, std::span<std::byte> out);
  template <class C>
  Answer run(C& call) {
    return execute(call.in.bytes(), call.out.bytes());
  }
  /// The same, by a user context.
  template <class C>
  Answer run(C& call, std::uint16_t uid) {
    prm::set_bits(call.in.bytes().data(), 16, 16, uid);
    return run(call);
  }

  void bring_up();
  Objects objects() const;  ///< kinds without any are left out
  model::Hca& hca() { return *hca_; }

  // Each makes one object, and fails the test when the card refuses. @return its number
  std::uint16_t context(std::uint32_t capabilities = prm::uctx_cap::raw_tx);
  std::uint32_t pd(std::uint16_t uid = 0);
  std::uint32_t transport_domain(std::uint16_t uid = 0);
  std::uint32_t uar(std::uint16_t uid = 0);
  std::uint32_t eq();
  std::uint32_t umem(std::size_t size, std::uint16_t uid = 0);
  std::uint32_t q_counter(std::uint16_t uid = 0);
  std::uint32_t flow_counter(std::uint16_t uid = 0);

  HostMemory memory{8 << 20};
  std::vector<std::string> rules;  ///< of all findings
  std::string words;               ///< of the last one

 private:
  struct Around;
  void make(const model::Profile& profile);

  std::unique_ptr<Around> around_;
  Owned<model::Hca> hca_;
};

/// All that a queue pair of an Ethernet port needs, in one user context (or the kernel's).
struct Bench {
  explicit Bench(Host& h, std::uint16_t user = 0);

  /// Commands that make one more of each, ready to be changed and run.
  Call<prm::create_cq> cq_call();
  Call<prm::create_sq> sq_call();
  Call<prm::create_rq> rq_call();
  Call<prm::create_rqt, 64 * 4> rqt_call(std::vector<std::uint32_t> rqs);
  Call<prm::create_tir> tir_call(std::uint32_t rq);
  Call<prm::create_tis> tis_call();
  Call<prm::create_mkey> mkey_call(std::uint64_t length);

  template <class C>
  Answer run(C& call) {
    return host.run(call, uid);
  }
  std::uint32_t make_sq();
  std::uint32_t make_rq();

  Host& host;
  std::uint16_t uid;
  std::uint32_t pd, domain, uar, eq, umem, cq, tis;
};

}  // namespace chime::test
