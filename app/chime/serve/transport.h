// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"

namespace chime::serve {

/// A way from a QEMU to a card's PCI function.
class Transport {
 public:
  /// Messages served at once: the card, and other cards, want their turn.
  static constexpr unsigned most = 64;

  virtual ~Transport() = default;
  /// Ready for these events of poll(2) when there is something to serve.
  virtual int fd() const noexcept = 0;
  virtual short events() const noexcept = 0;
  /// Serves what has come, at most so many messages; never blocks.
  /// @return messages served; EPIPE: QEMU is gone; anything else: what came makes no sense, and the
  /// connection is of no more use
  virtual Result<unsigned> serve() noexcept = 0;
};

}  // namespace chime::serve
