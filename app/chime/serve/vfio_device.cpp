// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "model/pci/config_space.h"

namespace chime::serve {
namespace {

Result<std::size_t> size_of(std::span<const std::byte> bytes) noexcept {
  VfioHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.size;
}

constexpr MessageFormat format{
    .header = sizeof(VfioHeader), .largest = vfio_largest, .descriptors = vfio_descriptors, .size = size_of};
static_assert(format.largest <= MessageStream::capacity &&
              format.descriptors <= MessageStream::most_descriptors);

/// What we can take of QEMU; we need nothing of it, so that its own list is not looked at.
constexpr char capabilities[] =
    R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":4096,"max_dma_maps":64,"write_multiple":true}})";
static_assert(vfio_descriptors == 16 && GuestMemory::most_pieces == 64);
static_assert(vfio_largest <= MessageStream::largest_answer);

constexpr std::uint64_t config_size = model::pci::ConfigSpace::size;
/// Of PCI Express. The extended part is no part of the region, and empty: Cloud Hypervisor looks for
/// capabilities there whatever the region's size is, and waits for ever when it is refused.
constexpr std::uint64_t extended_config_size = 4096;

constexpr std::uint64_t region_size(std::uint32_t region) noexcept {
  switch (region) {
    case VFIO_PCI_BAR0_REGION_INDEX:
      return model::pci::Function::bar_size;
    case VFIO_PCI_CONFIG_REGION_INDEX:
      return config_size;
    default:
      return 0;
  }
}

/// The beginning of a payload.
template <class T>
Result<T> leading(std::span<const std::byte> payload) noexcept {
  if (payload.size() < sizeof(T)) {
    return fail(EINVAL, "a payload of %zu bytes; it has at least %zu", payload.size(), sizeof(T));
  }
  T value;
  std::memcpy(&value, payload.data(), sizeof value);
  return value;
}

Result<> check_access(const VfioAccess& access) noexcept {
  const std::uint64_t size =
      access.region == VFIO_PCI_CONFIG_REGION_INDEX ? extended_config_size : region_size(access.region);
  const bool in_bar = access.region == VFIO_PCI_BAR0_REGION_INDEX;
  if (size == 0)
    return fail(EINVAL, "region %u is none; there are 0, BAR 0, and 7, configuration space", access.region);
  if (access.offset > size || access.count > size - access.offset) {
    return fail(EINVAL, "%u bytes at %#llx of region %u, which has %#llx", access.count,
                static_cast<unsigned long long>(access.offset), access.region,
                static_cast<unsigned long long>(size));
  }
  if (in_bar && access.count != 1 && access.count != 2 && access.count != 4 && access.count != 8)
    return fail(EINVAL, "an access to %u bytes of a BAR; there are 1, 2, 4 and 8", access.count);
  return {};
}

}  // namespace

Result<unsigned> VfioDevice::serve() noexcept {
  if (!negotiated_) {
    if (stream_) {
      auto served = serve_newcomer();
      if (negotiated_) return served;
    }
    // One that still says nothing makes room for the next.
    FileDescriptor socket = listener_.accept();
    if (!socket) return 0u;
    stream_.emplace(std::move(socket), format);
    return serve_newcomer();
  }
  return serve_connection();
}

/// One that has not agreed on a version is not the card's QEMU, but some program that looks who listens.
Result<unsigned> VfioDevice::serve_newcomer() noexcept {
  auto served = serve_connection();
  if (negotiated_) listener_.refuse();
  if (served || negotiated_) return served;
  if (served.error().errnum != EPIPE)
    diagnostics_.report({"vfio.connection", model::Severity::refusal, 0, served.error().text});
  stream_.reset();
  return 0u;
}

Result<unsigned> VfioDevice::serve_connection() noexcept {
  unsigned served = 0;
  for (; served < most; ++served) {
    auto message = stream_->next();
    if (!message) return fail(message.error());
    if (!*message) break;
    if (auto done = execute(**message); !done) return fail(done.error());
  }
  return served;
}

Result<> VfioDevice::execute(const MessageStream::Message& message) noexcept {
  Request request{{}, message.bytes.subspan(sizeof(VfioHeader)), message.descriptors};
  std::memcpy(&request.header, message.bytes.data(), sizeof request.header);
  const VfioHeader& header = request.header;
  if ((header.flags & VfioHeader::type) != VfioHeader::request)
    return fail(EPROTO, "message %u is an answer, and nothing was asked", header.command);
  const Answer done = dispatch(request);
  if (!done) {
    if (done.error().errnum == EPROTO) return fail(done.error());
    const Error why = done.error().within("request %u", header.command);
    diagnostics_.report({"vfio.request", model::Severity::refusal, 0, why.text});
  }
  if (header.flags & VfioHeader::no_reply) return {};
  return done ? answer(header, *done, 0) : answer(header, {}, done.error().errnum);
}

Result<> VfioDevice::answer(const VfioHeader& request, std::span<const std::byte> payload,
                            int errnum) noexcept {
  VfioHeader header{request.id, request.command, static_cast<std::uint32_t>(sizeof header + payload.size()),
                    VfioHeader::reply, static_cast<std::uint32_t>(errnum)};
  if (errnum != 0) header.flags |= VfioHeader::error;
  std::memcpy(answer_.data(), &header, sizeof header);
  if (!payload.empty()) std::memmove(answer_.data() + sizeof header, payload.data(), payload.size());
  return stream_->send(std::span(answer_).first(header.size));
}

template <class T>
VfioDevice::Answer VfioDevice::answer_with(const T& value) noexcept {
  const auto payload = std::span(answer_).subspan(sizeof(VfioHeader), sizeof value);
  std::memcpy(payload.data(), &value, sizeof value);
  return payload;
}

VfioDevice::Answer VfioDevice::dispatch(const Request& request) noexcept {
  const auto command = static_cast<VfioCommand>(request.header.command);
  if (!negotiated_ && command != VfioCommand::version)
    return fail(EPROTO, "message %u comes before a version is agreed on", request.header.command);
  switch (command) {
    case VfioCommand::version:
      return negotiate(request);
    case VfioCommand::dma_map:
      return map_memory(request);
    case VfioCommand::dma_unmap:
      return unmap_memory(request);
    case VfioCommand::device_get_info:
      return describe_device(request);
    case VfioCommand::device_get_region_info:
      return describe_region(request);
    case VfioCommand::device_get_irq_info:
      return describe_irq(request);
    case VfioCommand::device_set_irqs:
      return set_irqs(request);
    case VfioCommand::region_read:
      return read_region(request);
    case VfioCommand::region_write:
      return write_region(request);
    case VfioCommand::region_write_multi:
      return write_regions(request);
    case VfioCommand::device_reset:
      function_.reset();
      return Answer{};
    case VfioCommand::device_get_region_io_fds:
    case VfioCommand::dirty_pages:
    case VfioCommand::device_feature:
    case VfioCommand::mig_data_read:
    case VfioCommand::mig_data_write:
      return fail(ENOTSUP, "not supported");
    case VfioCommand::dma_read:
    case VfioCommand::dma_write:
      break;  // the device's, not the client's
  }
  return fail(EINVAL, "no such request");
}

VfioDevice::Answer VfioDevice::negotiate(const Request& request) noexcept {
  auto version = leading<VfioVersion>(request.payload);
  if (!version) return fail(EPROTO, "%s", version.error().text);
  if (version->major != 0) {
    return fail(EPROTO, "QEMU speaks version %u.%u of vfio-user; Chime speaks 0.0", version->major,
                version->minor);
  }
  negotiated_ = true;
  const VfioVersion ours{0, 0};
  const auto payload = std::span(answer_).subspan(sizeof(VfioHeader), sizeof ours + sizeof capabilities);
  std::memcpy(payload.data(), &ours, sizeof ours);
  std::memcpy(payload.data() + sizeof ours, capabilities, sizeof capabilities);
  return payload;
}

/// Memory that has no file, or may only be read, such as a ROM, is nothing that the card reaches.
VfioDevice::Answer VfioDevice::map_memory(const Request& request) noexcept {
  auto map = leading<VfioDmaMap>(request.payload);
  if (!map) return fail(map.error());
  constexpr std::uint32_t wanted = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  if (request.descriptors.empty() || (map->flags & wanted) != wanted) return Answer{};
  const MemoryPiece piece{map->address, map->size, static_cast<std::int64_t>(map->offset)};
  if (auto added = memory_.add(piece, request.descriptors[0]); !added) return fail(added.error());
  return Answer{};
}

VfioDevice::Answer VfioDevice::unmap_memory(const Request& request) noexcept {
  auto unmap = leading<VfioDmaUnmap>(request.payload);
  if (!unmap) return fail(unmap.error());
  if (unmap->flags == VFIO_DMA_UNMAP_FLAG_ALL) {
    memory_.clear();
  } else if (unmap->flags != 0) {
    return fail(ENOTSUP, "flags %#x: there is no log of dirty pages", unmap->flags);
  } else if (auto removed = memory_.remove(unmap->address, unmap->size); !removed) {
    return fail(removed.error());
  }
  return answer_with(*unmap);
}

VfioDevice::Answer VfioDevice::describe_device(const Request&) noexcept {
  return answer_with(VfioDeviceInfo{sizeof(VfioDeviceInfo), VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
                                    VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS});
}

VfioDevice::Answer VfioDevice::describe_region(const Request& request) noexcept {
  auto asked = leading<vfio_region_info>(request.payload);
  if (!asked) return fail(asked.error());
  if (asked->index >= VFIO_PCI_NUM_REGIONS)
    return fail(EINVAL, "region %u: there are %u", asked->index, unsigned{VFIO_PCI_NUM_REGIONS});
  const std::uint64_t size = region_size(asked->index);
  return answer_with(
      vfio_region_info{.argsz = sizeof(vfio_region_info),
                       .flags = size == 0 ? 0u : VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE,
                       .index = asked->index,
                       .cap_offset = 0,
                       .size = size,
                       .offset = 0});
}

VfioDevice::Answer VfioDevice::describe_irq(const Request& request) noexcept {
  auto asked = leading<vfio_irq_info>(request.payload);
  if (!asked) return fail(asked.error());
  if (asked->index >= VFIO_PCI_NUM_IRQS)
    return fail(EINVAL, "interrupts %u: there are %u kinds", asked->index, unsigned{VFIO_PCI_NUM_IRQS});
  vfio_irq_info info{.argsz = sizeof(vfio_irq_info), .flags = 0, .index = asked->index, .count = 0};
  if (asked->index == VFIO_PCI_INTX_IRQ_INDEX) {
    info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED;
    info.count = 1;
  } else if (asked->index == VFIO_PCI_MSIX_IRQ_INDEX) {
    info.flags = VFIO_IRQ_INFO_EVENTFD;
    info.count = model::pci::Function::vectors;
  }
  return answer_with(info);
}

VfioDevice::Answer VfioDevice::set_irqs(const Request& request) noexcept {
  auto set = leading<VfioIrqSet>(request.payload);
  if (!set) return fail(set.error());
  // INTA# is in the configuration space, as on a card, and never raised.
  if (set->index == VFIO_PCI_INTX_IRQ_INDEX) return Answer{};
  const std::uint32_t action = set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
  const std::uint32_t data = set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
  if (set->index != VFIO_PCI_MSIX_IRQ_INDEX || action != VFIO_IRQ_SET_ACTION_TRIGGER)
    return fail(ENOTSUP, "interrupts %u, flags %#x: MSI-X vectors take triggers", set->index, set->flags);
  Result<> done;
  if (data == VFIO_IRQ_SET_DATA_EVENTFD && request.descriptors.empty()) {
    done = interrupts_.take_away(set->start, set->count);
  } else if (data == VFIO_IRQ_SET_DATA_EVENTFD) {
    if (request.descriptors.size() != set->count) {
      return fail(EINVAL, "%zu eventfds came for %u vectors", request.descriptors.size(), set->count);
    }
    done = interrupts_.assign(set->start, request.descriptors);
  } else if (data == VFIO_IRQ_SET_DATA_NONE && set->count == 0) {
    interrupts_.take_all();
  } else {
    return fail(ENOTSUP, "flags %#x, %u vectors: eventfds are set, or all taken away", set->flags,
                set->count);
  }
  if (!done) return fail(done.error());
  return Answer{};
}

VfioDevice::Answer VfioDevice::read_region(const Request& request) noexcept {
  auto access = leading<VfioAccess>(request.payload);
  if (!access) return fail(access.error());
  if (auto fits = check_access(*access); !fits) return fail(fits.error());
  const auto offset = static_cast<std::uint32_t>(access->offset);
  const auto payload = std::span(answer_).subspan(sizeof(VfioHeader), sizeof *access + access->count);
  std::memcpy(payload.data(), &*access, sizeof *access);
  const auto data = payload.subspan(sizeof *access);
  if (access->region == VFIO_PCI_BAR0_REGION_INDEX) {
    const std::uint64_t value = function_.read_bar(offset, access->count);
    std::memcpy(data.data(), &value, access->count);
    return payload;
  }
  // Registers of 4 bytes mean something as a whole only.
  for (std::uint32_t at = 0; at < access->count;) {
    const std::uint32_t left = access->count - at;
    const unsigned length = (offset + at) % 4 == 0 && left >= 4   ? 4
                            : (offset + at) % 2 == 0 && left >= 2 ? 2
                                                                  : 1;
    const std::uint32_t value = offset + at < config_size ? function_.read_config(offset + at, length) : 0;
    std::memcpy(data.data() + at, &value, length);
    at += length;
  }
  return payload;
}

Result<> VfioDevice::write(const VfioAccess& access, std::span<const std::byte> data) noexcept {
  if (auto fits = check_access(access); !fits) return fits;
  if (data.size() < access.count)
    return fail(EINVAL, "a write of %u bytes brings %zu", access.count, data.size());
  if (access.region == VFIO_PCI_CONFIG_REGION_INDEX && access.count != 1 && access.count != 2 &&
      access.count != 4)
    return fail(EINVAL, "a write of %u bytes of configuration space; there are 1, 2 and 4", access.count);
  std::uint64_t value = 0;
  std::memcpy(&value, data.data(), access.count);
  if (access.region == VFIO_PCI_BAR0_REGION_INDEX) {
    function_.write_bar(access.offset, value, access.count);
  } else if (access.offset < config_size) {
    function_.write_config(static_cast<std::uint32_t>(access.offset), static_cast<std::uint32_t>(value),
                           access.count);
  }
  return {};
}

VfioDevice::Answer VfioDevice::write_region(const Request& request) noexcept {
  auto access = leading<VfioAccess>(request.payload);
  if (!access) return fail(access.error());
  if (auto done = write(*access, request.payload.subspan(sizeof *access)); !done) return fail(done.error());
  return answer_with(*access);
}

VfioDevice::Answer VfioDevice::write_regions(const Request& request) noexcept {
  auto count = leading<std::uint64_t>(request.payload);
  if (!count) return fail(count.error());
  const auto writes = request.payload.subspan(sizeof *count);
  if (*count > writes.size() / sizeof(VfioWrite)) {
    return fail(EINVAL, "%llu writes are announced, %zu came", static_cast<unsigned long long>(*count),
                writes.size() / sizeof(VfioWrite));
  }
  for (std::size_t i = 0; i < *count; ++i) {
    VfioWrite one;
    std::memcpy(&one, writes.data() + i * sizeof one, sizeof one);
    if (auto done = write(one.access, std::as_bytes(std::span(one.data))); !done) return fail(done.error());
  }
  return answer_with(*count);
}

}  // namespace chime::serve
