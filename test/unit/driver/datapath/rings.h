// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/net/chime/rx_burst.h"
#include "drivers/net/chime/tx_burst.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

/// @file
/// Queues of the driver in plain memory, and the card's side of them moved by hand.

namespace chime::net {

inline constexpr std::uint32_t test_lkey = 0x00a1b2c3;
inline constexpr std::uint16_t test_port = 7;

/// A mempool of its own.
class Pool {
 public:
  explicit Pool(unsigned mbufs = 511, unsigned data_room = RTE_MBUF_DEFAULT_BUF_SIZE, unsigned cache = 0);
  ~Pool() { rte_mempool_free(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  rte_mempool* get() const { return pool_; }
  unsigned available() const { return rte_mempool_avail_count(pool_); }
  /// One mbuf with this content.
  rte_mbuf* packet(std::span<const std::uint8_t> content) const;
  /// Content in segments of these lengths.
  rte_mbuf* chain(std::span<const std::uint8_t> content, std::span<const std::size_t> lengths) const;

 private:
  rte_mempool* pool_;
};

/// Bytes that differ from packet to packet.
std::vector<std::uint8_t> content(std::size_t length, unsigned seed = 1);
/// All bytes of a chain.
std::vector<std::uint8_t> bytes_of(const rte_mbuf& packet);

/// The registered memory: as a device's MemoryMap has it.
class Keys {
 public:
  Keys();
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  const hca::MemoryMap::Shared& shared() const { return shared_; }
  void add(const Pool& pool, std::uint32_t lkey);
  void add(const void* start, std::size_t length, std::uint32_t lkey);
  void clear();

 private:
  void publish();
  std::vector<hca::KeyRange> ranges_;
  std::vector<void*> tables_;
  std::uint32_t generation_ = 0;
  hca::MemoryMap::Shared shared_{};
};

/// Zeroed memory that starts on a page.
template <class T>
struct Pages {
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  explicit Pages(std::size_t count)
      : memory(static_cast<T*>(std::aligned_alloc(4096, (count * sizeof(T) + 4095) / 4096 * 4096))) {
    __builtin_memset(static_cast<void*>(memory.get()), 0, (count * sizeof(T) + 4095) / 4096 * 4096);
  }
  T* get() const { return memory.get(); }
  std::unique_ptr<T, Free> memory;
};

/// What a CQE says about a packet.
struct Arrival {
  std::vector<std::uint8_t> content;
  prm::cqe_l3 l3 = prm::cqe_l3::ipv4;
  prm::cqe_l4 l4 = prm::cqe_l4::udp;
  bool l3_ok = true, l4_ok = true, fragment = false;
  std::uint32_t hash = 0;
  std::uint8_t hash_type = 0;
  std::optional<std::uint16_t> stripped_vlan = std::nullopt;
  std::uint32_t flow_tag = 0;
  std::uint64_t timestamp = 0;
};

struct RxSetting {
  unsigned log_size = 6;
  unsigned segments = 1;
  unsigned refill = 8;
  std::uint32_t flags = RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
  bool timestamps = false;
  RxVariant variant = RxVariant::plain;
};

class RxRing {
 public:
  RxRing(const Pool& pool, const Keys& keys, const RxSetting& setting = {});
  ~RxRing();

  RxQueue& queue() { return q_.get()[0]; }
  /// The card: fills the next posted WQE; false when there is none.
  bool arrive(const Arrival& arrival);
  /// The card: an error CQE.
  void fail(std::uint8_t syndrome, std::uint8_t vendor = 0);
  /// The card: a CQE with any opcode.
  prm::Cqe& raw(std::uint8_t opcode);
  /// WQEs that the card may fill.
  unsigned posted() const;
  std::vector<rte_mbuf*> burst(std::uint16_t most = 32);
  /// The segments of a WQE as the card reads them.
  std::vector<prm::WqeData> segments_of(std::uint32_t wqe) const;
  std::uint32_t cq_record() const { return cq_record_.get()->consumer; }
  /// RQ to RST and back: the card starts over, the CQ goes on.
  void reset_rq() { filled_ = 0; }
  /// CQEs before this one were written.
  std::uint32_t produced() const { return produced_; }

 private:
  RxSetting setting_;
  Pages<prm::Cqe> cqes_;
  Pages<std::byte> wqes_;
  Pages<rte_mbuf*> mbufs_;
  Pages<prm::CqRecord> cq_record_;
  Pages<prm::WqRecord> rq_record_;
  Pages<RxQueue> q_;
  std::uint32_t produced_ = 0, filled_ = 0;
};

struct TxSetting {
  unsigned log_size = 6;
  std::uint16_t interval = 8;
  std::uint16_t inline_size = 0;
  std::uint16_t max_ds = prm::max_ds;
  std::uint32_t max_frame = 1522;
  std::uint32_t max_large_send = 0;
  std::uint16_t tunnels = 0;
  TxVariant variant{false, false};
};

/// A send WQE as the card reads it.
struct SendWqe {
  std::uint8_t opcode, fm_ce_se, checksum_flags;
  std::uint16_t index;
  std::uint16_t mss;
  std::uint32_t sqn, ds;
  std::vector<std::uint8_t> in_line;
  std::optional<std::uint32_t> insert;  ///< the word that asks for a VLAN tag
  std::vector<prm::WqeData> segments;
  /// What would go out.
  std::vector<std::uint8_t> bytes() const;
  bool asks_for_completion() const { return (fm_ce_se & 0x0c) == 0x08; }
};

class TxRing {
 public:
  TxRing(const Keys& keys, const TxSetting& setting = {});
  ~TxRing();

  static constexpr std::uint32_t sqn = 0x345;
  TxQueue& queue() { return q_.get()[0]; }
  std::uint16_t burst(std::span<rte_mbuf*> packets);
  std::uint16_t burst(rte_mbuf* packet) { return burst(std::span(&packet, 1)); }
  /// The card: takes the WQEs posted since the last call, without completing them.
  std::vector<SendWqe> take();
  /// The card: completes what asks for it among the taken WQEs.
  void complete();
  void fail(std::uint16_t wqe_counter, std::uint8_t syndrome, std::uint8_t vendor = 0);
  std::uint32_t record() const { return sq_record_.get()->send; }
  std::uint32_t cq_record() const { return cq_record_.get()->consumer; }
  /// The last doorbell.
  std::uint64_t doorbell() const { return uar_.get()[0]; }
  void clear_doorbell() { uar_.get()[0] = 0; }
  std::uint64_t first_word_of(std::uint32_t block) const;
  void reset_sq() {
    block_ = 0;
    asked_.clear();
  }

 private:
  prm::Cqe& next_cqe(std::uint8_t opcode);

  TxSetting setting_;
  Pages<std::byte> wqes_;
  Pages<rte_mbuf*> mbufs_;
  Pages<prm::Cqe> cqes_;
  Pages<prm::CqRecord> cq_record_;
  Pages<prm::WqRecord> sq_record_;
  Pages<std::uint64_t> uar_;
  Pages<TxQueue> q_;
  std::uint32_t block_ = 0, produced_ = 0;
  std::vector<std::uint16_t> asked_;
};

}  // namespace chime::net
