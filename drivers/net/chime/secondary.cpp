// SPDX-License-Identifier: BSD-3-Clause
#include "secondary.h"

#include <rte_eal.h>
#include <rte_errno.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "driver.h"
#include "flow/ops.h"
#include "info.h"
#include "log.h"
#include "mtu.h"
#include "ops.h"
#include "port_link.h"
#include "queue_ops.h"
#include "receive_filter.h"
#include "rss_ops.h"
#include "stats.h"

namespace chime::net {

namespace {

constexpr const char channel[] = "net_chime";
constexpr timespec patience = {.tv_sec = 1, .tv_nsec = 0};

enum class Kind : std::uint32_t {
  bursts_changed,  ///< to secondary processes; all others to the primary
  counters,
  reset_stats,
  link_up,
  link_down,
  enable_promiscuous,
  disable_promiscuous,
  enable_all_multicast,
  disable_all_multicast,
  set_mtu,
  set_mac,
  add_mac,
  remove_mac,
  start_rx_queue,
  stop_rx_queue,
  start_tx_queue,
  stop_tx_queue,
};

/// What travels in rte_mp_msg::param, both ways.
struct Message {
  Kind kind{};
  std::uint16_t port_id = 0;
  std::uint16_t queue = 0;
  std::uint32_t value = 0;  ///< MTU, index of a MAC address
  std::int32_t result = 0;  ///< of a reply: 0 or a negative errno
  rte_ether_addr mac{};
  HcaCounters counters{};
};
static_assert(std::is_trivially_copyable_v<Message>);
static_assert(sizeof(Message) <= RTE_MP_MAX_PARAM_LEN);

rte_mp_msg pack(const Message& message) noexcept {
  rte_mp_msg packed{};
  std::strcpy(packed.name, channel);
  packed.len_param = sizeof message;
  std::memcpy(packed.param, &message, sizeof message);
  return packed;
}

bool unpack(const rte_mp_msg& packed, Message& message) noexcept {
  if (packed.len_param != sizeof message) return false;
  std::memcpy(&message, packed.param, sizeof message);
  return true;
}

/// In the primary, on the thread that serves rte_mp.
Result<> carry_out(PortControl& port, Message& message) noexcept {
  switch (message.kind) {
    case Kind::counters: {
      Result<HcaCounters> counters = read_hca_counters(port);
      if (!counters) return fail(counters.error());
      message.counters = *counters;
      return {};
    }
    case Kind::reset_stats:
      return reset_stats(port);
    case Kind::link_up:
      return link_up(port);
    case Kind::link_down:
      return link_down(port);
    case Kind::enable_promiscuous:
      return enable_promiscuous(port);
    case Kind::disable_promiscuous:
      return disable_promiscuous(port);
    case Kind::enable_all_multicast:
      return enable_all_multicast(port);
    case Kind::disable_all_multicast:
      return disable_all_multicast(port);
    case Kind::set_mtu:
      return set_mtu(port, static_cast<std::uint16_t>(message.value));
    case Kind::set_mac:
      return set_mac(port, &message.mac);
    case Kind::add_mac:
      return add_mac(port, &message.mac, message.value, 0);
    case Kind::remove_mac:
      return remove_mac(port, message.value);
    case Kind::start_rx_queue:
      return start_rx_queue(port, message.queue);
    case Kind::stop_rx_queue:
      return stop_rx_queue(port, message.queue);
    case Kind::start_tx_queue:
      return start_tx_queue(port, message.queue);
    case Kind::stop_tx_queue:
      return stop_tx_queue(port, message.queue);
    case Kind::bursts_changed:
      break;
  }
  return fail(EINVAL, "a message of kind %u from a secondary process", static_cast<unsigned>(message.kind));
}

int serve_secondary(Message& message) noexcept {
  std::unique_lock<std::mutex> staying;
  PortControl* port = find_port(message.port_id, staying);
  if (port == nullptr) return -ENODEV;
  const std::lock_guard lock(port->mutex);
  if (!port->hca) return -ENODEV;
  const Result<> done = carry_out(*port, message);
  return done ? 0 : report(port->name(), done.error().within("for a secondary process"));
}

/// In a secondary: what ethdev does in the primary when a port starts or stops.
int follow_primary(const Message& message) noexcept {
  if (message.kind != Kind::bursts_changed || message.port_id >= RTE_MAX_ETHPORTS) return -EINVAL;
  rte_eth_dev& dev = rte_eth_devices[message.port_id];
  // A process of the group need not have attached every port.
  if (dev.dev_ops != &secondary_ops) return 0;
  install_bursts(dev);
  struct rte_eth_fp_ops& fast = ::rte_eth_fp_ops[message.port_id];
  fast.rxq.data = dev.data->rx_queues;
  fast.rxq.clbk = reinterpret_cast<void**>(dev.post_rx_burst_cbs);
  fast.txq.data = dev.data->tx_queues;
  fast.txq.clbk = reinterpret_cast<void**>(dev.pre_tx_burst_cbs);
  fast.rx_queue_count = dev.rx_queue_count;
  fast.rx_descriptor_status = dev.rx_descriptor_status;
  fast.tx_descriptor_status = dev.tx_descriptor_status;
  fast.tx_pkt_prepare = dev.tx_pkt_prepare;
  __atomic_store_n(&fast.rx_pkt_burst, dev.rx_pkt_burst, __ATOMIC_RELEASE);
  __atomic_store_n(&fast.tx_pkt_burst, dev.tx_pkt_burst, __ATOMIC_RELEASE);
  return 0;
}

int receive(const rte_mp_msg* packed, const void* peer) noexcept {
  Message message;
  if (!unpack(*packed, message)) return -1;
  message.result =
      rte_eal_process_type() == RTE_PROC_PRIMARY ? serve_secondary(message) : follow_primary(message);
  rte_mp_msg reply = pack(message);
  return rte_mp_reply(&reply, static_cast<const char*>(peer));
}

/// Has the primary do something. @return its answer in `message`
Result<> ask(Message& message) noexcept {
  rte_mp_msg request = pack(message);
  struct rte_mp_reply replies {};
  if (rte_mp_request_sync(&request, &replies, &patience) != 0 || replies.nb_received != 1) {
    std::free(replies.msgs);
    return fail(EIO, "the primary process does not answer (%s)", rte_strerror(rte_errno));
  }
  const bool understood = unpack(replies.msgs[0], message);
  std::free(replies.msgs);
  if (!understood) return fail(EPROTO, "the primary process runs another version of this driver");
  if (message.result != 0)
    return fail(-message.result, "the primary process refused (%s); its log says why",
                rte_strerror(-message.result));
  return {};
}

int forward(rte_eth_dev& dev, Message message) noexcept {
  message.port_id = dev.data->port_id;
  const Result<> done = ask(message);
  return done ? 0 : report(shared_of(dev).name, done.error());
}

template <Kind kind>
int forward_plain(rte_eth_dev* dev) noexcept {
  return forward(*dev, {.kind = kind});
}
template <Kind kind>
int forward_queue(rte_eth_dev* dev, std::uint16_t queue) noexcept {
  return forward(*dev, {.kind = kind, .queue = queue});
}
int forward_mtu(rte_eth_dev* dev, std::uint16_t mtu) noexcept {
  return forward(*dev, {.kind = Kind::set_mtu, .value = mtu});
}
int forward_set_mac(rte_eth_dev* dev, rte_ether_addr* mac) noexcept {
  return forward(*dev, {.kind = Kind::set_mac, .mac = *mac});
}
int forward_add_mac(rte_eth_dev* dev, rte_ether_addr* mac, std::uint32_t index, std::uint32_t) noexcept {
  return forward(*dev, {.kind = Kind::add_mac, .value = index, .mac = *mac});
}
void forward_remove_mac(rte_eth_dev* dev, std::uint32_t index) noexcept {
  forward(*dev, {.kind = Kind::remove_mac, .value = index});
}

/// The primary follows the link for all.
int keep_link(rte_eth_dev*, int) noexcept {
  return -1;
}

consteval eth_dev_ops make_secondary_ops() noexcept {
  eth_dev_ops ops{};
  ops.dev_close = close_port;
  ops.dev_set_link_up = forward_plain<Kind::link_up>;
  ops.dev_set_link_down = forward_plain<Kind::link_down>;
  ops.link_update = keep_link;
  ops.promiscuous_enable = forward_plain<Kind::enable_promiscuous>;
  ops.promiscuous_disable = forward_plain<Kind::disable_promiscuous>;
  ops.allmulticast_enable = forward_plain<Kind::enable_all_multicast>;
  ops.allmulticast_disable = forward_plain<Kind::disable_all_multicast>;
  ops.mac_addr_set = forward_set_mac;
  ops.mac_addr_add = forward_add_mac;
  ops.mac_addr_remove = forward_remove_mac;
  ops.mtu_set = forward_mtu;
  ops.stats_get = get_stats;
  ops.stats_reset = forward_plain<Kind::reset_stats>;
  ops.xstats_get = get_xstats;
  ops.xstats_get_names = get_xstat_names;
  ops.xstats_reset = forward_plain<Kind::reset_stats>;
  ops.dev_infos_get = get_info;
  ops.rx_burst_mode_get = get_rx_burst_mode;
  ops.tx_burst_mode_get = get_tx_burst_mode;
  ops.fw_version_get = get_firmware_version;
  ops.dev_supported_ptypes_get = get_supported_packet_types;
  ops.dev_ptypes_set = set_packet_types;
  ops.rss_hash_conf_get = get_rss_hash;
  ops.reta_query = query_reta;
  ops.flow_ops_get = get_flow_ops;  // refuses in words
  ops.rx_queue_start = forward_queue<Kind::start_rx_queue>;
  ops.rx_queue_stop = forward_queue<Kind::stop_rx_queue>;
  ops.tx_queue_start = forward_queue<Kind::start_tx_queue>;
  ops.tx_queue_stop = forward_queue<Kind::stop_tx_queue>;
  ops.tx_done_cleanup = tx_done_cleanup;
  return ops;
}

}  // namespace

constinit const eth_dev_ops secondary_ops = make_secondary_ops();

Result<> open_channel() noexcept {
  if (rte_mp_action_register(channel, receive) != 0 && rte_errno != ENOTSUP)
    return fail(rte_errno, "registering messages between processes: %s", rte_strerror(rte_errno));
  return {};
}

void close_channel() noexcept {
  rte_mp_action_unregister(channel);
}

void tell_secondaries(const rte_eth_dev& dev) noexcept {
  rte_mp_msg request = pack({.kind = Kind::bursts_changed, .port_id = dev.data->port_id});
  struct rte_mp_reply replies {};
  if (rte_mp_request_sync(&request, &replies, &patience) != 0 && rte_errno != ENOTSUP)
    log(LogLevel::warning, shared_of(dev).name, "a secondary process did not follow a start or stop (%s)",
        rte_strerror(rte_errno));
  std::free(replies.msgs);
}

Result<HcaCounters> ask_for_counters(const rte_eth_dev& dev) noexcept {
  Message message{.kind = Kind::counters, .port_id = dev.data->port_id};
  if (Result<> done = ask(message); !done) return fail(done.error());
  return message.counters;
}

}  // namespace chime::net
