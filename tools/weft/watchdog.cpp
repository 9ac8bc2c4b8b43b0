// Signal handlers that print one prepared line. See watchdog.hpp.
#include "watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace weft::command {
namespace {

/// Prepared beforehand: a signal handler may call write() and little else.
std::array<char, 1024> g_line;
std::size_t g_length = 0;

extern "C" void tell_and_end(int signal) {
  const char* what = signal == SIGALRM ? "weft: no end in sight: " : "weft: crashed: ";
  ssize_t written = write(STDERR_FILENO, what, std::strlen(what));
  written = write(STDERR_FILENO, g_line.data(), g_length);
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  if (signal == SIGALRM) _exit(1);
  raise(signal);
}

}  // namespace

void watch(const std::string& line, unsigned seconds) {
  g_length = std::min(line.size(), g_line.size() - 1);
  std::copy_n(line.data(), g_length, g_line.data());
  g_line[g_length++] = '\n';
  for (int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, tell_and_end);
  alarm(seconds);
}

void stop_watching() {
  alarm(0);
  for (int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, SIG_DFL);
}

}  // namespace weft::command
