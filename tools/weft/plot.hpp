// Starts the Python helpers that draw with Matplotlib.
#pragma once

#include <string>
#include <vector>

namespace weft::command {

struct SpectrumPlot {
  std::string csv;    ///< what to draw: columns k, E, modes
  std::string image;  ///< where to
  std::string title;
  double complete_up_to = 0;  ///< largest k whose shell is complete
};

/// Runs tools/plot/`name` with `arguments`; empty on success, else one line that says why there is
/// no plot and what would help. On one rank.
std::string run_helper(const std::string& name, const std::vector<std::string>& arguments);

/// Draws; empty on success, else one line that says why there is no plot and what would help. On
/// one rank.
std::string draw_spectrum(const SpectrumPlot& plot);

}  // namespace weft::command
