// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control.h"
#include "nic.h"
#include "qtest.h"
#include "wire/factory.h"

namespace chime::serve {

/// All cards of the process, stepped in turn by one thread until every QEMU is gone.
class Server final : private wire::Executor {
 public:
  /// Descriptors of the options are owned from here on.
  static Result<Owned<Server>> create(const std::vector<NicOptions>& nics, const std::string& control);

  /// @param stop looked at between two rounds
  /// @return process exit status: 1 when a connection ended otherwise than by QEMU's end
  int run(const volatile bool& stop);

 private:
  void call(void (*function)(void*), void* argument) noexcept override { function(argument); }
  Qtest* qtest_of(const NicOptions& options);
  unsigned round(int& status);
  void serve_control();
  void wait();

  Owned<wire::Factory> wires_;
  std::map<std::string, Owned<Qtest>> qtests_;
  std::vector<Owned<Nic>> nics_;
  std::optional<Control> control_;
  unsigned quiet_ = 0;  ///< rounds without work, one after the other
  unsigned rounds_until_control_ = 0;
};

}  // namespace chime::serve
