// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/endpoint.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

/// Endpoints and memory descriptors: any text is taken or refused in words, and what is taken is written back
/// as it came; any struct is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chime::rdma;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  char again[endpoint_text_size];
  if (const auto endpoint = parse_endpoint(text)) {
    if (!check(*endpoint)) std::abort();
    const std::string_view written(again, format(*endpoint, again));
    const auto twice = parse_endpoint(written);
    if (!twice || std::memcmp(&*twice, &*endpoint, sizeof *twice) != 0) std::abort();
  } else if (endpoint.error().text[0] == '\0') {
    std::abort();
  }
  if (const auto memory = parse_memory(text)) {
    const auto twice = parse_memory({again, format(*memory, again)});
    if (!twice || std::memcmp(&*twice, &*memory, sizeof *twice) != 0) std::abort();
  }
  if (size >= sizeof(Endpoint)) {
    Endpoint endpoint;
    std::memcpy(&endpoint, data, sizeof endpoint);
    seal(endpoint);
    if (check(endpoint)) {
      const auto twice = parse_endpoint({again, format(endpoint, again)});
      if (!twice) std::abort();
    }
  }
  if (size >= sizeof(MemoryDescriptor) + 16) {
    MemoryDescriptor memory;
    std::uint64_t range[2];
    std::memcpy(&memory, data, sizeof memory);
    std::memcpy(range, data + sizeof memory, sizeof range);
    seal(memory);
    if (check(memory, range[0], range[1], remote_write) && range[0] + range[1] > memory.length) std::abort();
  }
  return 0;
}
