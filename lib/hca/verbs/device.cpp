// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/device.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "hca/verbs/event_channel.h"
#include "hca/verbs/failure.h"
#include "hca/verbs/memory.h"
#include "hca/verbs/objects.h"
#include "hca/verbs/port.h"
#include "hca/verbs/uar.h"

namespace chime::hca::verbs {
namespace {

Handle& handle_of(std::uint64_t handle) noexcept {
  return *reinterpret_cast<Handle*>(handle);
}

}  // namespace

VerbsDevice::VerbsDevice(Context context) noexcept
    : context_(std::move(context)), root_(*context_, handles_), watch_(*context_) {
  std::snprintf(name_.data(), name_.size(), "%s", context_->device->name);
}

Result<Owned<VerbsDevice>> VerbsDevice::make(Context context, unsigned netdev) noexcept {
  auto device = make_owned<VerbsDevice>("an open card", std::move(context));
  if (!device) return device;
  VerbsDevice& d = **device;
  if (auto watched = d.watch_.open(); !watched) return fail(watched.error().within("%s", d.name()));
  auto port = NetdevPort::make(*d.context_, netdev, d.root_, d.watch_);
  if (!port) return fail(port.error().within("%s", d.name()));
  d.port_ = std::move(*port);
  return device;
}

Result<> VerbsDevice::condition() const noexcept {
  if (!watch_.lost()) return {};
  return fail(
      ENODEV,
      "%s is lost (IBV_EVENT_DEVICE_FATAL): its firmware failed, or its driver was unbound or unloaded, "
      "or the card unplugged; `dmesg` tells. Close the port, or reset it (rte_eth_dev_reset) when the "
      "card is back",
      name());
}

Object VerbsDevice::handed_out(Owned<Handle> handle) noexcept {
  Handle& adopted = handles_.adopt(std::move(handle));
  return own(reinterpret_cast<std::uint64_t>(&adopted), adopted.number());
}

Result<> VerbsDevice::command(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  return general_command(*context_, in, out);
}

Result<Object> VerbsDevice::create(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  auto made = create_object(*context_, in, out);
  if (!made) return fail(made.error());
  return handed_out(std::move(*made));
}

Result<> VerbsDevice::modify(std::uint64_t handle, std::span<const std::byte> in,
                             std::span<std::byte> out) noexcept {
  return modify_object(handle_of(handle), in, out);
}

Result<> VerbsDevice::query(std::uint64_t handle, std::span<const std::byte> in,
                            std::span<std::byte> out) noexcept {
  return query_object(handle_of(handle), in, out);
}

void VerbsDevice::destroy(std::uint64_t handle) noexcept {
  handles_.end(handle_of(handle));
}

Result<Umem> VerbsDevice::register_umem(void* address, std::size_t length, Access access) noexcept {
  auto umem = make_umem(*context_, address, length, access);
  if (!umem) return fail(umem.error());
  return Umem{handed_out(std::move(*umem))};
}

Result<MemoryRegion> VerbsDevice::register_memory(const Object& pd, void* address, std::size_t length,
                                                  Access access) noexcept {
  if (!pd) return fail(EINVAL, "memory is registered on a protection domain; the handle is empty");
  auto range = register_range(handle_of(pd.handle()), address, length, access);
  if (!range) return fail(range.error());
  MemoryRegion region;
  region.mkey = handed_out(std::move(range->handle));
  region.lkey = range->lkey;
  region.rkey = range->rkey;
  return region;
}

Result<Uar> VerbsDevice::alloc_uar() noexcept {
  auto made = UarHandle::make(*context_);
  if (!made) return fail(made.error());
  Uar uar;
  uar.send = (*made)->send_doorbell();
  uar.object = handed_out(std::move(*made));
  return uar;
}

Result<Doorbell> VerbsDevice::arm_doorbell(const Uar& uar, const Object& cq) noexcept {
  if (!uar.object || !cq) return fail(EINVAL, "an arm doorbell is of a UAR and a completion queue");
  const Handle& armed = handle_of(cq.handle());
  if (armed.created_by() != prm::cmd_opcode::create_cq) {
    return fail(EINVAL, "object %#x is no completion queue: there is nothing to arm", cq.number());
  }
  const std::uint32_t made_on = static_cast<const DevxHandle&>(armed).uar_page();
  if (made_on != uar.page_id()) {
    return fail(EINVAL, "CQ %#x was made on UAR %#x, and a card ignores its doorbell on UAR %#x", cq.number(),
                made_on, uar.page_id());
  }
  return static_cast<const UarHandle&>(handle_of(uar.object.handle())).arm_doorbell();
}

Result<std::uint32_t> VerbsDevice::query_eqn(std::uint32_t vector) noexcept {
  const auto vectors = static_cast<std::uint32_t>(context_->num_comp_vectors);
  if (vector >= vectors) {
    return fail(EINVAL, "completion vector %u; %s has 0 to %u", vector, name(), vectors - 1);
  }
  std::uint32_t eqn = 0;
  if (const int failed = mlx5dv_devx_query_eqn(context_.get(), vector, &eqn); failed != 0) {
    return fail(call_failure("mlx5dv_devx_query_eqn", failed));
  }
  return eqn;
}

Result<Owned<EventChannel>> VerbsDevice::create_event_channel() noexcept {
  auto channel = Channel::make(*context_);
  if (!channel) return fail(channel.error());
  return Owned<EventChannel>(std::move(*channel));
}

Result<Object> VerbsDevice::root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                                 std::span<const std::byte> value, std::uint16_t priority,
                                 RootDestination destination) noexcept {
  auto rule = root_.root(criteria_enable, mask, value, priority, destination);
  if (!rule) return fail(rule.error());
  return handed_out(std::move(*rule));
}

}  // namespace chime::hca::verbs
