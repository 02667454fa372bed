// SPDX-License-Identifier: BSD-3-Clause
// All that the kernel's headers say about the device's interface, for their debug information alone:
// compare-kernel reads structs and enumerations from it.
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define PAGE_SIZE 4096
#define IB_WC_GRH 1

// The second needs the first.
// clang-format off
#include "mlx5_ifc.h"
#include "kernel-enums.h"
// clang-format on

int main(void) {
  return 0;
}
