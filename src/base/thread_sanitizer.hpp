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

/// What this thread has done so far happens before what any thread does that has called
/// happens_after() with the same address since.
inline void happens_before(void* address) { __tsan_release(address); }
inline void happens_after(void* address) { __tsan_acquire(address); }

}  // namespace weft

#else

#define WEFT_OPENS_TEAM

namespace weft {

inline void happens_before(void* /*address*/) {}
inline void happens_after(void* /*address*/) {}

}  // namespace weft

#endif
