// SPDX-License-Identifier: BSD-3-Clause
#include "fake_rdma_core.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::test {
namespace {

FakeRdmaCore* current = nullptr;

}  // namespace

FakeRdmaCore::FakeRdmaCore() {
  current = this;
}

FakeRdmaCore::~FakeRdmaCore() {
  for (ibv_device* device : devices) delete device;
  current = nullptr;
}

FakeRdmaCore& FakeRdmaCore::now() {
  return *current;
}

void FakeRdmaCore::add_device(const char* name, const char* path, bool mlx5) {
  auto* device = new ibv_device{};
  std::snprintf(device->name, sizeof device->name, "%s", name);
  std::snprintf(device->dev_name, sizeof device->dev_name, "uverbs%zu", devices.size());
  std::snprintf(device->ibdev_path, sizeof device->ibdev_path, "%s", path);
  devices.push_back(device);
  is_mlx5[device] = mlx5;
}

void FakeRdmaCore::refuse(prm::cmd_opcode opcode, prm::cmd_status status, std::uint32_t syndrome) {
  refused_[opcode] = {status, syndrome};
}

void FakeRdmaCore::raise(unsigned back) {
  pending_cookies.push_back(cookies.at(cookies.size() - 1 - back));
}

void FakeRdmaCore::raise_async(ibv_event_type type) {
  pending_async.push_back(type);
  eventfd_write(context->async_fd, 1);
}

int FakeRdmaCore::alive(const std::string& kind) const {
  const auto at = alive_.find(kind);
  return at == alive_.end() ? 0 : at->second;
}

int FakeRdmaCore::alive() const {
  int all = 0;
  for (const auto& [kind, count] : alive_) all += count;
  return all;
}

unsigned FakeRdmaCore::calls(const std::string& name) const {
  const auto at = calls_.find(name);
  return at == calls_.end() ? 0 : at->second;
}

int FakeRdmaCore::fails(const std::string& call) {
  ++calls_[call];
  const auto at = failing_.find(call);
  if (at == failing_.end() || --at->second.n != 0) return 0;
  const int errnum = at->second.errnum;
  failing_.erase(at);
  errno = errnum;
  return errnum;
}

int FakeRdmaCore::answer(const void* in, void* out, std::size_t out_size, std::uint32_t number) {
  const std::span<const std::byte> header(static_cast<const std::byte*>(in), prm::cmd_in::size);
  const std::span<std::byte> answer(static_cast<std::byte*>(out), out_size);
  const auto opcode = prm::ConstView<prm::cmd_in>(header).get(prm::cmd_in::opcode);
  std::memset(out, 0, out_size);
  if (const auto at = refused_.find(opcode); at != refused_.end()) {
    prm::View<prm::cmd_out>(answer)
        .set(prm::cmd_out::status, at->second.status)
        .set(prm::cmd_out::syndrome, at->second.syndrome);
    errno = EREMOTEIO;
    return EREMOTEIO;
  }
  // Where most commands return the number of what they made.
  prm::set_bits(answer.data(), 0x40, 32, number);
  return 0;
}

}  // namespace chime::test

using chime::test::FakeFlow;
using chime::test::FakeRdmaCore;

namespace {

FakeRdmaCore& fake() {
  return FakeRdmaCore::now();
}

/// What an opaque object of rdma-core is here.
struct Thing {
  std::uint32_t number;
};
struct FakeMatcher {
  FakeFlow pattern;
};
struct LiveFlow {
  ibv_flow flow;  // first
  FakeFlow rule;
};

std::vector<std::byte> bytes_of(const mlx5dv_flow_match_parameters* parameters) {
  const auto* from = reinterpret_cast<const std::byte*>(parameters->match_buf);
  return {from, from + parameters->match_sz};
}

int destroy_flow(ibv_flow* flow) {
  auto* live = reinterpret_cast<LiveFlow*>(flow);
  std::erase(fake().flows, &live->rule);
  delete live;
  fake().died("flow");
  return 0;
}

alignas(4096) std::byte uar_page[4096];

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  *count = 0;
  if (fake().fails("ibv_get_device_list") != 0) return nullptr;
  auto** list = new ibv_device*[fake().devices.size() + 1]();
  for (ibv_device* device : fake().devices) list[(*count)++] = device;
  fake().born("list");
  return list;
}
void ibv_free_device_list(ibv_device** list) {
  delete[] list;
  fake().died("list");
}
bool mlx5dv_is_supported(ibv_device* device) {
  return fake().is_mlx5[device];
}
ibv_context* mlx5dv_open_device(ibv_device* device, mlx5dv_context_attr* attributes) {
  if (fake().fails("mlx5dv_open_device") != 0) return nullptr;
  fake().opened_with = *attributes;
  auto* context = new verbs_context{};
  context->sz = sizeof *context;
  context->ibv_destroy_flow = destroy_flow;
  context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->context.device = device;
  context->context.num_comp_vectors = 4;
  context->context.async_fd = fake().fails("async_fd") != 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  fake().born("context");
  fake().context = &context->context;
  return &context->context;
}
int ibv_close_device(ibv_context* context) {
  close(context->async_fd);
  delete reinterpret_cast<verbs_context*>(reinterpret_cast<char*>(context) -
                                          offsetof(verbs_context, context));
  fake().died("context");
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (fake().fails("ibv_get_async_event") != 0) return -1;
  eventfd_t one = 0;
  if (eventfd_read(context->async_fd, &one) != 0) return -1;  // EAGAIN
  *event = {};
  event->event_type = fake().pending_async.front();
  fake().pending_async.erase(fake().pending_async.begin());
  ++fake().unacknowledged;
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {
  --fake().unacknowledged;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (fake().fails("ibv_alloc_pd") != 0) return nullptr;
  fake().born("pd");
  return new ibv_pd{context, ++fake().last_number};
}
int ibv_dealloc_pd(ibv_pd* pd) {
  delete pd;
  fake().died("pd");
  return 0;
}
int mlx5dv_init_obj(mlx5dv_obj* object, std::uint64_t) {
  if (const int errnum = fake().fails("mlx5dv_init_obj")) return errnum;
  object->pd.out->pdn = object->pd.in->handle;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t, unsigned access) {
  if (fake().fails("ibv_reg_mr") != 0) return nullptr;
  fake().born("mr");
  fake().access = static_cast<int>(access);
  const std::uint32_t key = ++fake().last_number << 8;
  return new ibv_mr{pd->context, pd, address, length, 0, key, key};
}
#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, 0, static_cast<unsigned>(access));
}
int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  fake().died("mr");
  return 0;
}

int mlx5dv_devx_general_cmd(ibv_context*, const void* in, std::size_t, void* out, std::size_t out_size) {
  if (const int errnum = fake().fails("mlx5dv_devx_general_cmd")) return errnum;
  return fake().answer(in, out, out_size, 0);
}
mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context*, const void* in, std::size_t, void* out,
                                        std::size_t out_size) {
  if (fake().fails("mlx5dv_devx_obj_create") != 0) return nullptr;
  const std::uint32_t number = ++fake().last_number;
  if (fake().answer(in, out, out_size, number) != 0) return nullptr;
  fake().born("object");
  return reinterpret_cast<mlx5dv_devx_obj*>(new Thing{number});
}
int mlx5dv_devx_obj_modify(mlx5dv_devx_obj*, const void* in, std::size_t, void* out, std::size_t out_size) {
  if (const int errnum = fake().fails("mlx5dv_devx_obj_modify")) return errnum;
  return fake().answer(in, out, out_size, 0);
}
int mlx5dv_devx_obj_query(mlx5dv_devx_obj*, const void* in, std::size_t, void* out, std::size_t out_size) {
  if (const int errnum = fake().fails("mlx5dv_devx_obj_query")) return errnum;
  return fake().answer(in, out, out_size, 0);
}
int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj* object) {
  // The object is deleted all the same: it is the test that shall not leak.
  const int errnum = fake().fails("mlx5dv_devx_obj_destroy");
  delete reinterpret_cast<Thing*>(object);
  fake().died("object");
  return errnum;
}

mlx5dv_devx_umem* mlx5dv_devx_umem_reg(ibv_context*, void*, std::size_t, std::uint32_t access) {
  if (fake().fails("mlx5dv_devx_umem_reg") != 0) return nullptr;
  fake().born("umem");
  fake().access = static_cast<int>(access);
  return new mlx5dv_devx_umem{++fake().last_number};
}
int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem* umem) {
  delete umem;
  fake().died("umem");
  return 0;
}
mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context*, std::uint32_t) {
  if (fake().fails("mlx5dv_devx_alloc_uar") != 0) return nullptr;
  fake().born("uar");
  return new mlx5dv_devx_uar{uar_page + 0x800, uar_page, ++fake().last_number, 0, 0};
}
void mlx5dv_devx_free_uar(mlx5dv_devx_uar* uar) {
  delete uar;
  fake().died("uar");
}
int mlx5dv_devx_query_eqn(ibv_context*, std::uint32_t vector, std::uint32_t* eqn) {
  if (const int errnum = fake().fails("mlx5dv_devx_query_eqn")) return errnum;
  *eqn = 0x10 + vector;
  return 0;
}

mlx5dv_devx_event_channel* mlx5dv_devx_create_event_channel(ibv_context*,
                                                            mlx5dv_devx_create_event_channel_flags) {
  if (fake().fails("mlx5dv_devx_create_event_channel") != 0) return nullptr;
  fake().born("channel");
  return new mlx5dv_devx_event_channel{eventfd(0, EFD_CLOEXEC)};
}
void mlx5dv_devx_destroy_event_channel(mlx5dv_devx_event_channel* channel) {
  close(channel->fd);
  delete channel;
  fake().died("channel");
}
int mlx5dv_devx_subscribe_devx_event(mlx5dv_devx_event_channel*, mlx5dv_devx_obj*, std::uint16_t,
                                     std::uint16_t[], std::uint64_t cookie) {
  if (const int errnum = fake().fails("mlx5dv_devx_subscribe_devx_event")) return errnum;
  fake().cookies.push_back(cookie);
  return 0;
}
ssize_t mlx5dv_devx_get_event(mlx5dv_devx_event_channel*, mlx5dv_devx_async_event_hdr* event, std::size_t) {
  if (fake().fails("mlx5dv_devx_get_event") != 0) return errno == ERANGE ? 4 : -1;
  if (fake().pending_cookies.empty()) {
    errno = EAGAIN;
    return -1;
  }
  event->cookie = fake().pending_cookies.front();
  fake().pending_cookies.erase(fake().pending_cookies.begin());
  return sizeof event->cookie;
}

mlx5dv_flow_matcher* mlx5dv_create_flow_matcher(ibv_context*, mlx5dv_flow_matcher_attr* attributes) {
  if (fake().fails("mlx5dv_create_flow_matcher") != 0) return nullptr;
  fake().born("matcher");
  auto* matcher = new FakeMatcher{};
  matcher->pattern.mask = bytes_of(attributes->match_mask);
  matcher->pattern.priority = attributes->priority;
  matcher->pattern.criteria = attributes->match_criteria_enable;
  return reinterpret_cast<mlx5dv_flow_matcher*>(matcher);
}
int mlx5dv_destroy_flow_matcher(mlx5dv_flow_matcher* matcher) {
  delete reinterpret_cast<FakeMatcher*>(matcher);
  fake().died("matcher");
  return 0;
}
ibv_flow* mlx5dv_create_flow(mlx5dv_flow_matcher* matcher, mlx5dv_flow_match_parameters* value,
                             std::size_t count, mlx5dv_flow_action_attr actions[]) {
  if (fake().fails("mlx5dv_create_flow") != 0) return nullptr;
  auto* live = new LiveFlow{};
  live->rule = reinterpret_cast<FakeMatcher*>(matcher)->pattern;
  live->rule.value = bytes_of(value);
  live->rule.destination = count == 1 ? actions[0].obj : nullptr;
  live->flow.context = fake().context;
  fake().flows.push_back(&live->rule);
  fake().born("flow");
  return &live->flow;
}

int _ibv_query_gid_ex(ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
                      std::size_t) {
  if (const int errnum = fake().fails("ibv_query_gid_ex")) return errnum;
  if (index >= fake().gids.size() || fake().gids[index].ndev_ifindex == 0) return ENODATA;
  *entry = fake().gids[index];
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* attributes) {
  if (const int errnum = fake().fails("ibv_query_port")) return errnum;
  auto* port = reinterpret_cast<ibv_port_attr*>(attributes);
  port->gid_tbl_len = 4;
  port->link_layer = fake().link_layer;
  return 0;
}

}  // extern "C"
