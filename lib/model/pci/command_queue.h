// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/card.h"
#include "model/hca.h"

namespace chime::model::pci {

/// The command queue in host memory (PRM, "Command Interface"): a ring of entries whose bits in the doorbell
/// vector say which are the card's.
///
///     entry, 64 bytes                               mailbox, 576 bytes
///     00 type (7)                                   000 512 bytes of the message
///     04 input length    08 input mailboxes ----->  230 next mailbox
///     10 first 16 bytes of the input                238 number of the block
///     20 first 16 bytes of the output               23c token, signatures
///     30 output mailboxes ----->
///     38 output length   3c token, signature, delivery status, ownership
class CommandQueue {
 public:
  static constexpr unsigned log_size = 5;                       ///< entries
  static constexpr unsigned log_stride = 6;                     ///< bytes of an entry
  static constexpr std::size_t longest = std::size_t{1} << 20;  ///< bytes of an input or output

  static Result<Owned<CommandQueue>> create() noexcept;

  /// Executes what the doorbell announced: each entry that is owned by the card, lowest first.
  /// @param base   bus address of the ring, a multiple of 4096
  /// @param vector bit n: entry n
  void ring(Hca& hca, std::uint64_t base, std::uint32_t vector) noexcept;

  /// Delivery status: how the entry and its mailboxes were read. 0 is good, whatever the command's own
  /// status.
  enum class Delivery : std::uint8_t {
    ok = 0x0,
    signature = 0x1,
    token = 0x2,
    block_number = 0x3,
    output_pointer = 0x4,
    input_pointer = 0x5,
    internal = 0x6,
    input_length = 0x7,
    output_length = 0x8,
    reserved_not_zero = 0x9,
    command_type = 0x10,
  };

 private:
  struct Message;
  Delivery execute(Hca& hca, std::span<std::byte> entry, unsigned slot) noexcept;
  Delivery gather(Hca::Card& card, const Message& message, std::span<std::byte> to) noexcept;
  Delivery scatter(Hca::Card& card, const Message& message, std::span<const std::byte> from) noexcept;
  Delivery walk(Hca::Card& card, const Message& message, std::size_t bytes,
                Delivery (*visit)(std::span<std::byte> box, void* context), void* context) noexcept;
  static Result<> reserve(Array<std::byte>& buffer, std::size_t bytes) noexcept;

  Array<std::byte> input_;
  Array<std::byte> output_;
};

const char* name(CommandQueue::Delivery delivery) noexcept;

}  // namespace chime::model::pci
