// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/object/qp.h"

namespace chime::model {

/// QPs in a row, linked through one of their links: nothing is allocated, and any of them may leave.
template <QpLink QpTransport::*link>
class QpList {
 public:
  Qp* first() const noexcept { return first_; }
  Qp* last() const noexcept { return last_; }

  void append(Qp& qp) noexcept {
    QpLink& at = qp.transport.*link;
    at.next = nullptr;
    at.previous = last_;
    (last_ ? (last_->transport.*link).next : first_) = &qp;
    last_ = &qp;
  }

  /// It must be in this list.
  void remove(Qp& qp) noexcept {
    QpLink& at = qp.transport.*link;
    (at.previous ? (at.previous->transport.*link).next : first_) = at.next;
    (at.next ? (at.next->transport.*link).previous : last_) = at.previous;
    at = {};
  }

 private:
  Qp* first_ = nullptr;
  Qp* last_ = nullptr;
};

}  // namespace chime::model
