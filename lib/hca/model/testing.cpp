// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/testing.h"

#include "hca/model/device.h"

namespace chime::hca::embedded {
namespace {

EmbeddedDevice& embedded(Device& device) noexcept {
  return static_cast<EmbeddedDevice&>(device);
}

}  // namespace

std::size_t count_objects(Device& device, std::span<model::ObjectCount> counts) noexcept {
  std::size_t kinds = 0;
  embedded(device).loop().run([&] { kinds = embedded(device).hca().count_objects(counts); });
  return kinds;
}

void fail_command(Device& device, unsigned n) noexcept {
  embedded(device).loop().run([&] { embedded(device).kernel().fail_command(n); });
}

Result<> execute(Device& device, std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  Result<> result;
  embedded(device).loop().run([&] { result = embedded(device).kernel().execute(in, out); });
  return result;
}

std::uint32_t refused_destroys(Device& device) noexcept {
  std::uint32_t count = 0;
  embedded(device).loop().run([&] { count = embedded(device).user().refused_destroys(); });
  return count;
}

void lose(Device& device) noexcept {
  embedded(device).loop().run([&] { embedded(device).lose(); });
}

}  // namespace chime::hca::embedded
