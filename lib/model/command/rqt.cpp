// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "model/command/handlers.h"

namespace chime::model {
namespace {

using R = prm::rqtc;

/// The queues of a table; all of them, or refused.
bool read_queues(Command& c, prm::ConstView<R> rqtc, std::uint32_t max_size,
                 Array<Ref<Rq>>& queues) noexcept {
  const std::uint32_t size = rqtc.get(R::rqt_actual_size);
  if (size == 0 || size > max_size) {
    c.refuse(Rule::rqt_size, 0, "rqt_actual_size %u; 1 to %u are possible", size, max_size);
    return false;
  }
  if (!std::has_single_bit(size)) {
    c.refuse(Rule::rqt_size, 0, "rqt_actual_size %u is not a power of two", size);
    return false;
  }
  if (rqtc.get(R::list_q_type) != prm::rqt_list_type::rq) {
    c.refuse(Rule::rqt_type, 0, "list_q_type %u; it can be 0 (RQ)",
             static_cast<unsigned>(rqtc.get(R::list_q_type)));
    return false;
  }
  if (rqtc.count(R::rq_num) < size) {
    c.refuse(Rule::input_length, 0, "%u queues are announced, the list has %zu", size, rqtc.count(R::rq_num));
    return false;
  }
  if (!c.make_array(queues, size, "a receive queue table")) return false;
  for (std::size_t i = 0; i < size; ++i) {
    Rq* rq = c.find(c.card.rqs, rqtc.at(R::rq_num, i).get(prm::rq_num::rq_num_));
    if (!rq) return false;
    queues[i] = Ref<Rq>(rq);
  }
  return true;
}

}  // namespace

void create_rqt(Command& c, In<prm::create_rqt> in, Out<prm::create_rqt> out) noexcept {
  const auto rqtc = in.at(prm::create_rqt_in::rqt_context);
  const std::uint32_t largest = c.card.capabilities.general().get(prm::cmd_hca_cap::log_max_rqt_size);
  const std::uint32_t max_size = rqtc.get(R::rqt_max_size);
  if (max_size == 0 || max_size > std::uint32_t{1} << largest) {
    return c.refuse(Rule::rqt_size, 0, "rqt_max_size %u; 1 to %u are possible (log_max_rqt_size)", max_size,
                    std::uint32_t{1} << largest);
  }
  auto rqt = c.make<Rqt>();
  if (!rqt || !read_queues(c, rqtc, max_size, rqt->queues)) return;
  rqt->max_size = max_size;
  if (auto* made = c.publish(c.card.rqts, std::move(rqt))) out.set(prm::create_rqt_out::rqtn, made->number);
}

void modify_rqt(Command& c, In<prm::modify_rqt> in, Out<prm::modify_rqt>) noexcept {
  Rqt* rqt = c.find(c.card.rqts, in.get(prm::modify_rqt_in::rqtn));
  if (!rqt || !in.at(prm::modify_rqt_in::bitmask).get(prm::rqt_bitmask::rqn_list)) return;
  Array<Ref<Rq>> queues;
  if (read_queues(c, in.at(prm::modify_rqt_in::ctx), rqt->max_size, queues)) rqt->queues = std::move(queues);
}

void query_rqt(Command& c, In<prm::query_rqt> in, Out<prm::query_rqt> out) noexcept {
  const Rqt* rqt = c.find(c.card.rqts, in.get(prm::query_rqt_in::rqtn));
  if (!rqt) return;
  const auto rqtc = out.at(prm::query_rqt_out::rqt_context);
  const std::size_t size = rqt->queues.size();
  if (rqtc.count(R::rq_num) < size) {
    return c.refuse(Rule::output_length, rqt->number, "RQT %#x has %zu queues, the output has room for %zu",
                    rqt->number, size, rqtc.count(R::rq_num));
  }
  rqtc.set(R::rqt_max_size, rqt->max_size).set(R::rqt_actual_size, static_cast<std::uint32_t>(size));
  for (std::size_t i = 0; i < size; ++i) {
    rqtc.at(R::rq_num, i).set(prm::rq_num::rq_num_, rqt->queues[i]->number);
  }
}

void destroy_rqt(Command& c, In<prm::destroy_rqt> in, Out<prm::destroy_rqt>) noexcept {
  if (auto* rqt = c.find(c.card.rqts, in.get(prm::destroy_rqt_in::rqtn))) c.retire(c.card.rqts, *rqt);
}

}  // namespace chime::model
