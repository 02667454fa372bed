// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/device.h"

#include <cerrno>
#include <cstdio>

#include "hca/model/on_loop.h"
#include "hca/model/root_rule.h"
#include "hca/model/uar.h"
#include "hca/model/umem.h"

namespace chime::hca::embedded {
namespace {

Handle& handle_of(std::uint64_t handle) noexcept {
  return *reinterpret_cast<Handle*>(handle);
}

/// ALLOC_UAR on behalf of the user context.
Result<Handle*> make_uar(Kernel& kernel, UserContext& user, Embedded& embedded) noexcept {
  auto uar = UarHandle::make(embedded);
  if (!uar) return fail(uar.error());
  prm::Box<prm::alloc_uar_in> in;
  prm::Box<prm::alloc_uar_out> out;
  in.set(prm::alloc_uar_in::uid, kernel.uid());
  if (auto done = kernel.execute(in, out); !done) return fail(done.error());
  (*uar)->number = out.get(prm::alloc_uar_out::uar);
  const auto destroy = (*uar)->prepare_destroy(prm::dealloc_uar_in::size);
  prm::View<prm::dealloc_uar_in>(destroy)
      .set(prm::dealloc_uar_in::opcode, prm::cmd_opcode::dealloc_uar)
      .set(prm::dealloc_uar_in::uid, kernel.uid())
      .set(prm::dealloc_uar_in::uar, (*uar)->number);
  if (auto watched = (*uar)->watch(); !watched) {
    prm::Box<prm::dealloc_uar_out> undone;
    kernel.undo(destroy, undone.bytes());
    return fail(watched.error());
  }
  return user.adopt(std::move(*uar));
}

}  // namespace

Result<Owned<SteppedLoop>> SteppedLoop::create(const model::LoopOptions& options) noexcept {
  auto loop = model::Loop::create(options);
  if (!loop) return fail(loop.error());
  return make_owned<SteppedLoop>("the model's loop", std::move(*loop));
}

EmbeddedDevice::EmbeddedDevice(DeviceConfig config) noexcept
    : config_(std::move(config)),
      loop_(config_.shared ? *config_.shared : *config_.own),
      findings_(port_name_, clock_) {
  std::snprintf(port_name_, sizeof port_name_, "%s", config_.name);
  std::snprintf(name_, sizeof name_, "software HCA of %s", port_name_);
}

Result<Owned<EmbeddedDevice>> EmbeddedDevice::open(DeviceConfig config, wire::Factory& wires) noexcept {
  auto device = make_owned<EmbeddedDevice>("an embedded HCA", std::move(config));
  if (!device) return device;
  if (auto started = (*device)->start(wires); !started) {
    return fail(started.error().within("%s", (*device)->name_));
  }
  return device;
}

Result<> EmbeddedDevice::start(wire::Factory& wires) noexcept {
  auto wire = wires.make(config_.wire, loop_, clock_);
  if (!wire) return fail(wire.error());
  wire_ = std::move(*wire);
  if (auto on = on_loop(loop(), [&] { return power_on(); }); !on) return on;
  auto port = EmbeddedPort::make(*kernel_, loop(), *wire_, config_.profile.identity, config_.mac);
  if (!port) return fail(port.error());
  port_ = std::move(*port);
  auto added = loop().add(*embedded_);
  stepped_ = added.has_value();
  return added;
}

Result<> EmbeddedDevice::power_on() noexcept {
  auto hca = model::Hca::create(config_.profile, {memory_, *wire_, interrupts_, clock_, findings_});
  if (!hca) return fail(hca.error());
  hca_ = std::move(*hca);
  auto kernel = make_owned<Kernel>("the embedded HCA's kernel", *hca_, memory_, findings_, *this);
  if (!kernel) return fail(kernel.error());
  kernel_ = std::move(*kernel);
  if (auto started = kernel_->start(config_.mac); !started) return started;
  auto embedded = make_owned<Embedded>("an embedded HCA", *hca_, interrupts_, *kernel_);
  if (!embedded) return fail(embedded.error());
  embedded_ = std::move(*embedded);
  auto root = make_owned<RootTables>("the root of steering", *kernel_);
  if (!root) return fail(root.error());
  root_ = std::move(*root);
  auto user = make_owned<UserContext>("a user context", *kernel_);
  if (!user) return fail(user.error());
  user_ = std::move(*user);
  return {};
}

void EmbeddedDevice::power_off() noexcept {
  user_.reset();
  root_.reset();
  embedded_.reset();
  kernel_.reset();
  hca_.reset();
}

EmbeddedDevice::~EmbeddedDevice() {
  if (stepped_) loop().remove(*embedded_);
  loop().run([&] {
    if (user_) user_->close();
  });
  port_.reset();
  loop().run([&] { power_off(); });
  wire_.reset();
}

template <class F>
auto EmbeddedDevice::run(F&& f) noexcept {
  return on_loop(loop(), [&] {
    embedded_->drain();
    return f();
  });
}

Object EmbeddedDevice::handed_out(Handle& handle) noexcept {
  return own(reinterpret_cast<std::uint64_t>(&handle), handle.number);
}

template <class T>
Result<Object> EmbeddedDevice::handed_out(Result<T> made) noexcept {
  if (!made) return fail(made.error());
  return handed_out(**made);
}

Result<> EmbeddedDevice::command(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  return run([&] { return user_->command(in, out); });
}

Result<Object> EmbeddedDevice::create(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  return handed_out(run([&] { return user_->create(in, out); }));
}

Result<> EmbeddedDevice::modify(std::uint64_t handle, std::span<const std::byte> in,
                                std::span<std::byte> out) noexcept {
  return run([&] { return user_->modify(handle_of(handle), in, out); });
}

Result<> EmbeddedDevice::query(std::uint64_t handle, std::span<const std::byte> in,
                               std::span<std::byte> out) noexcept {
  return run([&] { return user_->query(handle_of(handle), in, out); });
}

void EmbeddedDevice::destroy(std::uint64_t handle) noexcept {
  loop().run([&] {
    embedded_->drain();
    Handle& ended = handle_of(handle);
    const auto created_by = ended.created_by();
    const std::uint32_t number = ended.number;
    if (ended.armed_on) ended.armed_on->release_arm(number);
    events_.forget(created_by, number);
    user_->destroy(ended);
  });
}

Result<Umem> EmbeddedDevice::register_umem(void* address, std::size_t length, Access access) noexcept {
  if (reinterpret_cast<std::uintptr_t>(address) % 4096 != 0) {
    return fail(EINVAL, "umem at %p; it begins on a page of 4096 bytes", address);
  }
  if (access.remote_atomic) {
    return fail(EPERM, "a umem gives no right to remote atomics; register_memory does");
  }
  auto object = handed_out(run([&]() -> Result<Handle*> {
    auto umem = UmemHandle::make(*kernel_, memory_, PageRange::small(address, length), access.local_write);
    if (!umem) return fail(umem.error());
    return user_->adopt(std::move(*umem));
  }));
  if (!object) return fail(object.error());
  return Umem{std::move(*object)};
}

Result<MemoryRegion> EmbeddedDevice::register_memory(const Object& pd, void* address, std::size_t length,
                                                     Access access) noexcept {
  if ((access.remote_write || access.remote_atomic) && !access.local_write) {
    return fail(EINVAL, "memory that others may write needs the right to write locally too");
  }
  struct Made {
    Handle* umem = nullptr;
    Handle* mkey = nullptr;
    std::uint32_t key = 0;
  };
  auto made = run([&]() -> Result<Made> {
    auto umem = UmemHandle::make(*kernel_, memory_, PageRange::large(address, length), access.local_write);
    if (!umem) return fail(umem.error());
    Made both;
    auto mkey = make_mkey(*kernel_, **umem, pd.number(), reinterpret_cast<std::uintptr_t>(address), length,
                          access, both.key);
    both.umem = user_->adopt(std::move(*umem));
    if (!mkey) {
      user_->destroy(*both.umem);
      return fail(mkey.error());
    }
    both.mkey = user_->adopt(std::move(*mkey));
    return both;
  });
  if (!made) return fail(made.error().within("registration of %zu bytes of memory", length));
  MemoryRegion region;
  region.umem = handed_out(*made->umem);
  region.mkey = handed_out(*made->mkey);
  region.lkey = region.rkey = made->key;
  return region;
}

Result<Uar> EmbeddedDevice::alloc_uar() noexcept {
  auto made = run([&] { return make_uar(*kernel_, *user_, *embedded_); });
  if (!made) return fail(made.error());
  Uar uar;
  uar.object = handed_out(**made);
  uar.send = static_cast<UarHandle&>(**made).send_doorbell();
  return uar;
}

Result<Doorbell> EmbeddedDevice::arm_doorbell(const Uar& uar, const Object& cq) noexcept {
  if (!uar.object || !cq) return fail(EINVAL, "an arm doorbell is of a UAR and a completion queue");
  return run([&]() -> Result<Doorbell> {
    auto& arms = static_cast<UarHandle&>(handle_of(uar.object.handle()));
    Handle& armed = handle_of(cq.handle());
    if (armed.created_by() != prm::cmd_opcode::create_cq) {
      return fail(EINVAL, "object %#x is no completion queue: there is nothing to arm", cq.number());
    }
    if (armed.uar_page != arms.number) {
      return fail(EINVAL, "CQ %#x was made on UAR %#x, and a card ignores its doorbell on UAR %#x",
                  cq.number(), armed.uar_page, arms.number);
    }
    auto doorbell = arms.arm_doorbell(armed.number);
    if (doorbell) armed.armed_on = &arms;
    return doorbell;
  });
}

Result<std::uint32_t> EmbeddedDevice::query_eqn(std::uint32_t vector) noexcept {
  if (vector >= Kernel::completion_vectors) {
    return fail(EINVAL, "completion vector %u; the %s has 0 to %u", vector, name_,
                Kernel::completion_vectors - 1);
  }
  return kernel_->eqn(vector);
}

Result<> EmbeddedDevice::condition() const noexcept {
  if (!lost_) return {};
  return fail(ENODEV, "%s is lost: a test took it away", name_);
}

Result<Owned<EventChannel>> EmbeddedDevice::create_event_channel() noexcept {
  auto channel = Channel::make(events_, loop());
  if (!channel) return fail(channel.error());
  return Owned<EventChannel>(std::move(*channel));
}

Result<Object> EmbeddedDevice::root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                                    std::span<const std::byte> value, std::uint16_t priority,
                                    RootDestination destination) noexcept {
  return handed_out(run([&]() -> Result<Handle*> {
    // Memory first: a rule that is there can't fail any more.
    auto rule = make_owned<RootRule>("a root rule", *root_);
    if (!rule) return fail(rule.error());
    auto place = root_->add(criteria_enable, mask, value, priority, destination);
    if (!place) return fail(place.error());
    (*rule)->set(*place);
    return user_->adopt(std::move(*rule));
  }));
}

void EmbeddedDevice::event(const prm::Eqe& eqe) noexcept {
  const auto type = static_cast<prm::event_type>(eqe.type);
  if (type == prm::event_type::port_change || type == prm::event_type::nic_vport_change) {
    if (port_) port_->changed();
    return;
  }
  events_.route(eqe);
}

}  // namespace chime::hca::embedded
