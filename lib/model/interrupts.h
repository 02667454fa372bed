// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace chime::model {

/// The card's interrupt lines (MSI-X vectors). Called by the thread that steps the Hca.
class Interrupts {
 public:
  virtual ~Interrupts() = default;
  virtual void raise(unsigned vector) noexcept = 0;
};

}  // namespace chime::model
