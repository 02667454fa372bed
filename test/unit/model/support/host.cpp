// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include "../../support/quiet_wire.h"
#include "model/card.h"

namespace chime::test {
namespace {

class Interrupts final : public model::Interrupts {
 public:
  void raise(unsigned) noexcept override {}
};

class Clock final : public model::Clock {
 public:
  std::uint64_t nanoseconds() noexcept override { return 1'000'000'000; }
};

class Diagnostics final : public model::Diagnostics {
 public:
  explicit Diagnostics(Host& host) : host_(host) {}
  void report(const model::Finding& finding) noexcept override {
    host_.rules.emplace_back(finding.rule);
    host_.words = finding.text;
  }

 private:
  Host& host_;
};

}  // namespace

std::byte* HostMemory::map(std::uint64_t address, std::size_t length) noexcept {
  if (address < base || address - base > bytes_.size() || length > bytes_.size() - (address - base)) {
    return nullptr;
  }
  return bytes_.data() + (address - base);
}

std::uint64_t HostMemory::allocate(std::size_t size) {
  const std::uint64_t at = base + used_;
  used_ += (size + 4095) / 4096 * 4096;
  EXPECT_LE(used_, bytes_.size());
  return at;
}

testing::AssertionResult Answer::is(model::Rule rule) const {
  const model::RuleInfo& wanted = model::info(rule);
  if (status == wanted.status && syndrome == model::syndrome(rule) && !words.empty()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "wanted " << wanted.name << ", got status "
                                     << static_cast<unsigned>(status) << " syndrome " << std::hex << syndrome
                                     << ": " << words;
}

struct Host::Around {
  explicit Around(Host& host) : diagnostics(host) {}
  QuietWire wire;
  Interrupts interrupts;
  Clock clock;
  Diagnostics diagnostics;
};

Host::Host(const char* profile, bool up) {
  auto named = model::Profile::named(profile);
  if (!named) throw std::runtime_error(named.error().text);
  make(*named);
  if (up) bring_up();
}

Host::Host(const model::Profile& profile, bool up) {
  make(profile);
  if (up) bring_up();
}

Host::~Host() = default;

void Host::make(const model::Profile& profile) {
  around_ = std::make_unique<Around>(*this);
  auto hca = model::Hca::create(
      profile, {memory, around_->wire, around_->interrupts, around_->clock, around_->diagnostics});
  if (!hca) throw std::runtime_error(hca.error().text);
  hca_ = std::move(*hca);
}

Answer Host::execute(std::span<const std::byte> in, std::span<std::byte> out) {
  words.clear();
  hca_->command(in, out);
  const prm::ConstView<prm::nop_out> header(out);
  return {header.get(prm::nop_out::status), header.get(prm::nop_out::syndrome), words};
}

void Host::bring_up() {
  Call<prm::enable_hca> enable;
  EXPECT_TRUE(run(enable).ok());
  Call<prm::set_issi> issi;
  issi.in.set(prm::set_issi_in::current_issi, 1);
  EXPECT_TRUE(run(issi).ok());
  Call<prm::init_hca> init;
  EXPECT_TRUE(run(init).ok());
}

Objects Host::objects() const {
  model::ObjectCount counts[32];
  Objects live;
  const std::size_t kinds = hca_->count_objects(counts);
  for (std::size_t i = 0; i < kinds; ++i) {
    if (counts[i].live) live[counts[i].kind] = counts[i].live;
  }
  return live;
}

std::uint16_t Host::context(std::uint32_t capabilities) {
  Call<prm::create_uctx> call;
  call.in.at(prm::create_uctx_in::uctx).set(prm::uctx::cap, capabilities);
  const Answer answer = run(call);
  EXPECT_TRUE(answer.ok()) << answer.words;
  return static_cast<std::uint16_t>(call.out.get(prm::create_uctx_out::uid));
}

std::uint32_t Host::pd(std::uint16_t uid) {
  Call<prm::alloc_pd> call;
  EXPECT_TRUE(run(call, uid).ok());
  return call.out.get(prm::alloc_pd_out::pd);
}

std::uint32_t Host::transport_domain(std::uint16_t uid) {
  Call<prm::alloc_transport_domain> call;
  EXPECT_TRUE(run(call, uid).ok());
  return call.out.get(prm::alloc_transport_domain_out::transport_domain);
}

std::uint32_t Host::uar(std::uint16_t uid) {
  Call<prm::alloc_uar> call;
  EXPECT_TRUE(run(call, uid).ok());
  return call.out.get(prm::alloc_uar_out::uar);
}

std::uint32_t Host::eq() {
  Call<prm::create_eq, 8> call;
  call.in.at(prm::create_eq_in::eq_context_entry)
      .set(prm::eqc::log_eq_size, 5)
      .set(prm::eqc::uar_page, uar());
  prm::set_bits(call.in.bytes().data(), prm::create_eq_in::size * 8, 64, memory.allocate(4096));
  const Answer answer = run(call);
  EXPECT_TRUE(answer.ok()) << answer.words;
  return call.out.get(prm::create_eq_out::eq_number);
}

std::uint32_t Host::umem(std::size_t size, std::uint16_t uid) {
  const std::size_t pages = (size + 4095) / 4096;
  std::vector<std::byte> in(prm::create_umem_in::size + pages * 8);
  prm::View<prm::create_umem_in> view(in);
  view.set(prm::create_umem_in::opcode, prm::cmd_opcode::create_umem).set(prm::create_umem_in::uid, uid);
  view.at(prm::create_umem_in::umem).set(prm::umem::num_of_mtt, pages);
  const std::uint64_t at = memory.allocate(size);
  for (std::size_t i = 0; i < pages; ++i) {
    prm::set_bits(in.data(), (prm::create_umem_in::size + i * 8) * 8, 64, at + i * 4096);
  }
  Call<prm::create_umem> call;
  const Answer answer = execute(in, call.out.bytes());
  EXPECT_TRUE(answer.ok()) << answer.words;
  return call.out.get(prm::create_umem_out::umem_id);
}

std::uint32_t Host::q_counter(std::uint16_t uid) {
  Call<prm::alloc_q_counter> call;
  EXPECT_TRUE(run(call, uid).ok());
  return call.out.get(prm::alloc_q_counter_out::counter_set_id);
}

std::uint32_t Host::flow_counter(std::uint16_t uid) {
  Call<prm::alloc_flow_counter> call;
  EXPECT_TRUE(run(call, uid).ok());
  return call.out.get(prm::alloc_flow_counter_out::flow_counter_id);
}

Bench::Bench(Host& h, std::uint16_t user)
    : host(h),
      uid(user),
      pd(h.pd(user)),
      domain(h.transport_domain(user)),
      uar(h.uar(user)),
      eq(h.eq()),
      umem(h.umem(256 * 1024, user)) {
  auto cq_in = cq_call();
  Answer answer = run(cq_in);
  EXPECT_TRUE(answer.ok()) << answer.words;
  cq = cq_in.out.get(prm::create_cq_out::cqn);
  auto tis_in = tis_call();
  answer = run(tis_in);
  EXPECT_TRUE(answer.ok()) << answer.words;
  tis = tis_in.out.get(prm::create_tis_out::tisn);
}

// The umem: CQs at 0, SQs at 64 KiB, RQs at 128 KiB, records at 192 KiB. Nobody rings, so they may overlap.
Call<prm::create_cq> Bench::cq_call() {
  Call<prm::create_cq> call;
  call.in.set(prm::create_cq_in::cq_umem_valid, 1).set(prm::create_cq_in::cq_umem_id, umem);
  call.in.at(prm::create_cq_in::cq_context)
      .set(prm::cqc::log_cq_size, 6)
      .set(prm::cqc::uar_page, uar)
      .set(prm::cqc::c_eqn_or_apu_element, eq)
      .set(prm::cqc::dbr_umem_valid, 1)
      .set(prm::cqc::dbr_umem_id, umem)
      .set(prm::cqc::dbr_addr, 192 * 1024);
  return call;
}

Call<prm::create_sq> Bench::sq_call() {
  Call<prm::create_sq> call;
  const auto sqc = call.in.at(prm::create_sq_in::ctx);
  sqc.set(prm::sqc::cqn, cq).set(prm::sqc::tis_lst_sz, 1).set(prm::sqc::tis_num_0, tis);
  sqc.at(prm::sqc::wq)
      .set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, pd)
      .set(prm::wq::uar_page, uar)
      .set(prm::wq::log_wq_stride, 6)
      .set(prm::wq::log_wq_sz, 6)
      .set(prm::wq::wq_umem_valid, 1)
      .set(prm::wq::wq_umem_id, umem)
      .set(prm::wq::wq_umem_offset, 64 * 1024)
      .set(prm::wq::dbr_umem_valid, 1)
      .set(prm::wq::dbr_umem_id, umem)
      .set(prm::wq::dbr_addr, 193 * 1024);
  return call;
}

Call<prm::create_rq> Bench::rq_call() {
  Call<prm::create_rq> call;
  const auto rqc = call.in.at(prm::create_rq_in::ctx);
  rqc.set(prm::rqc::cqn, cq);
  rqc.at(prm::rqc::wq)
      .set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, pd)
      .set(prm::wq::log_wq_stride, 5)
      .set(prm::wq::log_wq_sz, 6)
      .set(prm::wq::wq_umem_valid, 1)
      .set(prm::wq::wq_umem_id, umem)
      .set(prm::wq::wq_umem_offset, 128 * 1024)
      .set(prm::wq::dbr_umem_valid, 1)
      .set(prm::wq::dbr_umem_id, umem)
      .set(prm::wq::dbr_addr, 194 * 1024);
  return call;
}

Call<prm::create_rqt, 64 * 4> Bench::rqt_call(std::vector<std::uint32_t> rqs) {
  Call<prm::create_rqt, 64 * 4> call;
  const auto rqtc = call.in.at(prm::create_rqt_in::rqt_context);
  rqtc.set(prm::rqtc::rqt_max_size, 64)
      .set(prm::rqtc::rqt_actual_size, static_cast<std::uint32_t>(rqs.size()));
  for (std::size_t i = 0; i < rqs.size(); ++i) {
    rqtc.at(prm::rqtc::rq_num, i).set(prm::rq_num::rq_num_, rqs[i]);
  }
  return call;
}

Call<prm::create_tir> Bench::tir_call(std::uint32_t rq) {
  Call<prm::create_tir> call;
  call.in.at(prm::create_tir_in::ctx).set(prm::tirc::inline_rqn, rq).set(prm::tirc::transport_domain, domain);
  return call;
}

Call<prm::create_tis> Bench::tis_call() {
  Call<prm::create_tis> call;
  call.in.at(prm::create_tis_in::ctx).set(prm::tisc::transport_domain, domain);
  return call;
}

Call<prm::create_mkey> Bench::mkey_call(std::uint64_t length) {
  Call<prm::create_mkey> call;
  call.in.set(prm::create_mkey_in::mkey_umem_valid, 1).set(prm::create_mkey_in::mkey_umem_id, umem);
  call.in.at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(prm::mkc::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(prm::mkc::lr, 1)
      .set(prm::mkc::lw, 1)
      .set(prm::mkc::mkey_7_0, 0x42)
      .set(prm::mkc::qpn, 0xffffff)
      .set(prm::mkc::pd, pd)
      .set(prm::mkc::start_addr, 0x7f00'0000'0000)
      .set(prm::mkc::len, length);
  return call;
}

std::uint32_t Bench::make_sq() {
  auto call = sq_call();
  const Answer answer = run(call);
  EXPECT_TRUE(answer.ok()) << answer.words;
  return call.out.get(prm::create_sq_out::sqn);
}

std::uint32_t Bench::make_rq() {
  auto call = rq_call();
  const Answer answer = run(call);
  EXPECT_TRUE(answer.ok()) << answer.words;
  return call.out.get(prm::create_rq_out::rqn);
}

}  // namespace chime::test
