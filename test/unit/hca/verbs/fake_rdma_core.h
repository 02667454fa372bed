// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "prm/enums.h"

/// @file
/// In place of libibverbs and libmlx5: every call that lib/hca/verbs makes, defined in the test program. It
/// counts what is alive, and fails what it is told to.

namespace chime::test {

/// One rule that is alive.
struct FakeFlow {
  std::vector<std::byte> mask, value;
  unsigned priority = 0;
  unsigned criteria = 0;
  mlx5dv_devx_obj* destination = nullptr;
};

class FakeRdmaCore {
 public:
  FakeRdmaCore();
  ~FakeRdmaCore();
  FakeRdmaCore(const FakeRdmaCore&) = delete;
  FakeRdmaCore& operator=(const FakeRdmaCore&) = delete;

  /// A device that the list has. @param path as sysfs's folder of it
  void add_device(const char* name, const char* path, bool mlx5 = true);
  /// The n-th call of this name from now fails with the errno.
  void fail(const std::string& call, int errnum, unsigned n = 1) { failing_[call] = {errnum, n}; }
  /// The card answers this command with the status.
  void refuse(prm::cmd_opcode opcode, prm::cmd_status status, std::uint32_t syndrome);
  void forget_failures() { failing_ = {}; }
  /// An event of the last subscription but `back`.
  void raise(unsigned back = 0);
  /// An asynchronous event of the device.
  void raise_async(ibv_event_type type);

  /// Objects that are alive: "context", "pd", "mr", "object", "umem", "uar", "channel", "matcher", "flow".
  int alive(const std::string& kind) const;
  int alive() const;
  unsigned calls(const std::string& name) const;

  // For the calls.
  static FakeRdmaCore& now();
  /// Counts the call. @return errno it fails with, 0: it succeeds
  int fails(const std::string& call);
  void born(const std::string& kind) { ++alive_[kind]; }
  void died(const std::string& kind) { --alive_[kind]; }
  int answer(const void* in, void* out, std::size_t out_size, std::uint32_t number);

  struct Refusal {
    prm::cmd_status status;
    std::uint32_t syndrome;
  };
  struct Failure {
    int errnum;
    unsigned n;
  };
  std::vector<ibv_device*> devices;
  std::map<ibv_device*, bool> is_mlx5;
  std::vector<FakeFlow*> flows;
  std::vector<std::uint64_t> cookies;  ///< of subscriptions
  std::vector<std::uint64_t> pending_cookies;
  std::vector<ibv_event_type> pending_async;
  unsigned unacknowledged = 0;     ///< asynchronous events
  ibv_context* context = nullptr;  ///< that was opened last
  std::vector<ibv_gid_entry> gids;
  mlx5dv_context_attr opened_with{};
  int access = 0;  ///< of the last registration
  unsigned last_number = 0x40;
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;

 private:
  std::map<std::string, Failure> failing_;
  std::map<prm::cmd_opcode, Refusal> refused_;
  std::map<std::string, int> alive_;
  std::map<std::string, unsigned> calls_;
};

}  // namespace chime::test
