// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/umem.h"

#include <utility>

#include "hca/model/kernel.h"
#include "prm/layouts.h"

namespace chime::hca::embedded {
namespace {

constexpr unsigned mtt_shift = 8;  // ptag holds address bits 63:8

}  // namespace

Result<Owned<UmemHandle>> UmemHandle::make(Kernel& kernel, RegisteredMemory& memory, const PageRange& range,
                                           bool writable) noexcept {
  auto handle = make_owned<UmemHandle>("a umem", memory);
  if (!handle) return handle;
  if (auto added = memory.add(range); !added) return fail(added.error());
  (*handle)->range_ = range;
  (*handle)->registered_ = true;

  auto bytes = Array<std::byte>::make(prm::create_umem_in::size + range.count * prm::mtt::size,
                                      "the page list of a umem");
  if (!bytes) return fail(bytes.error());
  const prm::View<prm::create_umem_in> in(bytes->span());
  in.set(prm::create_umem_in::opcode, prm::cmd_opcode::create_umem)
      .set(prm::create_umem_in::uid, kernel.uid());
  const auto umem = in.at(prm::create_umem_in::umem);
  umem.set(prm::umem::log_page_size, range.log_page_size - 12)
      .set(prm::umem::page_offset, range.offset)
      .set(prm::umem::num_of_mtt, range.count);
  for (std::size_t i = 0; i < range.count; ++i) {
    const std::uint64_t page = range.first + (std::uint64_t{i} << range.log_page_size);
    umem.at(prm::umem::mtt, i)
        .set(prm::mtt::ptag, page >> mtt_shift)
        .set(prm::mtt::wr_en, writable)
        .set(prm::mtt::rd_en, 1);
  }
  prm::Box<prm::create_umem_out> out;
  if (auto done = kernel.execute(bytes->span(), out.bytes()); !done) return fail(done.error());
  (*handle)->number = out.get(prm::create_umem_out::umem_id);
  prm::View<prm::destroy_umem_in>((*handle)->prepare_destroy(prm::destroy_umem_in::size))
      .set(prm::destroy_umem_in::opcode, prm::cmd_opcode::destroy_umem)
      .set(prm::destroy_umem_in::uid, kernel.uid())
      .set(prm::destroy_umem_in::umem_id, (*handle)->number);
  return handle;
}

void UmemHandle::release() noexcept {
  if (std::exchange(registered_, false)) memory_.remove(range_);
}

Result<Owned<Handle>> make_mkey(Kernel& kernel, const UmemHandle& umem, std::uint32_t pd,
                                std::uint64_t address, std::uint64_t length, Access access,
                                std::uint32_t& key) noexcept {
  constexpr std::uint32_t any_qp = 0xffffff;
  auto handle = make_owned<Handle>("a memory key", prm::cmd_opcode::create_mkey);
  if (!handle) return handle;
  const std::size_t pages = umem.range().count;
  prm::Box<prm::create_mkey_in> in;
  prm::Box<prm::create_mkey_out> out;
  in.set(prm::create_mkey_in::uid, kernel.uid())
      .set(prm::create_mkey_in::mkey_umem_valid, 1)
      .set(prm::create_mkey_in::mkey_umem_id, umem.number)
      .set(prm::create_mkey_in::translations_octword_actual_size, static_cast<std::uint32_t>((pages + 1) / 2))
      .at(prm::create_mkey_in::memory_key_mkey_entry)
      .set(prm::mkc::access_mode_1_0, prm::mkc_access_mode::mtt)
      .set(prm::mkc::lr, 1)
      .set(prm::mkc::lw, access.local_write)
      .set(prm::mkc::rr, access.remote_read)
      .set(prm::mkc::rw, access.remote_write)
      .set(prm::mkc::a, access.remote_atomic)
      .set(prm::mkc::qpn, any_qp)
      .set(prm::mkc::pd, pd)
      .set(prm::mkc::start_addr, address)
      .set(prm::mkc::len, length)
      .set(prm::mkc::translations_octword_size, static_cast<std::uint32_t>((pages + 1) / 2))
      .set(prm::mkc::log_page_size, umem.range().log_page_size);
  if (auto done = kernel.execute(in, out); !done) return fail(done.error());
  (*handle)->number = out.get(prm::create_mkey_out::mkey_index);
  prm::View<prm::destroy_mkey_in>((*handle)->prepare_destroy(prm::destroy_mkey_in::size))
      .set(prm::destroy_mkey_in::opcode, prm::cmd_opcode::destroy_mkey)
      .set(prm::destroy_mkey_in::uid, kernel.uid())
      .set(prm::destroy_mkey_in::mkey_index, (*handle)->number);
  key = (*handle)->number << 8;
  return handle;
}

}  // namespace chime::hca::embedded
