// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "model/capabilities.h"
#include "model/datapath/engine.h"
#include "model/hca.h"
#include "model/object/access.h"
#include "model/object/counter.h"
#include "model/object/gid.h"
#include "model/object/multicast.h"
#include "model/object/page_store.h"
#include "model/object/port.h"
#include "model/object/qp.h"
#include "model/object/queue.h"
#include "model/object/srq.h"
#include "model/object/steering.h"
#include "model/object/table.h"
#include "model/object/transport.h"

namespace chime::model {

/// How far the host has brought the device up.
enum class DeviceState : std::uint8_t { disabled, enabled, initialized };

/// All of the card's state. Commands (lib/model/command) and the datapath (lib/model/datapath) work on it; it
/// decides nothing itself.
class Hca::Card {
 public:
  static Result<Owned<Card>> create(const Profile& profile, const Surroundings& surroundings) noexcept;
  Card(const Profile& profile, Capabilities own, const Surroundings& surroundings) noexcept;
  ~Card();

  /// One sentence to Diagnostics; cut at about 250 characters.
  /// @param rule a stable identifier in lower case with dots
  [[gnu::format(printf, 5, 6)]] void find(const char* rule, Severity severity, std::uint32_t object,
                                          const char* format, ...) noexcept;

  /// Destroys what belongs to user context `uid`, or everything with `all`. @return objects left because
  /// others use them
  std::uint32_t destroy_objects(std::uint16_t uid, bool all) noexcept;

  Surroundings around;
  HostView host;
  Capabilities capabilities;
  Identity identity;
  PortLimits limits;
  Behaviour behaviour;

  DeviceState state = DeviceState::disabled;
  std::uint16_t issi = 0;
  PageStore pages;  ///< given by the host for the card's own use
  std::array<std::uint8_t, 64> node_description{};
  bool host_big_endian = false;  ///< HOST_ENDIANNESS
  std::uint32_t vectors;         ///< interrupts that EQs may name

  // What uses comes after what it uses: destruction runs the other way.
  ObjectTable<UserContext> user_contexts;
  ObjectTable<Uar> uars;
  ObjectTable<Umem> umems;
  ObjectTable<Pd> pds;
  ObjectTable<TransportDomain> transport_domains;
  ObjectTable<QCounter> q_counters;
  ObjectTable<FlowCounter> flow_counters;
  ObjectTable<Mkey> mkeys;
  ObjectTable<Eq> eqs;
  ObjectTable<Cq> cqs;
  ObjectTable<Xrcd> xrcds;
  ObjectTable<Srq> srqs;  ///< XRC shared receive queues and receive memory pools
  ObjectTable<Tis> tises;
  ObjectTable<Sq> sqs;
  ObjectTable<Rq> rqs;
  ObjectTable<Qp> qps;  ///< numbers are never those of an SQ
  ObjectTable<Rqt> rqts;
  ObjectTable<Tir> tirs;
  ObjectTable<FlowTable> flow_tables;
  ObjectTable<FlowGroup> flow_groups;
  std::uint32_t flow_entries = 0;    ///< in all tables
  Ref<FlowTable> root[table_types];  ///< where packets enter, by TableType
  Qp* gsi = nullptr;                 ///< the one of service gsi
  L2Table l2_table;
  RoceAddressTable roce_addresses;
  MulticastGroups multicast;

  VportContext vport;
  PhysicalPort port;
  std::uint32_t reserved_lkey = 0x00000700;  ///< QUERY_SPECIAL_CONTEXTS: reaches all of physical memory
  Owned<Engine> engine;
};

}  // namespace chime::model
