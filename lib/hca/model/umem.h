// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/model/handle.h"
#include "hca/model/memory.h"

namespace chime::hca::embedded {

/// Memory of the user context that the card may reach (CREATE_UMEM).
class UmemHandle final : public Handle {
 public:
  /// Registers the range and tells the card of it.
  static Result<Owned<UmemHandle>> make(Kernel& kernel, RegisteredMemory& memory, const PageRange& range,
                                        bool writable) noexcept;
  explicit UmemHandle(RegisteredMemory& memory) noexcept
      : Handle(prm::cmd_opcode::create_umem), memory_(memory) {}
  ~UmemHandle() override { release(); }

  /// The owner is about to give the memory to others: the card loses it even if it wants to keep it.
  void abandon() noexcept override { release(); }

  const PageRange& range() const noexcept { return range_; }

 private:
  void release() noexcept;

  RegisteredMemory& memory_;
  PageRange range_;
  bool registered_ = false;
};

/// A memory key over the whole of a umem, made by the kernel for a user context (ibv_reg_mr).
/// @param address,length what the key covers: it begins where the umem does
/// @param key            set to lkey and rkey
Result<Owned<Handle>> make_mkey(Kernel& kernel, const UmemHandle& umem, std::uint32_t pd,
                                std::uint64_t address, std::uint64_t length, Access access,
                                std::uint32_t& key) noexcept;

}  // namespace chime::hca::embedded
