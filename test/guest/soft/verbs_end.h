// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_pmd_chime.h>

#include <array>
#include <cstdint>

#include "../owners.h"

/// @file
/// One end of a connection through stock rdma-core: a queue pair of any RDMA device, and memory.

namespace chime::test {

class VerbsEnd {
 public:
  static constexpr unsigned words = 512;
  static constexpr std::uint32_t first_psn = 0x123456;

  /// @param remote_access IBV_ACCESS_REMOTE_... of the memory
  VerbsEnd(const char* device, unsigned gid_index, unsigned remote_access);

  rte_pmd_chime_endpoint endpoint(const std::array<std::uint8_t, 6>& mac) const;
  void connect(const rte_pmd_chime_endpoint& remote, unsigned gid_index);

  /// Posts a request over the first `length` bytes of memory. @return the status of its completion
  ibv_wc_status execute(ibv_wr_opcode opcode, std::uint32_t length, std::uint64_t remote, std::uint32_t rkey,
                        std::uint64_t operand = 0, std::uint64_t swap = 0);
  void post_receive();
  ibv_wc wait();

  std::uint64_t& word(unsigned i) { return memory_[i]; }
  std::uint64_t address(unsigned i) const { return reinterpret_cast<std::uintptr_t>(&memory_[i]); }
  std::uint32_t rkey() const { return mr_->rkey; }

 private:
  alignas(4096) std::array<std::uint64_t, words> memory_{};
  Handle<ibv_context> context_;
  Handle<ibv_pd> pd_;
  Handle<ibv_mr> mr_;
  Handle<ibv_cq> cq_;
  Handle<ibv_qp> qp_;
  ibv_gid gid_{};
};

}  // namespace chime::test
