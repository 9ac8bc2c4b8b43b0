// ProgressLine: one line on stderr that says how far long work has come. Quiet when nobody watches
// a terminal.
#pragma once

#include <string>

namespace weft::command {

/// Set by the launcher for the ranks that it starts: "1" when the user's stderr is a terminal.
inline constexpr const char* kTerminalVariable = "WEFT_TERMINAL";

/// Whether the user sees this process's stderr on a terminal.
bool stderr_is_terminal();

class ProgressLine {
 public:
  /// Shows something only on the rank where `enabled` is true, and only when stderr is a terminal.
  explicit ProgressLine(bool enabled) : shown_(enabled && stderr_is_terminal()) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// "reading 42%" for done = 0.42. Cheap: draws at most ten times a second.
  void update(const std::string& work, double done);
  void clear();

 private:
  bool shown_;
  bool drawn_ = false;
  double last_ = -1;
};

}  // namespace weft::command
