// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/capabilities.h"
#include "model/datapath/engine.h"
#include "model/hca.h"
#include "model/object/access.h"
#include "model/object/counter.h"
#include "model/object/port.h"
#include "model/object/queue.h"
#include "model/object/steering.h"
#include "model/object/table.h"
#include "model/object/transport.h"

namespace chime::model {

/// All of the card's state. Commands (lib/model/command) and the datapath (lib/model/datapath) work on it; it
/// does nothing itself.
class Hca::Card {
 public:
  static Result<Owned<Card>> create(const Profile& profile, const Surroundings& surroundings) noexcept;
  ~Card();

  Card(const Profile& profile, const Surroundings& surroundings) noexcept;

  /// One sentence to Diagnostics; cut at about 250 characters.
  /// @param rule a stable identifier in lower case with dots
  [[gnu::format(printf, 5, 6)]] void find(const char* rule, Severity severity, std::uint32_t object,
                                          const char* format, ...) noexcept;

  Surroundings around;
  HostView host;
  Capabilities capabilities;

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
  ObjectTable<Tis> tises;
  ObjectTable<Sq> sqs;
  ObjectTable<Rq> rqs;
  ObjectTable<Rqt> rqts;
  ObjectTable<Tir> tirs;
  ObjectTable<FlowTable> flow_tables;
  ObjectTable<FlowGroup> flow_groups;
  Ref<FlowTable> root[table_types];  ///< where packets enter, by TableType

  VportContext vport;
  PhysicalPort port;
  std::uint32_t reserved_lkey = 0;  ///< QUERY_SPECIAL_CONTEXTS
  Owned<Engine> engine;
};

}  // namespace chime::model
