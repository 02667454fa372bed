// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/object.h"

#include "model/object/access.h"
#include "model/object/qp.h"
#include "model/object/queue.h"
#include "model/object/steering.h"

namespace chime::model {

const char* name(Kind kind) noexcept {
  switch (kind) {
    case Kind::user_context:
      return "user context";
    case Kind::uar:
      return "UAR";
    case Kind::umem:
      return "umem";
    case Kind::pd:
      return "PD";
    case Kind::transport_domain:
      return "transport domain";
    case Kind::mkey:
      return "mkey";
    case Kind::eq:
      return "EQ";
    case Kind::cq:
      return "CQ";
    case Kind::tis:
      return "TIS";
    case Kind::sq:
      return "SQ";
    case Kind::rq:
      return "RQ";
    case Kind::qp:
      return "QP";
    case Kind::rqt:
      return "RQT";
    case Kind::tir:
      return "TIR";
    case Kind::flow_table:
      return "flow table";
    case Kind::flow_group:
      return "flow group";
    case Kind::flow_entry:
      return "flow entry";
    case Kind::flow_counter:
      return "flow counter";
    case Kind::q_counter:
      return "Q counter";
    case Kind::xrcd:
      return "XRC domain";
    case Kind::srq:
      return "SRQ";
  }
  return "?";
}

const char* name(QueueState state) noexcept {
  switch (state) {
    case QueueState::reset:
      return "RST";
    case QueueState::ready:
      return "RDY";
    case QueueState::error:
      return "ERR";
  }
  return "?";
}

const char* name(QpState state) noexcept {
  switch (state) {
    case QpState::reset:
      return "RST";
    case QpState::init:
      return "INIT";
    case QpState::rtr:
      return "RTR";
    case QpState::rts:
      return "RTS";
    case QpState::sqer:
      return "SQER";
    case QpState::err:
      return "ERR";
    case QpState::sqd:
      return "SQD";
  }
  return "?";
}

const char* name(QpService service) noexcept {
  switch (service) {
    case QpService::rc:
      return "RC";
    case QpService::uc:
      return "UC";
    case QpService::ud:
      return "UD";
    case QpService::xrc:
      return "XRC";
    case QpService::gsi:
      return "GSI";
    case QpService::umr:
      return "UMR";
  }
  return "?";
}

const char* name(TableType type) noexcept {
  switch (type) {
    case TableType::nic_receive:
      return "NIC_RX";
  }
  return "?";
}

}  // namespace chime::model
