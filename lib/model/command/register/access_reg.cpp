// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/handlers.h"
#include "model/command/register/register.h"

namespace chime::model {
namespace {

struct Register {
  prm::register_id id;
  const char* name;
  std::size_t size;  ///< bytes
  bool writable;
  void (*access)(Command&, bool write, std::span<const std::byte> in, std::span<std::byte> out);
};

template <class R, void (*function)(const RegisterAccess<R>&) noexcept>
constexpr Register reg(prm::register_id id, const char* name, bool writable) {
  return {id, name, R::size, writable,
          [](Command& c, bool write, std::span<const std::byte> in, std::span<std::byte> out) {
            function({c, write, prm::ConstView<R>(in), prm::View<R>(out)});
          }};
}

constexpr bool rw = true;
constexpr bool ro = false;

constexpr Register registers[] = {
    reg<prm::ptys_reg, &ptys>(prm::register_id::ptys, "PTYS", rw),
    reg<prm::paos_reg, &paos>(prm::register_id::paos, "PAOS", rw),
    reg<prm::pmtu_reg, &pmtu>(prm::register_id::pmtu, "PMTU", rw),
    reg<prm::pmlp_reg, &pmlp>(prm::register_id::pmlp, "PMLP", ro),
    reg<prm::pfcc_reg, &pfcc>(prm::register_id::pfcc, "PFCC", rw),
    reg<prm::ppcnt_reg, &ppcnt>(prm::register_id::ppcnt, "PPCNT", rw),
    reg<prm::pplm_reg, &pplm>(prm::register_id::pplm, "PPLM", rw),
    reg<prm::pddr_reg, &pddr>(prm::register_id::pddr, "PDDR", ro),
    reg<prm::pcam_reg, &pcam>(prm::register_id::pcam, "PCAM", ro),
    reg<prm::mcam_reg, &mcam>(prm::register_id::mcam, "MCAM", ro),
    reg<prm::mpcnt_reg, &mpcnt>(prm::register_id::mpcnt, "MPCNT", ro),
    reg<prm::mgir_reg, &mgir>(prm::register_id::mgir, "MGIR", ro),
    reg<prm::mtcap_reg, &mtcap>(prm::register_id::mtcap, "MTCAP", ro),
    reg<prm::mtmp_reg, &mtmp>(prm::register_id::mtmp, "MTMP", ro),
    reg<prm::mcia_reg, &mcia>(prm::register_id::mcia, "MCIA", ro),
    reg<prm::mcqs_reg, &mcqs>(prm::register_id::mcqs, "MCQS", ro),
    reg<prm::mcqi_reg, &mcqi>(prm::register_id::mcqi, "MCQI", ro),
    reg<prm::register_host_endianness, &host_endianness>(prm::register_id::host_endianness, "HOST_ENDIANNESS",
                                                         rw),
    reg<prm::set_node_in, &node_description>(prm::register_id::node_desc, "SET_NODE", rw),
};

}  // namespace

void access_reg(Command& c, In<prm::access_reg> in, Out<prm::access_reg> out) noexcept {
  const auto id = in.get(prm::access_register_in::register_id);
  const auto* found =
      std::find_if(std::begin(registers), std::end(registers), [&](const Register& r) { return r.id == id; });
  if (found == std::end(registers)) {
    return c.refuse(Rule::register_unknown, static_cast<std::uint32_t>(id), "there is no register %#x",
                    static_cast<unsigned>(id));
  }
  const auto direction = in.get(prm::access_register_in::op_mod);
  const bool write = direction == prm::access_register_op_mod::write;
  if (!write && direction != prm::access_register_op_mod::read) {
    return c.refuse(Rule::op_mod, 0, "op_mod %#x; there are 0 write, 1 read", c.op_mod);
  }
  if (write && !found->writable) {
    return c.refuse(Rule::register_read_only, static_cast<std::uint32_t>(id), "%s can't be written",
                    found->name);
  }
  const auto data_in = in.bytes().subspan(prm::access_register_in::size);
  const auto data_out = out.bytes().subspan(prm::access_register_out::size);
  if (data_in.size() < found->size) {
    return c.refuse(Rule::input_length, static_cast<std::uint32_t>(id), "%s has %zu bytes, the input %zu",
                    found->name, found->size, data_in.size());
  }
  if (data_out.size() < found->size) {
    return c.refuse(Rule::output_length, static_cast<std::uint32_t>(id),
                    "%s has %zu bytes, the output has room for %zu", found->name, found->size,
                    data_out.size());
  }
  std::copy_n(data_in.begin(), found->size, data_out.begin());
  found->access(c, write, data_in, data_out);
}

}  // namespace chime::model
