// SPDX-License-Identifier: BSD-3-Clause
#include "looped_card.h"

#include <x86intrin.h>

namespace chime::bench {
namespace {

constexpr unsigned first_udp_port = 2000;
constexpr std::size_t udp_port_at = 36;

}  // namespace

LoopedCard::LoopedCard(const CardSetting& setting) : setting_(setting) {
  rig_.wire.loop = true;
  rig_.wire.keep = false;
  make_receive_queues();
  make_steering();
  make_send_queue();
}

void LoopedCard::make_receive_queues() {
  rx_.reserve(setting_.queues);
  rx_cq_.reserve(setting_.queues);
  for (unsigned i = 0; i < setting_.queues; ++i) {
    rx_cq_.push_back(rig_.make_cq(log_ring));
    rx_.push_back(rig_.make_rq(log_ring, 1, rx_cq_[i]));
    for (unsigned n = 0; n < ring_size; ++n)
      rx_[i].post({test::pointer(rig_, rig_.memory.allocate(2048), 2048)});
    rx_[i].write_record();
  }
  for (unsigned i = 0; i < setting_.idle; ++i) {
    test::CompletionQueue cq = rig_.make_cq(4);
    rig_.make_sq(4, cq);
    rig_.make_rq(4, 1, cq);
  }
}

void LoopedCard::make_steering() {
  std::vector<test::ReceiveQueue*> all;
  for (test::ReceiveQueue& queue : rx_) all.push_back(&queue);
  model::Tir* tir = setting_.queues == 1 ? rig_.make_tir(rx_[0]) : rig_.make_rss(all, 0xf);
  tir->outer.udp = true;
  model::FlowTable* root = rig_.make_table();
  if (setting_.entries != 0) {
    // Destination port and address, as they lie in fte_match_set_lyr_2_4.
    const std::uint32_t address = prm::host_to_be(std::uint32_t{0x0a000002});
    model::FlowGroup* group =
        rig_.make_group(*root, 0, 65535, {{7, prm::host_to_be(std::uint32_t{0xffff})}, {15, 0xffffffff}});
    for (unsigned i = 0; i < setting_.entries; ++i) {
      auto* entry = rig_.make_entry(*group, i, {prm::host_to_be(first_udp_port + i), address}, 0);
      rig_.add_destination(*entry, nullptr, tir);
    }
  }
  rig_.add_destination(*rig_.make_entry(*rig_.make_group(*root, 70000, 70000), 70000, {}, 0), nullptr, tir);
  rig_.card->root[0] = model::Ref(root);
}

void LoopedCard::make_send_queue() {
  tx_cq_ = rig_.make_cq(log_ring);
  sq_ = rig_.make_sq(log_ring, tx_cq_);
  for (unsigned i = 0; i < ring_size; ++i) {
    test::Bytes frame = test::udp4_frame(setting_.length, i);
    if (setting_.entries != 0) {
      const unsigned port = first_udp_port + i * 37 % setting_.entries;
      frame[udp_port_at] = static_cast<std::byte>(port >> 8);
      frame[udp_port_at + 1] = static_cast<std::byte>(port & 0xff);
    }
    const auto cut = static_cast<std::ptrdiff_t>(setting_.inline_header);
    sq_.post(
        {test::pointer(rig_, test::Bytes(frame.begin() + cut, frame.end()))},
        {.inline_header = test::Bytes(frame.begin(), frame.begin() + cut), .cs_flags = setting_.cs_flags});
  }
  sq_.producer = 0;  // the WQEs stay; burst() patches their index
}

std::uint64_t LoopedCard::burst() {
  for (unsigned i = 0; i < burst_size; ++i) {
    auto& ctrl = rig_.memory.at<prm::WqeCtrl>(sq_.ring + (sq_.producer & (ring_size - 1)) * prm::wqebb_size);
    ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, sq_.producer, prm::wqe_opcode::send);
    ctrl.fm_ce_se =
        static_cast<std::uint8_t>(i == burst_size - 1 ? prm::wqe_ce::always : prm::wqe_ce::on_error);
    sq_.last = sq_.producer++;
  }
  sq_.write_record();
  sent_ += burst_size;
  const std::uint64_t doorbell = sq_.doorbell();
  const std::uint64_t start = __rdtsc();
  rig_.hca->doorbell(rig_.uar->number, prm::uar_blueflame, doorbell);
  rig_.hca->step();
  const std::uint64_t cycles = __rdtsc() - start;
  prm::Cqe cqe;
  while (tx_cq_.poll(cqe)) {
  }
  tx_cq_.publish();
  for (std::size_t i = 0; i < rx_.size(); ++i) {
    while (rx_cq_[i].poll(cqe)) {
      ++rx_[i].producer;
      ++received_;
    }
    rx_[i].write_record();
    rx_cq_[i].publish();
  }
  return cycles;
}

}  // namespace chime::bench
