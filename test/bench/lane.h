// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench_peer.h"

/// @file
/// A lane is one burst function with what it needs: packets to send, or completions to find. Only call() is
/// measured.

namespace chime::bench {

inline constexpr unsigned max_burst = 256;

struct Setting {
  unsigned burst = 32;
  unsigned ring = 1024;
  std::uint32_t length = 64;  ///< bytes of a packet
};

class Lane {
 public:
  Lane(std::string name, std::string configuration) noexcept
      : name_(std::move(name)), configuration_(std::move(configuration)) {}
  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const std::string& name() const noexcept { return name_; }
  const std::string& configuration() const noexcept { return configuration_; }
  virtual bool is_rx() const noexcept = 0;
  /// @param flush what the card wrote is dropped from the caches
  virtual void prepare(bool flush) = 0;
  /// @return packets
  virtual unsigned call() = 0;
  virtual void finish() = 0;
  /// One burst, whose outcome is looked at. @return nullptr, or what is wrong
  virtual const char* verify() = 0;

 private:
  std::string name_, configuration_;
};

/// Both lanes of every configuration that the shared object has. Throws std::runtime_error.
std::vector<std::unique_ptr<Lane>> lanes_of_peer(const std::string& path, rte_mempool* pool,
                                                 const Setting& setting);
/// Lanes of an ethdev port that needs no card: net_null.
std::vector<std::unique_ptr<Lane>> lanes_of_port(const std::string& name, rte_mempool* pool,
                                                 const Setting& setting);
/// rte_pktmbuf_alloc_bulk and rte_pktmbuf_free_bulk alone.
std::unique_ptr<Lane> lane_of_mempool(rte_mempool* pool, const Setting& setting);

}  // namespace chime::bench
