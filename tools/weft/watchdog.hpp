// Watchdog: says which case it was when `weft check` hangs or crashes, since nothing else can then.
#pragma once

#include <string>

namespace weft::command {

/// Until the next call, or stop_watching(): a crash of this process prints `line` on stderr, and so
/// does the passing of `seconds`, which ends the process.
void watch(const std::string& line, unsigned seconds);
void stop_watching();

}  // namespace weft::command
