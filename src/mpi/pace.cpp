// What Linux has to be told for a thread to wake up in time.
#include "mpi/pace.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace weft {

#ifdef __linux__
namespace {

// struct sched_attr of linux/sched/types.h, first version; glibc has it from 2.41 on.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
constexpr std::uint64_t kShortestSliceNs = 100'000;  // the least that Linux takes

}  // namespace

// Who asks for short slices (Linux 6.12) may interrupt those with longer ones; its share of the
// core stays what it was. Older systems take no notice.
void wake_promptly() noexcept {
  prctl(PR_SET_TIMERSLACK, 1UL);
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0U) != 0) return;
  if (attributes.policy != 0) return;  // somebody has chosen another on purpose
  attributes.runtime_ns = kShortestSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0U);
}
#else
void wake_promptly() noexcept {}
#endif

}  // namespace weft
