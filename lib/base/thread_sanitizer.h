// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What ThreadSanitizer can't see for itself: that a library which it does not look into, as EAL with its
/// alarms, hands one thread's writes to another. Without ThreadSanitizer all of this is nothing.

#if defined(__SANITIZE_THREAD__)
#define CHIME_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHIME_THREAD_SANITIZER 1
#endif
#endif
#ifndef CHIME_THREAD_SANITIZER
#define CHIME_THREAD_SANITIZER 0
#endif

#if CHIME_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace chime {

/// What this thread has written is for whoever calls taken_over() with the same address afterwards.
inline void handed_over([[maybe_unused]] const void* address) noexcept {
#if CHIME_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(address));
#endif
}

inline void taken_over([[maybe_unused]] const void* address) noexcept {
#if CHIME_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(address));
#endif
}

}  // namespace chime
