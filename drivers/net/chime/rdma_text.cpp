// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cstring>

#include "rdma/endpoint.h"
#include "rdma/exchange.h"
#include "rdma_api.h"
#include "rdma_error.h"

namespace chime::net {

namespace {

static_assert(sizeof(rte_pmd_chime_endpoint) == sizeof(rdma::Endpoint) &&
              offsetof(rte_pmd_chime_endpoint, gid) == offsetof(rdma::Endpoint, gid) &&
              offsetof(rte_pmd_chime_endpoint, mac) == offsetof(rdma::Endpoint, mac) &&
              offsetof(rte_pmd_chime_endpoint, mtu) == offsetof(rdma::Endpoint, mtu) &&
              offsetof(rte_pmd_chime_endpoint, depth) == offsetof(rdma::Endpoint, depth) &&
              offsetof(rte_pmd_chime_endpoint, check) == offsetof(rdma::Endpoint, check));
static_assert(RTE_PMD_CHIME_TEXT_SIZE == rdma::endpoint_text_size);

/// C's struct from lib's, which is the same bytes.
template <class To, class From>
int give(To* to, const Result<From>& from) noexcept {
  if (!from) return refused(from.error());
  *to = std::bit_cast<To>(*from);
  return 0;
}

template <class T>
int format(const T& what, char* text, std::size_t size) noexcept {
  if (size < rdma::endpoint_text_size)
    return refused(Error::make(ENOSPC, "room for %zu bytes of text; RTE_PMD_CHIME_TEXT_SIZE is %zu", size,
                               rdma::endpoint_text_size));
  return static_cast<int>(rdma::format(what, {text, size}));
}

int give(Result<FileDescriptor> socket) noexcept {
  return socket ? socket->release() : refused(socket.error());
}

std::string_view view(const char* text) noexcept {
  return text != nullptr ? text : "";
}

}  // namespace

}  // namespace chime::net

using namespace chime;
using namespace chime::net;

extern "C" {

int rte_pmd_chime_endpoint_format(const rte_pmd_chime_endpoint* endpoint, char* text, size_t size) {
  return format(std::bit_cast<rdma::Endpoint>(*endpoint), text, size);
}

void rte_pmd_chime_endpoint_seal(rte_pmd_chime_endpoint* endpoint) {
  auto sealed = std::bit_cast<rdma::Endpoint>(*endpoint);
  rdma::seal(sealed);
  *endpoint = std::bit_cast<rte_pmd_chime_endpoint>(sealed);
}

int rte_pmd_chime_endpoint_parse(const char* text, rte_pmd_chime_endpoint* endpoint) {
  return give(endpoint, rdma::parse_endpoint(view(text)));
}

int rte_pmd_chime_mem_desc_format(const rte_pmd_chime_mem_desc* desc, char* text, size_t size) {
  return format(std::bit_cast<rdma::MemoryDescriptor>(*desc), text, size);
}

int rte_pmd_chime_mem_desc_parse(const char* text, rte_pmd_chime_mem_desc* desc) {
  return give(desc, rdma::parse_memory(view(text)));
}

int rte_pmd_chime_exchange_accept(const char* where, uint32_t timeout_ms) {
  return give(rdma::accept_peer(where, timeout_ms));
}

int rte_pmd_chime_exchange_reach(const char* where, uint32_t timeout_ms) {
  return give(rdma::reach_peer(where, timeout_ms));
}

int rte_pmd_chime_exchange_endpoint(int fd, const rte_pmd_chime_endpoint* mine,
                                    rte_pmd_chime_endpoint* theirs, uint32_t timeout_ms) {
  return give(theirs, rdma::exchange_endpoint(fd, std::bit_cast<rdma::Endpoint>(*mine), timeout_ms));
}

int rte_pmd_chime_exchange_mem_desc(int fd, const rte_pmd_chime_mem_desc* mine,
                                    rte_pmd_chime_mem_desc* theirs, uint32_t timeout_ms) {
  return give(theirs, rdma::exchange_memory(fd, std::bit_cast<rdma::MemoryDescriptor>(*mine), timeout_ms));
}
}
