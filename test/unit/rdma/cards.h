// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hca/model/testing.h"
#include "hca/receive_path.h"
#include "hca/runtime.h"
#include "rdma/polling.h"
#include "rdma/post.h"
#include "rdma/session.h"

/// @file
/// Software HCAs that the test steps, and everything of the private API on them.

namespace chime::rdma::test {

template <class T>
std::string why(const Result<T>& result) {
  return result ? "no error" : result.error().text;
}

using Objects = std::map<std::string, std::uint32_t>;
Objects objects(hca::Device& device);

/// One card, its session, a worker, a queue pair and registered memory. Stays where it is: the session refers
/// to its device and PD.
struct End {
  Owned<hca::Device> device;
  hca::Object pd;
  Owned<Session> session;
  HeldWorker* worker = nullptr;
  HeldQp* qp = nullptr;
  HeldMemory* memory = nullptr;
  std::byte* bytes = nullptr;  ///< of `memory`
  static constexpr std::size_t size = 16384;

  Qp& fast() const { return qp->object->fast(); }
  std::uint32_t key() const { return memory->object->part(0).region.lkey; }
  std::uint64_t address(std::size_t offset = 0) const {
    return reinterpret_cast<std::uint64_t>(bytes) + offset;
  }
  template <class T>
  T& at(std::size_t offset) const {
    return *reinterpret_cast<T*>(bytes + offset);
  }
};

QpControl::Config usual_qp();
QpControl::Path usual_path();

/// Two cards and a cable.
class Cards : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void make_end(End& end, const char* name, const char* wire);
  void make_objects(End& end, const QpControl::Config& config);
  /// Frees handles, and wants the card to have what it had.
  void end(End& end);
  void connect(const QpControl::Path& path = usual_path());

  /// Steps until there is nothing to do.
  void settle();
  /// Posts on `from`, steps, polls until `count` completions came.
  std::vector<Completion> wait(const End& from, std::size_t count);
  std::vector<Completion> run(const Operation& operation);

  /// From a to b.
  Operation operation(Opcode opcode, std::uint32_t length, std::size_t local = 0, std::size_t remote = 0);

  Owned<hca::Runtime> runtime;
  End a, b;
  std::map<const void*, Objects> objects_before;
};

}  // namespace chime::rdma::test
