// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The operations of an ethdev port of DPDK 22.11: the type of each and the table of all. An operation left
 * NULL answers ENOTSUP to the application. Those returning int return 0 (or a count) or a negative errno.
 */
#pragma once

#include <rte_dev_info.h>
#include <rte_ethdev.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_flow_ops;
struct rte_hairpin_peer_info;

/* Life of a port. */
typedef int (*eth_dev_configure_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_start_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_stop_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_set_link_up_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_set_link_down_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_close_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_reset_t)(struct rte_eth_dev* dev);

/* Link and removal. */
typedef int (*eth_link_update_t)(struct rte_eth_dev* dev, int wait_to_complete);
typedef int (*eth_is_removed_t)(struct rte_eth_dev* dev);

/* What the port receives. */
typedef int (*eth_promiscuous_enable_t)(struct rte_eth_dev* dev);
typedef int (*eth_promiscuous_disable_t)(struct rte_eth_dev* dev);
typedef int (*eth_allmulticast_enable_t)(struct rte_eth_dev* dev);
typedef int (*eth_allmulticast_disable_t)(struct rte_eth_dev* dev);
typedef void (*eth_mac_addr_remove_t)(struct rte_eth_dev* dev, uint32_t index);
typedef int (*eth_mac_addr_add_t)(struct rte_eth_dev* dev, struct rte_ether_addr* addr, uint32_t index,
                                  uint32_t pool);
typedef int (*eth_mac_addr_set_t)(struct rte_eth_dev* dev, struct rte_ether_addr* addr);
typedef int (*eth_set_mc_addr_list_t)(struct rte_eth_dev* dev, struct rte_ether_addr* list, uint32_t count);

/* MTU. */
typedef int (*mtu_set_t)(struct rte_eth_dev* dev, uint16_t mtu);

/* Counters. */
typedef int (*eth_stats_get_t)(struct rte_eth_dev* dev, struct rte_eth_stats* stats);
typedef int (*eth_stats_reset_t)(struct rte_eth_dev* dev);
typedef int (*eth_xstats_get_t)(struct rte_eth_dev* dev, struct rte_eth_xstat* out, unsigned int size);
typedef int (*eth_xstats_reset_t)(struct rte_eth_dev* dev);
typedef int (*eth_xstats_get_names_t)(struct rte_eth_dev* dev, struct rte_eth_xstat_name* out,
                                      unsigned int size);
typedef int (*eth_queue_stats_mapping_set_t)(struct rte_eth_dev* dev, uint16_t queue, uint8_t slot,
                                             uint8_t is_rx);

/* What the port is and can do. */
typedef int (*eth_dev_infos_get_t)(struct rte_eth_dev* dev, struct rte_eth_dev_info* info);
typedef void (*eth_rxq_info_get_t)(struct rte_eth_dev* dev, uint16_t queue, struct rte_eth_rxq_info* info);
typedef void (*eth_txq_info_get_t)(struct rte_eth_dev* dev, uint16_t queue, struct rte_eth_txq_info* info);
typedef int (*eth_burst_mode_get_t)(struct rte_eth_dev* dev, uint16_t queue, struct rte_eth_burst_mode* mode);
typedef int (*eth_fw_version_get_t)(struct rte_eth_dev* dev, char* text, size_t size);
typedef const uint32_t* (*eth_dev_supported_ptypes_get_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_ptypes_set_t)(struct rte_eth_dev* dev, uint32_t mask);

/* VLAN. */
typedef int (*vlan_filter_set_t)(struct rte_eth_dev* dev, uint16_t vlan, int on);
typedef int (*vlan_tpid_set_t)(struct rte_eth_dev* dev, enum rte_vlan_type type, uint16_t tpid);
typedef void (*vlan_strip_queue_set_t)(struct rte_eth_dev* dev, uint16_t queue, int on);
typedef int (*vlan_offload_set_t)(struct rte_eth_dev* dev, int changed);
typedef int (*vlan_pvid_set_t)(struct rte_eth_dev* dev, uint16_t vlan, int on);

/* Queues. setup and release own the queue object; the slot in rte_eth_dev_data holds it. */
typedef int (*eth_queue_start_t)(struct rte_eth_dev* dev, uint16_t queue);
typedef int (*eth_queue_stop_t)(struct rte_eth_dev* dev, uint16_t queue);
typedef int (*eth_rx_queue_setup_t)(struct rte_eth_dev* dev, uint16_t queue, uint16_t descriptors,
                                    unsigned int socket, const struct rte_eth_rxconf* conf,
                                    struct rte_mempool* pool);
typedef void (*eth_queue_release_t)(struct rte_eth_dev* dev, uint16_t queue);
typedef int (*eth_rx_enable_intr_t)(struct rte_eth_dev* dev, uint16_t queue);
typedef int (*eth_rx_disable_intr_t)(struct rte_eth_dev* dev, uint16_t queue);
typedef int (*eth_tx_queue_setup_t)(struct rte_eth_dev* dev, uint16_t queue, uint16_t descriptors,
                                    unsigned int socket, const struct rte_eth_txconf* conf);
typedef int (*eth_tx_done_cleanup_t)(void* txq, uint32_t most);

/* Locator LED and flow control. */
typedef int (*eth_dev_led_on_t)(struct rte_eth_dev* dev);
typedef int (*eth_dev_led_off_t)(struct rte_eth_dev* dev);
typedef int (*flow_ctrl_get_t)(struct rte_eth_dev* dev, struct rte_eth_fc_conf* conf);
typedef int (*flow_ctrl_set_t)(struct rte_eth_dev* dev, struct rte_eth_fc_conf* conf);
typedef int (*priority_flow_ctrl_set_t)(struct rte_eth_dev* dev, struct rte_eth_pfc_conf* conf);
typedef int (*priority_flow_ctrl_queue_info_get_t)(struct rte_eth_dev* dev,
                                                   struct rte_eth_pfc_queue_info* info);
typedef int (*priority_flow_ctrl_queue_config_t)(struct rte_eth_dev* dev,
                                                 struct rte_eth_pfc_queue_conf* conf);

/* Unicast hash filter, tunnel ports, rate. */
typedef int (*eth_uc_hash_table_set_t)(struct rte_eth_dev* dev, struct rte_ether_addr* addr, uint8_t on);
typedef int (*eth_uc_all_hash_table_set_t)(struct rte_eth_dev* dev, uint8_t on);
typedef int (*eth_udp_tunnel_port_add_t)(struct rte_eth_dev* dev, struct rte_eth_udp_tunnel* tunnel);
typedef int (*eth_udp_tunnel_port_del_t)(struct rte_eth_dev* dev, struct rte_eth_udp_tunnel* tunnel);
typedef int (*eth_set_queue_rate_limit_t)(struct rte_eth_dev* dev, uint16_t queue, uint32_t mbps);

/* RSS. */
typedef int (*rss_hash_update_t)(struct rte_eth_dev* dev, struct rte_eth_rss_conf* conf);
typedef int (*rss_hash_conf_get_t)(struct rte_eth_dev* dev, struct rte_eth_rss_conf* conf);
typedef int (*reta_update_t)(struct rte_eth_dev* dev, struct rte_eth_rss_reta_entry64* table, uint16_t size);
typedef int (*reta_query_t)(struct rte_eth_dev* dev, struct rte_eth_rss_reta_entry64* table, uint16_t size);

/* Registers, EEPROM and plug-in module. */
typedef int (*eth_get_reg_t)(struct rte_eth_dev* dev, struct rte_dev_reg_info* regs);
typedef int (*eth_get_eeprom_length_t)(struct rte_eth_dev* dev);
typedef int (*eth_get_eeprom_t)(struct rte_eth_dev* dev, struct rte_dev_eeprom_info* info);
typedef int (*eth_set_eeprom_t)(struct rte_eth_dev* dev, struct rte_dev_eeprom_info* info);
typedef int (*eth_get_module_info_t)(struct rte_eth_dev* dev, struct rte_eth_dev_module_info* info);
typedef int (*eth_get_module_eeprom_t)(struct rte_eth_dev* dev, struct rte_dev_eeprom_info* info);

/* Flow rules: hands out the table of rte_flow_driver.h. */
typedef int (*eth_flow_ops_get_t)(struct rte_eth_dev* dev, const struct rte_flow_ops** ops);

/* DCB and time. */
typedef int (*eth_get_dcb_info)(struct rte_eth_dev* dev, struct rte_eth_dcb_info* info);
typedef int (*eth_timesync_enable_t)(struct rte_eth_dev* dev);
typedef int (*eth_timesync_disable_t)(struct rte_eth_dev* dev);
typedef int (*eth_timesync_read_rx_timestamp_t)(struct rte_eth_dev* dev, struct timespec* when,
                                                uint32_t flags);
typedef int (*eth_timesync_read_tx_timestamp_t)(struct rte_eth_dev* dev, struct timespec* when);
typedef int (*eth_timesync_adjust_time)(struct rte_eth_dev* dev, int64_t delta_ns);
typedef int (*eth_timesync_read_time)(struct rte_eth_dev* dev, struct timespec* when);
typedef int (*eth_timesync_write_time)(struct rte_eth_dev* dev, const struct timespec* when);
typedef int (*eth_read_clock)(struct rte_eth_dev* dev, uint64_t* ticks);

/* Counters by identifier. */
typedef int (*eth_xstats_get_by_id_t)(struct rte_eth_dev* dev, const uint64_t* ids, uint64_t* values,
                                      unsigned int count);
typedef int (*eth_xstats_get_names_by_id_t)(struct rte_eth_dev* dev, const uint64_t* ids,
                                            struct rte_eth_xstat_name* names, unsigned int count);

/* Traffic management, metering, mempool choice. */
typedef int (*eth_tm_ops_get_t)(struct rte_eth_dev* dev, void* ops);
typedef int (*eth_mtr_ops_get_t)(struct rte_eth_dev* dev, void* ops);
typedef int (*eth_pool_ops_supported_t)(struct rte_eth_dev* dev, const char* pool_ops);

/* Hairpin queues and forward error correction. */
typedef int (*eth_hairpin_cap_get_t)(struct rte_eth_dev* dev, struct rte_eth_hairpin_cap* capa);
typedef int (*eth_rx_hairpin_queue_setup_t)(struct rte_eth_dev* dev, uint16_t queue, uint16_t descriptors,
                                            const struct rte_eth_hairpin_conf* conf);
typedef int (*eth_tx_hairpin_queue_setup_t)(struct rte_eth_dev* dev, uint16_t queue, uint16_t descriptors,
                                            const struct rte_eth_hairpin_conf* conf);
typedef int (*eth_fec_get_capability_t)(struct rte_eth_dev* dev, struct rte_eth_fec_capa* capa,
                                        unsigned int count);
typedef int (*eth_fec_get_t)(struct rte_eth_dev* dev, uint32_t* mode);
typedef int (*eth_fec_set_t)(struct rte_eth_dev* dev, uint32_t mode);
typedef int (*hairpin_get_peer_ports_t)(struct rte_eth_dev* dev, uint16_t* ports, size_t size,
                                        uint32_t direction);
typedef int (*eth_hairpin_bind_t)(struct rte_eth_dev* dev, uint16_t rx_port);
typedef int (*eth_hairpin_unbind_t)(struct rte_eth_dev* dev, uint16_t rx_port);
typedef int (*eth_hairpin_queue_peer_update_t)(struct rte_eth_dev* dev, uint16_t queue,
                                               struct rte_hairpin_peer_info* mine,
                                               struct rte_hairpin_peer_info* peer, uint32_t direction);
typedef int (*eth_hairpin_queue_peer_bind_t)(struct rte_eth_dev* dev, uint16_t queue,
                                             struct rte_hairpin_peer_info* peer, uint32_t direction);
typedef int (*eth_hairpin_queue_peer_unbind_t)(struct rte_eth_dev* dev, uint16_t queue, uint32_t direction);

/* Power, representors, metadata, reassembly, header split. */
typedef int (*eth_get_monitor_addr_t)(void* rxq, struct rte_power_monitor_cond* condition);
typedef int (*eth_representor_info_get_t)(struct rte_eth_dev* dev, struct rte_eth_representor_info* info);
typedef int (*eth_rx_metadata_negotiate_t)(struct rte_eth_dev* dev, uint64_t* features);
typedef int (*eth_ip_reassembly_capability_get_t)(struct rte_eth_dev* dev,
                                                  struct rte_eth_ip_reassembly_params* params);
typedef int (*eth_ip_reassembly_conf_get_t)(struct rte_eth_dev* dev,
                                            struct rte_eth_ip_reassembly_params* params);
typedef int (*eth_ip_reassembly_conf_set_t)(struct rte_eth_dev* dev,
                                            const struct rte_eth_ip_reassembly_params* params);
typedef const uint32_t* (*eth_buffer_split_supported_hdr_ptypes_get_t)(struct rte_eth_dev* dev);

/* Dumps and thresholds. */
typedef int (*eth_dev_priv_dump_t)(struct rte_eth_dev* dev, FILE* file);
typedef int (*eth_rx_queue_avail_thresh_set_t)(struct rte_eth_dev* dev, uint16_t queue, uint8_t percent);
typedef int (*eth_rx_queue_avail_thresh_query_t)(struct rte_eth_dev* dev, uint16_t* queue, uint8_t* percent);
typedef int (*eth_rx_descriptor_dump_t)(const struct rte_eth_dev* dev, uint16_t queue, uint16_t offset,
                                        uint16_t count, FILE* file);
typedef int (*eth_tx_descriptor_dump_t)(const struct rte_eth_dev* dev, uint16_t queue, uint16_t offset,
                                        uint16_t count, FILE* file);

/* Congestion management. */
typedef int (*eth_cman_info_get_t)(struct rte_eth_dev* dev, struct rte_eth_cman_info* info);
typedef int (*eth_cman_config_init_t)(struct rte_eth_dev* dev, struct rte_eth_cman_config* conf);
typedef int (*eth_cman_config_set_t)(struct rte_eth_dev* dev, const struct rte_eth_cman_config* conf);
typedef int (*eth_cman_config_get_t)(struct rte_eth_dev* dev, struct rte_eth_cman_config* conf);

/** The table that rte_eth_dev::dev_ops points to. */
struct eth_dev_ops {
  eth_dev_configure_t dev_configure;
  eth_dev_start_t dev_start;
  eth_dev_stop_t dev_stop;
  eth_dev_set_link_up_t dev_set_link_up;
  eth_dev_set_link_down_t dev_set_link_down;
  eth_dev_close_t dev_close;
  eth_dev_reset_t dev_reset;

  eth_link_update_t link_update;
  eth_is_removed_t is_removed;

  eth_promiscuous_enable_t promiscuous_enable;
  eth_promiscuous_disable_t promiscuous_disable;
  eth_allmulticast_enable_t allmulticast_enable;
  eth_allmulticast_disable_t allmulticast_disable;
  eth_mac_addr_remove_t mac_addr_remove;
  eth_mac_addr_add_t mac_addr_add;
  eth_mac_addr_set_t mac_addr_set;
  eth_set_mc_addr_list_t set_mc_addr_list;

  mtu_set_t mtu_set;

  eth_stats_get_t stats_get;
  eth_stats_reset_t stats_reset;
  eth_xstats_get_t xstats_get;
  eth_xstats_reset_t xstats_reset;
  eth_xstats_get_names_t xstats_get_names;
  eth_queue_stats_mapping_set_t queue_stats_mapping_set;

  eth_dev_infos_get_t dev_infos_get;
  eth_rxq_info_get_t rxq_info_get;
  eth_txq_info_get_t txq_info_get;
  eth_burst_mode_get_t rx_burst_mode_get;
  eth_burst_mode_get_t tx_burst_mode_get;
  eth_fw_version_get_t fw_version_get;
  eth_dev_supported_ptypes_get_t dev_supported_ptypes_get;
  eth_dev_ptypes_set_t dev_ptypes_set;

  vlan_filter_set_t vlan_filter_set;
  vlan_tpid_set_t vlan_tpid_set;
  vlan_strip_queue_set_t vlan_strip_queue_set;
  vlan_offload_set_t vlan_offload_set;
  vlan_pvid_set_t vlan_pvid_set;

  eth_queue_start_t rx_queue_start;
  eth_queue_stop_t rx_queue_stop;
  eth_queue_start_t tx_queue_start;
  eth_queue_stop_t tx_queue_stop;
  eth_rx_queue_setup_t rx_queue_setup;
  eth_queue_release_t rx_queue_release;
  eth_rx_enable_intr_t rx_queue_intr_enable;
  eth_rx_disable_intr_t rx_queue_intr_disable;
  eth_tx_queue_setup_t tx_queue_setup;
  eth_queue_release_t tx_queue_release;
  eth_tx_done_cleanup_t tx_done_cleanup;

  eth_dev_led_on_t dev_led_on;
  eth_dev_led_off_t dev_led_off;
  flow_ctrl_get_t flow_ctrl_get;
  flow_ctrl_set_t flow_ctrl_set;
  priority_flow_ctrl_set_t priority_flow_ctrl_set;
  priority_flow_ctrl_queue_info_get_t priority_flow_ctrl_queue_info_get;
  priority_flow_ctrl_queue_config_t priority_flow_ctrl_queue_config;

  eth_uc_hash_table_set_t uc_hash_table_set;
  eth_uc_all_hash_table_set_t uc_all_hash_table_set;
  eth_udp_tunnel_port_add_t udp_tunnel_port_add;
  eth_udp_tunnel_port_del_t udp_tunnel_port_del;
  eth_set_queue_rate_limit_t set_queue_rate_limit;

  rss_hash_update_t rss_hash_update;
  rss_hash_conf_get_t rss_hash_conf_get;
  reta_update_t reta_update;
  reta_query_t reta_query;

  eth_get_reg_t get_reg;
  eth_get_eeprom_length_t get_eeprom_length;
  eth_get_eeprom_t get_eeprom;
  eth_set_eeprom_t set_eeprom;
  eth_get_module_info_t get_module_info;
  eth_get_module_eeprom_t get_module_eeprom;

  eth_flow_ops_get_t flow_ops_get;

  eth_get_dcb_info get_dcb_info;
  eth_timesync_enable_t timesync_enable;
  eth_timesync_disable_t timesync_disable;
  eth_timesync_read_rx_timestamp_t timesync_read_rx_timestamp;
  eth_timesync_read_tx_timestamp_t timesync_read_tx_timestamp;
  eth_timesync_adjust_time timesync_adjust_time;
  eth_timesync_read_time timesync_read_time;
  eth_timesync_write_time timesync_write_time;
  eth_read_clock read_clock;

  eth_xstats_get_by_id_t xstats_get_by_id;
  eth_xstats_get_names_by_id_t xstats_get_names_by_id;

  eth_tm_ops_get_t tm_ops_get;
  eth_mtr_ops_get_t mtr_ops_get;
  eth_pool_ops_supported_t pool_ops_supported;

  eth_hairpin_cap_get_t hairpin_cap_get;
  eth_rx_hairpin_queue_setup_t rx_hairpin_queue_setup;
  eth_tx_hairpin_queue_setup_t tx_hairpin_queue_setup;
  eth_fec_get_capability_t fec_get_capability;
  eth_fec_get_t fec_get;
  eth_fec_set_t fec_set;
  hairpin_get_peer_ports_t hairpin_get_peer_ports;
  eth_hairpin_bind_t hairpin_bind;
  eth_hairpin_unbind_t hairpin_unbind;
  eth_hairpin_queue_peer_update_t hairpin_queue_peer_update;
  eth_hairpin_queue_peer_bind_t hairpin_queue_peer_bind;
  eth_hairpin_queue_peer_unbind_t hairpin_queue_peer_unbind;

  eth_get_monitor_addr_t get_monitor_addr;
  eth_representor_info_get_t representor_info_get;
  eth_rx_metadata_negotiate_t rx_metadata_negotiate;
  eth_ip_reassembly_capability_get_t ip_reassembly_capability_get;
  eth_ip_reassembly_conf_get_t ip_reassembly_conf_get;
  eth_ip_reassembly_conf_set_t ip_reassembly_conf_set;
  eth_buffer_split_supported_hdr_ptypes_get_t buffer_split_supported_hdr_ptypes_get;

  eth_dev_priv_dump_t eth_dev_priv_dump;
  eth_rx_queue_avail_thresh_set_t rx_queue_avail_thresh_set;
  eth_rx_queue_avail_thresh_query_t rx_queue_avail_thresh_query;
  eth_rx_descriptor_dump_t eth_rx_descriptor_dump;
  eth_tx_descriptor_dump_t eth_tx_descriptor_dump;

  eth_cman_info_get_t cman_info_get;
  eth_cman_config_init_t cman_config_init;
  eth_cman_config_set_t cman_config_set;
  eth_cman_config_get_t cman_config_get;
};

#ifdef __cplusplus
}
#endif
