// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/command_queue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "prm/layouts.h"

namespace chime::model::pci {
namespace {

using Entry = prm::cmd_queue_entry;
using Box = prm::cmd_if_box;

constexpr std::size_t in_entry = 16;      ///< bytes of a message that lie in the entry
constexpr std::size_t least_output = 8;   ///< status and syndrome
constexpr std::size_t in_box = 512;       ///< bytes of a message that lie in a mailbox
constexpr std::size_t box_control = 512;  ///< where a mailbox's bytes behind the data begin
constexpr std::uint64_t box_alignment = 512;
constexpr std::size_t entry_input = 0x10;
constexpr std::size_t entry_output = 0x20;
constexpr std::size_t entry_signature = 0x3d;
constexpr std::size_t box_ctrl_signature = 0x23e;
constexpr std::size_t box_signature = 0x23f;
constexpr std::uint8_t pci_transport = 7;

std::uint8_t exclusive_or(std::span<const std::byte> bytes) noexcept {
  auto sum = std::byte{0};
  for (const std::byte b : bytes) sum ^= b;
  return static_cast<std::uint8_t>(sum);
}

/// A checksum that makes the exclusive or of all bytes 0xff.
std::byte signature_of(std::span<const std::byte> bytes, std::size_t at) noexcept {
  return static_cast<std::byte>(~(exclusive_or(bytes) ^ static_cast<std::uint8_t>(bytes[at])) & 0xff);
}

bool signed_well(std::span<const std::byte> bytes) noexcept {
  return exclusive_or(bytes) == 0xff;
}

}  // namespace

const char* name(CommandQueue::Delivery delivery) noexcept {
  using D = CommandQueue::Delivery;
  switch (delivery) {
    case D::ok:
      return "no error";
    case D::signature:
      return "signature error";
    case D::token:
      return "token error";
    case D::block_number:
      return "bad block number";
    case D::output_pointer:
      return "output mailbox is not host memory or not aligned";
    case D::input_pointer:
      return "input mailbox is not host memory or not aligned";
    case D::internal:
      return "internal error";
    case D::input_length:
      return "input length error";
    case D::output_length:
      return "output length error";
    case D::reserved_not_zero:
      return "reserved field is not zero";
    case D::command_type:
      return "bad command type";
  }
  return "unknown";
}

/// One direction of a command: how long, and where what does not lie in the entry does.
struct CommandQueue::Message {
  std::uint64_t first;
  std::size_t length;
  std::uint8_t token;
  bool check_signatures;
  Delivery bad_pointer;
};

Result<Owned<CommandQueue>> CommandQueue::create() noexcept {
  auto queue = make_owned<CommandQueue>("a command queue");
  if (!queue) return queue;
  if (auto made = reserve((*queue)->input_, in_box); !made) return fail(made.error());
  if (auto made = reserve((*queue)->output_, in_box); !made) return fail(made.error());
  return queue;
}

Result<> CommandQueue::reserve(Array<std::byte>& buffer, std::size_t bytes) noexcept {
  if (buffer.size() >= bytes) return {};
  auto made = Array<std::byte>::make(std::max(bytes, buffer.size() * 2), "a command's mailboxes");
  if (!made) return fail(made.error());
  buffer = std::move(*made);
  return {};
}

void CommandQueue::ring(Hca& hca, std::uint64_t base, std::uint32_t vector) noexcept {
  Hca::Card& card = hca.card();
  card.host.refresh();
  for (unsigned slot = 0; slot < 1u << log_size; ++slot) {
    if (!(vector >> slot & 1)) continue;
    constexpr std::size_t bytes = std::size_t{1} << log_stride;
    std::byte* const at = base ? card.host.map(base + (std::uint64_t{slot} << log_stride), bytes) : nullptr;
    if (!at) {
      card.find("command-queue.memory", Severity::error, slot,
                "command queue entry %u at %#llx is not host memory", slot,
                static_cast<unsigned long long>(base));
      continue;
    }
    const std::span<std::byte> entry(at, bytes);
    if (!prm::ConstView<Entry>(entry).get(Entry::ownership)) {
      card.find("command-queue.ownership", Severity::error, slot,
                "the doorbell names command queue entry %u, whose ownership bit says software's", slot);
      continue;
    }
    // The event of a command that makes the first EQ for such events would come before software waits for it.
    bool listened = false;
    constexpr auto completion = prm::event_type::command_completion;
    card.eqs.for_each(
        [&](Eq& eq) { listened |= (eq.event_mask >> static_cast<unsigned>(completion) & 1) != 0; });

    const Delivery delivery = execute(hca, entry, slot);
    if (delivery != Delivery::ok) {
      card.find("command-queue.delivery", Severity::error, slot, "command queue entry %u: %s", slot,
                name(delivery));
    }
    auto view = prm::View<Entry>(entry);
    std::array<std::byte, std::size_t{1} << log_stride> last;
    std::copy(entry.begin(), entry.end(), last.begin());
    prm::View<Entry>(last).set(Entry::status, static_cast<std::uint32_t>(delivery)).set(Entry::ownership, 0);
    view.set(Entry::signature, static_cast<std::uint32_t>(signature_of(last, entry_signature)));
    // The ownership bit is what software polls: it comes last.
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(at) + bytes - 1,
                     static_cast<std::uint8_t>(last[bytes - 1]), __ATOMIC_RELEASE);
    if (listened) card.engine->raise(completion, 0, EventData{1u << slot});
  }
}

CommandQueue::Delivery CommandQueue::execute(Hca& hca, std::span<std::byte> entry, unsigned) noexcept {
  Hca::Card& card = hca.card();
  const prm::ConstView<Entry> view(entry);
  // "cmdif_checksum" 0: software signs nothing.
  const bool check = card.capabilities.general().get(prm::cmd_hca_cap::cmdif_checksum) != 0;
  if (view.get(Entry::type) != pci_transport) return Delivery::command_type;
  if (check && !signed_well(entry)) return Delivery::signature;
  const std::size_t input_length = view.get(Entry::input_length);
  const std::size_t output_length = view.get(Entry::output_length);
  if (input_length < in_entry || input_length > longest) return Delivery::input_length;
  if (output_length < least_output || output_length > longest) return Delivery::output_length;
  if (!reserve(input_, input_length) || !reserve(output_, output_length)) return Delivery::internal;

  const auto token = static_cast<std::uint8_t>(view.get(Entry::token));
  const Message in{view.get(Entry::input_mailbox_pointer), input_length, token, check,
                   Delivery::input_pointer};
  const Message out{view.get(Entry::output_mailbox_pointer), output_length, token, false,
                    Delivery::output_pointer};
  const auto input = input_.span().first(input_length);
  const auto output = output_.span().first(std::max(output_length, in_entry));
  std::memcpy(input.data(), &entry[entry_input], in_entry);
  if (auto read = gather(card, in, input.subspan(in_entry)); read != Delivery::ok) return read;
  // Nothing is executed whose answer could not be told.
  const auto readable = [](std::span<std::byte>, void*) { return Delivery::ok; };
  if (auto told = walk(card, out, output.size() - in_entry, readable, nullptr); told != Delivery::ok)
    return told;
  hca.command(input, output);
  std::memcpy(&entry[entry_output], output.data(), in_entry);
  return scatter(card, out, output.subspan(in_entry));
}

/// Calls `visit` for each mailbox that `bytes` bytes take.
CommandQueue::Delivery CommandQueue::walk(Hca::Card& card, const Message& message, std::size_t bytes,
                                          Delivery (*visit)(std::span<std::byte>, void*),
                                          void* context) noexcept {
  std::uint64_t at = message.first;
  const std::size_t boxes = (bytes + in_box - 1) / in_box;
  for (std::size_t i = 0; i < boxes; ++i) {
    const bool aligned = at % box_alignment == 0;
    std::byte* const data = at && aligned ? card.host.map(at, Box::size) : nullptr;
    if (!data) return message.bad_pointer;
    const std::span<std::byte> box(data, Box::size);
    const prm::ConstView<Box> view(box);
    if (view.get(Box::token) != message.token) return Delivery::token;
    if (view.get(Box::block_number) != i) return Delivery::block_number;
    if (message.check_signatures &&
        (!signed_well(box) ||
         !signed_well(box.subspan(box_control).first(box_ctrl_signature + 1 - box_control))))
      return Delivery::signature;
    at = view.get(Box::next_pointer);
    if (auto seen = visit(box, context); seen != Delivery::ok) return seen;
  }
  return Delivery::ok;
}

CommandQueue::Delivery CommandQueue::gather(Hca::Card& card, const Message& message,
                                            std::span<std::byte> to) noexcept {
  return walk(
      card, message, to.size(),
      [](std::span<std::byte> box, void* context) {
        auto& left = *static_cast<std::span<std::byte>*>(context);
        const std::size_t now = std::min(in_box, left.size());
        std::memcpy(left.data(), box.data(), now);
        left = left.subspan(now);
        return Delivery::ok;
      },
      &to);
}

CommandQueue::Delivery CommandQueue::scatter(Hca::Card& card, const Message& message,
                                             std::span<const std::byte> from) noexcept {
  return walk(
      card, message, from.size(),
      [](std::span<std::byte> box, void* context) {
        auto& left = *static_cast<std::span<const std::byte>*>(context);
        const std::size_t now = std::min(in_box, left.size());
        std::memcpy(box.data(), left.data(), now);
        left = left.subspan(now);
        const auto control = box.subspan(box_control).first(box_ctrl_signature + 1 - box_control);
        box[box_ctrl_signature] = signature_of(control, control.size() - 1);
        box[box_signature] = signature_of(box, box_signature);
        return Delivery::ok;
      },
      &from);
}

}  // namespace chime::model::pci
