// SPDX-License-Identifier: BSD-3-Clause
// Any commands, in any order, from anybody, at a software HCA that is up. The input is a list of commands:
//
//     1 byte  index in the manual's list of commands; 255: the opcode is what the bytes say
//     1 byte  uid
//     2 bytes length of what is behind the first 8 bytes of the command's input, at most 4096
//     ...     these bytes: they overwrite zeros, so that short inputs say something
//
// Wants no crash, no leak, and answers with a status that the manual has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "input.h"
#include "prm/layouts.h"
#include "prm/tables.h"
#include "prm/view.h"
#include "surroundings.h"

namespace {

using namespace chime;

void command(model::Hca& hca, fuzz::Input& input) {
  const auto known = prm::commands();
  const std::uint32_t index = input.u8();
  const std::uint32_t uid = input.u8();
  const std::size_t asked = input.u16();
  const auto body = input.take(std::min<std::size_t>(asked, 4096));
  const prm::CommandInfo* info = index < known.size() ? &known[index] : nullptr;

  std::vector<std::byte> in(std::max<std::size_t>({info ? info->input->size : 0, body.size() + 8, 16}));
  std::vector<std::byte> out(std::max<std::size_t>(info ? info->output->size + 256 : 0, 512));
  if (info) prm::set_bits(in.data(), 0, 16, info->opcode);
  prm::set_bits(in.data(), 16, 16, uid);
  const std::size_t at = info ? 6 : 0;  // the op_mod on, or all
  if (!body.empty()) std::memcpy(in.data() + at, body.data(), body.size());
  hca.command(in, out);
  const auto* statuses = prm::find_enum("cmd_status");
  fuzz::want(prm::find_enumerator(*statuses, prm::get_bits(out.data(), 0, 8)) != nullptr);
}

void bring_up(model::Hca& hca) {
  std::byte out[16];
  prm::Box<prm::enable_hca_in> enable;
  hca.command(enable.bytes(), out);
  prm::Box<prm::init_hca_in> init;
  hca.command(init.bytes(), out);
  prm::Box<prm::create_uctx_in> context;
  context.at(prm::create_uctx_in::uctx).set(prm::uctx::cap, prm::uctx_cap::raw_tx);
  hca.command(context.bytes(), out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto profile = model::Profile::named("connectx6dx");
  fuzz::Surroundings around(true);
  auto hca = model::Hca::create(*profile, around);
  fuzz::want(hca.has_value());
  bring_up(**hca);
  for (fuzz::Input input(data, size); !input.empty();) {
    command(**hca, input);
    (*hca)->step();
  }
  return 0;
}
