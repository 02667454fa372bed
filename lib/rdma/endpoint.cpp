// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/endpoint.h"

#include <bit>
#include <cstdio>

#include "rdma/checksum.h"

namespace chime::rdma {
namespace {

constexpr std::string_view endpoint_head = "chime-qp-1";
constexpr std::string_view memory_head = "chime-mem-1";

std::uint32_t check_of(const Endpoint& endpoint) noexcept {
  return checksum(&endpoint, offsetof(Endpoint, check));
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Reads a line field by field; the first thing that is wrong stays.
class Reader {
 public:
  Reader(std::string_view text, std::string_view head) noexcept : whole_(text) {
    // A line's end that came with the text.
    while (!whole_.empty() && (whole_.back() == '\n' || whole_.back() == '\r')) whole_.remove_suffix(1);
    rest_ = whole_;
    if (!take(head)) wrong_ = head.data();
  }

  /// ",name=" and a number up to the next comma.
  std::uint64_t number(const char* name, unsigned base, std::uint64_t most) noexcept {
    const std::string_view digits = value(name);
    std::uint64_t number = 0;
    if (digits.empty()) return fail(name);
    for (char c : digits) {
      const int digit = hex_digit(c);
      if (digit < 0 || static_cast<unsigned>(digit) >= base) return fail(name);
      if (number > (most - static_cast<unsigned>(digit)) / base) return fail(name);
      number = number * base + static_cast<unsigned>(digit);
    }
    return number;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> bytes(const char* name) noexcept {
    std::array<std::uint8_t, N> bytes{};
    const std::string_view digits = value(name);
    if (digits.size() != 2 * N) {
      fail(name);
      return bytes;
    }
    for (std::size_t i = 0; i < N; ++i) {
      const int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
      if (high < 0 || low < 0) {
        fail(name);
        return bytes;
      }
      bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return bytes;
  }

  /// The check, and nothing after it.
  Result<> end(const char* what) noexcept {
    const std::size_t before = whole_.size() - rest_.size();
    const auto sum = static_cast<std::uint32_t>(number("check", 16, 0xffffffff));
    if (wrong_ == nullptr && !rest_.empty()) wrong_ = "what follows check";
    if (wrong_ != nullptr) return chime::fail(EINVAL, "%s as text: `%s` is missing or wrong", what, wrong_);
    if (sum != checksum(whole_.data(), before))
      return chime::fail(EBADMSG, "%s as text: the check does not match; the text was cut or changed", what);
    return {};
  }

 private:
  std::uint64_t fail(const char* name) noexcept {
    if (wrong_ == nullptr) wrong_ = name;
    return 0;
  }
  bool take(std::string_view expected) noexcept {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::string_view value(const char* name) noexcept {
    if (wrong_ != nullptr) return {};
    if (!take(",") || !take(name) || !take("=")) return {};
    const std::string_view digits = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(digits.size());
    return digits;
  }

  std::string_view whole_, rest_;
  const char* wrong_ = nullptr;
};

/// Appends the check of what is there.
std::size_t finish(std::span<char> text, int length) noexcept {
  const auto used = static_cast<std::size_t>(length);
  const int more =
      std::snprintf(text.data() + used, text.size() - used, ",check=%08x", checksum(text.data(), used));
  return used + static_cast<std::size_t>(more);
}

}  // namespace

void seal(Endpoint& endpoint) noexcept {
  endpoint.check = check_of(endpoint);
}

Result<> check(const Endpoint& endpoint) noexcept {
  if (endpoint.check != check_of(endpoint)) {
    return fail(EBADMSG,
                "an endpoint whose check is wrong: it was torn, cut, or comes from a host of another byte "
                "order (send it as text then)");
  }
  if (endpoint.qpn < 2 || endpoint.qpn > 0xfffffe)
    return fail(EINVAL, "endpoint with queue pair number %#x; 2 to 0xfffffe are possible", endpoint.qpn);
  if (endpoint.psn > 0xffffff) return fail(EINVAL, "endpoint with PSN %#x; it has 24 bits", endpoint.psn);
  if (endpoint.gid == std::array<std::uint8_t, 16>{}) return fail(EINVAL, "endpoint without a GID");
  if (endpoint.mac == std::array<std::uint8_t, 6>{} || endpoint.mac[0] & 1)
    return fail(EINVAL, "endpoint whose MAC address is no station's");
  if (!std::has_single_bit(endpoint.mtu) || endpoint.mtu < 256 || endpoint.mtu > 4096)
    return fail(EINVAL, "endpoint with MTU %u; 256, 512, 1024, 2048 and 4096 are possible", endpoint.mtu);
  if (endpoint.depth == 0 || endpoint.depth > 128)
    return fail(EINVAL, "endpoint that answers %u reads and atomics at once; 1 to 128 are possible",
                endpoint.depth);
  return {};
}

std::size_t format(const Endpoint& e, std::span<char> text) noexcept {
  int at = std::snprintf(text.data(), text.size(), "%s,qpn=%06x,psn=%06x,gid=", endpoint_head.data(), e.qpn,
                         e.psn);
  const auto put = [&](const char* format, unsigned value) {
    at += std::snprintf(text.data() + at, text.size() - static_cast<std::size_t>(at), format, value);
  };
  for (std::uint8_t byte : e.gid) put("%02x", byte);
  at += std::snprintf(text.data() + at, text.size() - static_cast<std::size_t>(at), ",mac=");
  for (std::uint8_t byte : e.mac) put("%02x", byte);
  put(",mtu=%u", e.mtu);
  put(",depth=%u", e.depth);
  return finish(text, at);
}

Result<Endpoint> parse_endpoint(std::string_view text) noexcept {
  Reader reader(text, endpoint_head);
  Endpoint e{};
  e.qpn = static_cast<std::uint32_t>(reader.number("qpn", 16, 0xffffff));
  e.psn = static_cast<std::uint32_t>(reader.number("psn", 16, 0xffffff));
  e.gid = reader.bytes<16>("gid");
  e.mac = reader.bytes<6>("mac");
  e.mtu = static_cast<std::uint16_t>(reader.number("mtu", 10, 4096));
  e.depth = static_cast<std::uint16_t>(reader.number("depth", 10, 128));
  if (Result<> done = reader.end("endpoint"); !done) return fail(done.error());
  seal(e);
  if (Result<> good = check(e); !good) return fail(good.error());
  return e;
}

std::size_t format(const MemoryDescriptor& d, std::span<char> text) noexcept {
  return finish(text, std::snprintf(text.data(), text.size(), "%s,address=%llx,length=%llu,rkey=%x,rights=%x",
                                    memory_head.data(), static_cast<unsigned long long>(d.address),
                                    static_cast<unsigned long long>(d.length), d.rkey, d.rights));
}

Result<MemoryDescriptor> parse_memory(std::string_view text) noexcept {
  Reader reader(text, memory_head);
  MemoryDescriptor d{};
  d.address = reader.number("address", 16, UINT64_MAX);
  d.length = reader.number("length", 10, UINT64_MAX);
  d.rkey = static_cast<std::uint32_t>(reader.number("rkey", 16, 0xffffffff));
  d.rights = static_cast<std::uint16_t>(reader.number("rights", 16, all_rights));
  if (Result<> done = reader.end("memory descriptor"); !done) return fail(done.error());
  seal(d);
  return d;
}

}  // namespace chime::rdma
