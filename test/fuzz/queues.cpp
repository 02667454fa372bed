// SPDX-License-Identifier: BSD-3-Clause
// Queues as hostile software fills and rings them: work requests, doorbell records, doorbells, memory that
// goes away. The input is 4 bytes of options and a list of steps; see step(). What is sent is looped back.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "card.h"
#include "input.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

namespace {

using namespace chime;
using fuzz::Input;
namespace place = fuzz::place;

constexpr std::uint32_t index_mask = 0xffffff;

fuzz::CardOptions options_of(Input& input) {
  fuzz::CardOptions o;
  const unsigned sizes = input.u8(), flags = input.u8(), receive = input.u8(), moderation = input.u8();
  o.log_queue = static_cast<std::uint8_t>(2 + sizes % 4);
  o.log_rq_stride = static_cast<std::uint8_t>(4 + (sizes >> 2) % 6);
  o.min_inline_mode = static_cast<std::uint8_t>(flags % 4);
  o.memory_in_one_piece = (flags & 4) != 0;
  o.large_cqe = (flags & 8) != 0;
  o.cq_overrun_ignored = (flags & 16) != 0;
  o.vlan_strip = (flags & 32) != 0;
  o.flush_in_error = (flags & 64) != 0;
  o.entries = (flags & 128) != 0;
  o.hash_fields = static_cast<std::uint8_t>(receive % 16);
  o.ipv6 = (receive & 16) != 0;
  o.udp = (receive & 32) != 0;
  o.symmetric = false;
  o.cq_period = static_cast<std::uint16_t>(moderation % 16);
  o.cq_max_count = static_cast<std::uint16_t>(moderation >> 4);
  return o;
}

/// Bytes of a request, in the card's order.
class Request {
 public:
  Request& u8(std::uint8_t value) { return bytes_.push_back(value), *this; }
  Request& u16(std::uint32_t value) {
    return u8(static_cast<std::uint8_t>(value >> 8 & 0xff)).u8(static_cast<std::uint8_t>(value & 0xff));
  }
  Request& u32(std::uint32_t value) { return u16(value >> 16).u16(value & 0xffff); }
  Request& u64(std::uint64_t value) {
    return u32(static_cast<std::uint32_t>(value >> 32)).u32(static_cast<std::uint32_t>(value));
  }
  Request& append(std::span<const std::uint8_t> bytes) {
    return bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()), *this;
  }
  Request& pad() { return bytes_.resize((bytes_.size() + 15) / 16 * 16), *this; }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Driver {
 public:
  explicit Driver(const fuzz::CardOptions& options) : options_(options), card_(options) {}

  void step(Input& input) {
    switch (input.below(16)) {
      case 0:
        return poke(input);
      case 1:
      case 2:
        return post_send(input);
      case 3:
        card_.write32(place::sq_record + 4, sent_);
        return ring_send(last_sent_, last_ds_);
      case 4:
        return write_record(input);
      case 5:
        return any_doorbell(input);
      case 6:
        return ring_send(static_cast<std::uint16_t>(sent_ + input.u8() - 128), input.u8());
      case 7:
        return arm(input);
      case 8:
        return ring_eq(input);
      case 9:
      case 10:
        return post_receive(input);
      case 11:
        return deliver(input);
      case 12:
        card_.hca->step();
        return;
      case 13:
        return card_.around.memory.toggle(input.below(fuzz::Memory::pages));
      case 14:
        return change_state(input);
      case 15:
        return card_.hca->replay_records(input.flag() ? card_.uar : card_.other_uar);
    }
  }
  void finish() { card_.settle(); }

 private:
  void poke(Input& input) {
    const std::uint32_t at = input.u16();
    const std::size_t count = input.u8();
    card_.around.memory.write(at, input.take(count));
  }

  /// A data segment: all of it made up, or address and length within memory, or inline.
  void segment(Input& input, Request& request) {
    const unsigned kind = input.u8();
    switch (kind % 4) {
      case 0:
        request.append(input.take(16)).pad();
        break;
      case 1:
        request.u32(input.u16()).u32(kind & 4 ? card_.small_key : card_.key).u64(input.u16());
        break;
      case 2:
        request.u32(input.u8()).u32(kind & 4 ? card_.small_key : card_.key).u64(place::data + input.u8());
        break;
      case 3: {
        const auto bytes = input.take(input.u8());
        const std::size_t said = kind & 4 ? input.u16() : bytes.size();
        request.u32(static_cast<std::uint32_t>(prm::data_seg_inline | said)).append(bytes).pad();
        break;
      }
    }
  }

  /// A SEND whose number, queue and size are right, unless told otherwise.
  void post_send(Input& input) {
    const unsigned mode = input.u8();
    Request request;
    const auto opcode =
        mode & 1 ? std::uint8_t{input.u8()} : static_cast<std::uint8_t>(prm::wqe_opcode::send);
    request.u32(std::uint32_t{sent_} << 8 | opcode).u32(0);
    request.u32(mode & 0x0c).u32(0);  // the completion mode
    const std::uint8_t checksums = mode & 2 ? input.u8() : std::uint8_t{0};
    request.u32(0).u8(checksums).u8(mode & 128 ? input.u8() : std::uint8_t{0});
    request.u16(mode & 1 ? input.u16() : 0).u32(0);  // mss
    if (mode & 16) {                                 // a tag to insert, or a made-up size
      request.u16(input.u16()).append(input.take(2)).pad();
    } else {
      const auto header = input.take(mode & 32 ? input.u8() % 64 : 0);
      request.u16(static_cast<std::uint32_t>(header.size())).append(header).pad();
    }
    for (unsigned count = input.u8() % 8; count != 0; --count) segment(input, request);

    const std::size_t ds = mode & 64 ? input.u8() : request.bytes().size() / 16;
    const std::uint32_t queue = card_.sq << 8 | static_cast<std::uint32_t>(ds & prm::max_ds);
    for (unsigned i = 0; i < 4; ++i) {
      request.bytes()[4 + i] = static_cast<std::uint8_t>(queue >> (24 - 8 * i) & 0xff);
    }
    const std::size_t ring = prm::wqebb_size << options_.log_queue;
    for (std::size_t i = 0; i < request.bytes().size(); ++i) {
      const std::size_t at = (sent_ * prm::wqebb_size + i) % ring;
      card_.around.memory.at(place::sq + at) = std::byte{request.bytes()[i]};
    }
    last_sent_ = sent_;
    last_ds_ = static_cast<std::uint8_t>(ds);
    sent_ = static_cast<std::uint16_t>(sent_ + std::max<std::size_t>(1, ((ds & prm::max_ds) + 3) / 4));
  }

  void ring_send(std::uint16_t index, std::uint8_t ds) {
    const std::uint64_t words = std::uint64_t{index} << 40 | std::uint64_t{0x0a} << 32 | card_.sq << 8 | ds;
    card_.hca->doorbell(card_.uar, prm::uar_blueflame, prm::host_to_be(words));
  }

  void write_record(Input& input) {
    constexpr std::uint64_t records[] = {place::sq_record + 4, place::rq_record, place::cq_record,
                                         place::cq_record + 4};
    const unsigned which = input.u8();
    card_.write32(records[which % 4], which & 4 ? input.u32() : input.u8());
  }

  void any_doorbell(Input& input) {
    constexpr std::uint32_t offsets[] = {prm::uar_cq_doorbell,
                                         prm::uar_eq_arm,
                                         prm::uar_eq_update,
                                         prm::uar_blueflame,
                                         prm::uar_blueflame + prm::uar_blueflame_half,
                                         prm::uar_blueflame + 8,
                                         0};
    const unsigned where = input.u8();
    card_.hca->doorbell(where & 128 ? card_.other_uar : card_.uar, offsets[where % std::size(offsets)],
                        input.u64());
  }

  void arm(Input& input) {
    const unsigned how = input.u8();
    const std::uint32_t consumer = input.u8();
    const std::uint32_t word =
        prm::cq_arm_word(how & 3, how & 4 ? prm::cq_arm::solicited : prm::cq_arm::any, consumer);
    if (how & 8) card_.write32(place::cq_record, consumer);
    if (how & 16) card_.write32(place::cq_record + 4, word);
    card_.hca->doorbell(card_.uar, prm::uar_cq_doorbell,
                        prm::host_to_be(std::uint64_t{word} << 32 | card_.cq));
  }

  void ring_eq(Input& input) {
    const bool arms = input.flag();
    const std::uint64_t word = card_.eq << 24 | (input.u8() & index_mask);
    card_.hca->doorbell(card_.uar, arms ? prm::uar_eq_arm : prm::uar_eq_update, prm::host_to_be(word << 32));
  }

  void post_receive(Input& input) {
    const unsigned count = input.u8();
    Request request;
    for (unsigned i = 0; i < count % 4 + 1; ++i) segment(input, request);
    request.u32(0).u32(prm::invalid_lkey).u64(0);
    const std::size_t stride = std::size_t{1} << options_.log_rq_stride;
    request.bytes().resize(stride);
    const std::size_t ring = stride << options_.log_queue;
    card_.around.memory.write(place::rq + posted_++ * stride % ring, request.bytes());
    if (count & 128) card_.write32(place::rq_record, posted_);
  }

  /// A frame in up to four segments.
  void deliver(Input& input) {
    const std::uint32_t length = input.u16() % 2048 + 1;
    std::vector<std::byte> bytes(length);
    const auto given = input.take(input.u8());
    for (std::size_t i = 0; i < std::min<std::size_t>(given.size(), length); ++i)
      bytes[i] = std::byte{given[i]};
    std::vector<model::Segment> segments;
    std::uint32_t at = 0;
    for (unsigned cuts = input.below(4); cuts != 0 && at + 1 < length; --cuts) {
      const std::uint32_t part = 1 + input.u8() % (length - at - 1);
      segments.push_back({bytes.data() + at, part});
      at += part;
    }
    segments.push_back({bytes.data() + at, length - at});
    const model::Frame frame{segments.data(), static_cast<std::uint32_t>(segments.size()), length};
    card_.around.wire.deliver({&frame, 1});
  }

  void change_state(Input& input) {
    constexpr unsigned states[] = {0, 1, 3};
    const unsigned what = input.u8();
    const unsigned from = states[what / 2 % 3], to = states[what / 8 % 3];
    what & 1 ? card_.move_sq(from, to) : card_.move_rq(from, to);
    if (to == 0) (what & 1 ? sent_ : posted_) = 0;
  }

  fuzz::CardOptions options_;
  fuzz::Card card_;
  std::uint16_t sent_ = 0, last_sent_ = 0, posted_ = 0;
  std::uint8_t last_ds_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Driver driver(options_of(input));
  while (!input.empty()) driver.step(input);
  driver.finish();
  return 0;
}
