// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What dpdk-pmdinfo.py prints of a plugin. DPDK's own build makes this text with a tool that it does not
 * install, so an out-of-tree driver writes it itself, with a driver SDK or without.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus

namespace chime::net {

/** Whether a literal can stand in the JSON text as it is, and dpdk-pmdinfo.py finds it: plain ASCII,
 * unquoted. */
template <size_t size>
consteval bool plain_pmd_text(const char (&text)[size]) {
  for (size_t i = 0; i + 1 < size; ++i)
    if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\') return false;
  return true;
}

}  // namespace chime::net

/**
 * Describes the virtual device driver `nm` (a plain name) and its arguments (a string literal) to
 * dpdk-pmdinfo.py. The tool searches .rodata and insists on a list of PCI identifiers. The symbol has default
 * visibility, or link-time optimisation drops it; a version script may still make it local.
 */
#define CHIME_PMD_INFO(nm, params)                                                                       \
  static_assert(chime::net::plain_pmd_text(params), "pmd info: only printable ASCII without \" and \\"); \
  extern "C" __attribute__((visibility("default"))) const char nm##_pmd_info[];                          \
  __attribute__((used)) const char nm##_pmd_info[] =                                                     \
      "PMD_INFO_STRING= {\"name\": \"" #nm "\", \"params\": \"" params "\", \"pci_ids\": []}"

#endif
