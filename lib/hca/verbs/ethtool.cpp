// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file_descriptor.h"
#include "hca/verbs/failure.h"

namespace chime::hca::verbs {
namespace {

Result<FileDescriptor> open_socket() noexcept {
  FileDescriptor file(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!file) return fail(call_failure("socket for ethtool", errno));
  return file;
}

Result<> call(int socket, const char* netdev, void* command, const char* what) noexcept {
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", netdev);
  request.ifr_data = static_cast<char*>(command);
  if (ioctl(socket, SIOCETHTOOL, &request) == 0) return {};
  return fail(call_failure(what, errno).within("%s", netdev));
}

/// A command that ends in an array of words.
template <class Header, std::size_t Words>
struct WithWords {
  alignas(Header) std::array<std::byte, sizeof(Header) + Words * sizeof(std::uint32_t)> bytes{};

  Header& header() noexcept { return *reinterpret_cast<Header*>(bytes.data()); }
  std::uint32_t first() const noexcept {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + sizeof(Header), sizeof word);
    return word;
  }
};

/// ETHTOOL_GSSET_INFO for one set: a count behind the header.
Result<std::uint32_t> count_of_statistics(int socket, const char* netdev) noexcept {
  WithWords<ethtool_sset_info, 1> info;
  info.header().cmd = ETHTOOL_GSSET_INFO;
  info.header().sset_mask = std::uint64_t{1} << ETH_SS_STATS;
  if (auto done = call(socket, netdev, info.bytes.data(), "ETHTOOL_GSSET_INFO"); !done) {
    return fail(done.error());
  }
  return info.header().sset_mask ? info.first() : 0;
}

}  // namespace

Result<EthtoolLink> ethtool_link(const char* name) noexcept {
  constexpr std::size_t most_words = 127;  // of a link mode mask: the field is a signed byte
  WithWords<ethtool_link_settings, 3 * most_words> command;
  ethtool_link_settings& settings = command.header();
  auto socket_file = open_socket();
  if (!socket_file) return fail(socket_file.error());
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  // The kernel answers the first call with the length of its masks, negative; the second must name it.
  for (int round = 0; round < 2; ++round) {
    if (auto done = call(socket_file->get(), name, &settings, "ETHTOOL_GLINKSETTINGS"); !done) {
      return fail(done.error());
    }
    if (round == 1) break;
    const auto words = static_cast<std::int8_t>(-settings.link_mode_masks_nwords);
    command = {};
    settings.cmd = ETHTOOL_GLINKSETTINGS;
    settings.link_mode_masks_nwords = words;
  }
  const std::uint32_t speed = settings.speed;
  return EthtoolLink{.speed_mbps = speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed,
                     .full_duplex = settings.duplex != DUPLEX_HALF,
                     .autoneg = settings.autoneg == AUTONEG_ENABLE};
}

Result<> ethtool_firmware_version(const char* name, std::span<char> text) noexcept {
  ethtool_drvinfo info{};
  auto socket_file = open_socket();
  if (!socket_file) return fail(socket_file.error());
  info.cmd = ETHTOOL_GDRVINFO;
  if (auto done = call(socket_file->get(), name, &info, "ETHTOOL_GDRVINFO"); !done) return done;
  const std::size_t length = strnlen(info.fw_version, sizeof info.fw_version);
  if (length >= text.size()) {
    return fail(ENOSPC, "the firmware version has %zu characters, there is room for %zu with the NUL", length,
                text.size());
  }
  std::copy_n(info.fw_version, length, text.begin());
  text[length] = '\0';
  return {};
}

Result<> EthtoolCounts::find(int socket, const char* netdev, std::span<const EthtoolCount> wanted,
                             std::uint32_t count) noexcept {
  auto places = Array<std::uint32_t>::make(wanted.size(), "places of a netdev's counts");
  auto buffer = Array<std::byte>::make(sizeof(ethtool_gstrings) + std::size_t{count} * ETH_GSTRING_LEN,
                                       "the names of a netdev's counts");
  if (!places) return fail(places.error());
  if (!buffer) return fail(buffer.error());
  auto* strings = reinterpret_cast<ethtool_gstrings*>(buffer->data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  if (auto done = call(socket, netdev, strings, "ETHTOOL_GSTRINGS"); !done) return done;
  const char* names = reinterpret_cast<const char*>(buffer->data() + sizeof(ethtool_gstrings));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::uint32_t place = 0;
    while (place < count &&
           std::strncmp(names + std::size_t{place} * ETH_GSTRING_LEN, wanted[i].name, ETH_GSTRING_LEN) != 0) {
      ++place;
    }
    (*places)[i] = place;
  }
  places_ = std::move(*places);
  count_ = count;
  return {};
}

Result<> EthtoolCounts::read(const char* netdev, std::span<const EthtoolCount> wanted) noexcept {
  auto socket_file = open_socket();
  if (!socket_file) return fail(socket_file.error());
  auto count = count_of_statistics(socket_file->get(), netdev);
  if (!count) return fail(count.error());
  if (*count != count_ || places_.size() != wanted.size()) {
    if (auto found = find(socket_file->get(), netdev, wanted, *count); !found) return found;
  }
  auto buffer = Array<std::uint64_t>::make(1 + *count, "a netdev's counts");
  if (!buffer) return fail(buffer.error());
  static_assert(sizeof(ethtool_stats) == sizeof(std::uint64_t));
  auto* statistics = reinterpret_cast<ethtool_stats*>(buffer->data());
  statistics->cmd = ETHTOOL_GSTATS;
  statistics->n_stats = *count;
  if (auto done = call(socket_file->get(), netdev, statistics, "ETHTOOL_GSTATS"); !done) return done;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    *wanted[i].value = places_[i] < *count ? (*buffer)[1 + places_[i]] : 0;
  }
  return {};
}

}  // namespace chime::hca::verbs
