// The progress line. See progress.hpp.
#include "progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace weft::command {

bool stderr_is_terminal() {
  if (const char* value = std::getenv(kTerminalVariable); value != nullptr) return value[0] == '1';
  return isatty(STDERR_FILENO) != 0;
}

void ProgressLine::update(const std::string& work, double done) {
  if (!shown_) return;
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (drawn_ && now - last_ < 0.1) return;
  last_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r\033[K{} {:.0f}%", work, 100.0 * done);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace weft::command
