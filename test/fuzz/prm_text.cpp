// SPDX-License-Identifier: BSD-3-Clause
// Buffers as text and back. The first byte says what follows: any bytes, which must come back from the text
// that they are printed as; or any text, which must be read or refused with a line and a reason.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "input.h"
#include "prm/text.h"

namespace {

using namespace chime;
using fuzz::want;
using Bytes = std::vector<std::byte>;

Bytes rest_of(fuzz::Input& input) {
  const auto given = input.rest();
  Bytes bytes(given.size());
  if (!given.empty()) std::memcpy(bytes.data(), given.data(), given.size());
  return bytes;
}

void read_back(const std::string& text, const Bytes& bytes) {
  Bytes again(bytes.size(), std::byte{0xee});
  const prm::ParseResult result = prm::parse(text, again);
  want(static_cast<bool>(result));
  want(again == bytes);
}

void read_any(fuzz::Input& input) {
  Bytes bytes(input.u16() % 1024);
  const auto given = input.rest();
  const std::string text(reinterpret_cast<const char*>(given.data()), given.size());
  const prm::ParseResult result = prm::parse(text, bytes);
  want(result || *result.mistake != '\0');
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  want(result.line <= lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned mode = input.u8();
  std::string text;
  const auto keep = [&](std::string_view part) { text += part; };
  const prm::PrintOptions options{.zeros = (mode & 4) != 0, .meanings = (mode & 8) != 0, .indent = mode >> 4};
  switch (mode % 4) {
    case 0:
      read_any(input);
      break;
    case 1: {
      const auto layouts = prm::structs();
      const prm::StructInfo& layout = layouts[input.u16() % layouts.size()];
      const Bytes bytes = rest_of(input);
      prm::print(layout, bytes, keep, options);
      read_back(text, bytes);
      break;
    }
    case 2: {
      const Bytes bytes = rest_of(input);
      prm::print_input(bytes, keep, options);
      read_back(text, bytes);
      break;
    }
    case 3: {
      const auto asked = input.take(input.u8());
      Bytes in(asked.size());
      if (!asked.empty()) std::memcpy(in.data(), asked.data(), asked.size());
      const Bytes bytes = rest_of(input);
      prm::print_output(in, bytes, keep, options);
      read_back(text, bytes);
      break;
    }
  }
  return 0;
}
