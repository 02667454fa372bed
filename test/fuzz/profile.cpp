// SPDX-License-Identifier: BSD-3-Clause
// Any text as a profile: it is one, or the error names a line.
#include "model/profile.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using chime::model::Profile;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto any = Profile::parse(text, "any");
  if (!any && std::strncmp(any.error().text, "any:", 4) != 0) std::abort();
  // The first line is hard to guess.
  const std::string headed = "base = \"connectx6dx\"\n" + std::string(text);
  auto profile = Profile::parse(headed, "any");
  if (!profile && std::strncmp(profile.error().text, "any:", 4) != 0) std::abort();
  return 0;
}
