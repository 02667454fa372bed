// SPDX-License-Identifier: BSD-3-Clause
#include "ops.h"

#include "driver.h"
#include "flow/ops.h"
#include "info.h"
#include "mtu.h"
#include "port_link.h"
#include "queue_ops.h"
#include "receive_filter.h"
#include "rss_ops.h"
#include "stats.h"

namespace chime::net {

namespace {

consteval eth_dev_ops make_primary_ops() noexcept {
  eth_dev_ops ops{};
  ops.dev_configure = Op<configure>::call;
  ops.dev_start = start;
  ops.dev_stop = stop;
  ops.dev_close = close_port;
  ops.dev_reset = reset;
  ops.is_removed = is_removed;

  ops.dev_set_link_up = Op<link_up>::call;
  ops.dev_set_link_down = Op<link_down>::call;
  ops.link_update = link_update;

  ops.promiscuous_enable = Op<enable_promiscuous>::call;
  ops.promiscuous_disable = Op<disable_promiscuous>::call;
  ops.allmulticast_enable = Op<enable_all_multicast>::call;
  ops.allmulticast_disable = Op<disable_all_multicast>::call;
  ops.mac_addr_set = Op<set_mac>::call;
  ops.mac_addr_add = Op<add_mac>::call;
  ops.mac_addr_remove = Op<remove_mac>::call_void;
  ops.set_mc_addr_list = Op<set_multicast_list>::call;
  ops.vlan_filter_set = Op<set_vlan_filter>::call;
  ops.vlan_offload_set = Op<set_vlan_offload>::call;
  ops.vlan_strip_queue_set = Op<set_vlan_strip_of_queue>::call_void;
  ops.mtu_set = Op<set_mtu>::call;

  ops.rx_queue_setup = Op<set_up_rx_queue>::call;
  ops.rx_queue_release = release_rx_queue;
  ops.rx_queue_start = Op<start_rx_queue>::call;
  ops.rx_queue_stop = Op<stop_rx_queue>::call;
  ops.rx_queue_intr_enable = arm_rx_interrupt;
  ops.rx_queue_intr_disable = disarm_rx_interrupt;
  ops.tx_queue_setup = Op<set_up_tx_queue>::call;
  ops.tx_queue_release = release_tx_queue;
  ops.tx_queue_start = Op<start_tx_queue>::call;
  ops.tx_queue_stop = Op<stop_tx_queue>::call;
  ops.tx_done_cleanup = tx_done_cleanup;

  ops.rss_hash_update = Op<update_rss_hash>::call;
  ops.rss_hash_conf_get = get_rss_hash;
  ops.reta_update = Op<update_reta>::call;
  ops.reta_query = query_reta;
  ops.flow_ops_get = get_flow_ops;

  ops.stats_get = get_stats;
  ops.stats_reset = Op<reset_stats>::call;
  ops.xstats_get = get_xstats;
  ops.xstats_get_names = get_xstat_names;
  ops.xstats_reset = Op<reset_stats>::call;

  ops.dev_infos_get = get_info;
  ops.rxq_info_get = get_rx_queue_info;
  ops.txq_info_get = get_tx_queue_info;
  ops.rx_burst_mode_get = get_rx_burst_mode;
  ops.tx_burst_mode_get = get_tx_burst_mode;
  ops.fw_version_get = get_firmware_version;
  ops.dev_supported_ptypes_get = get_supported_packet_types;
  ops.dev_ptypes_set = set_packet_types;
  return ops;
}

}  // namespace

constinit const eth_dev_ops primary_ops = make_primary_ops();

}  // namespace chime::net
