// What the thread sanitizer cannot see and has to be told: that a team of OpenMP begins after what
// came before it and ends before what follows, since libgomp is not compiled with it. Without the
// sanitizer nothing of this is there.
#pragma once

#ifdef __SANITIZE_THREAD__

#include <sanitizer/tsan_interface.h>

/// For a function that opens a parallel region: what the compiler passes to the team is beyond any
/// annotation. What the team does belongs into functions of their own, which are checked.
#define WEFT_OPENS_TEAM __attribute__((no_sanitize("thread")))

namespace weft {

/// What this thread has done so far happens before what any thread does after acquire(order).
inline void release(void* order) { __tsan_release(order); }
inline void acquire(void* order) { __tsan_acquire(order); }

}  // namespace weft

#else

#define WEFT_OPENS_TEAM

namespace weft {

inline void release(void* /*order*/) {}
inline void acquire(void* /*order*/) {}

}  // namespace weft

#endif
