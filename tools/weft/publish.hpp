// How a subcommand that measures hands out its result: a table on stdout, JSON, a plot.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "world.hpp"

namespace weft::command {

/// Where to, as the user said.
struct PublishArguments {
  std::string json;  ///< a file; - is stdout, in place of the table; empty: none
  std::string plot;  ///< an image; without extension both a .png and a .svg; empty: none

  void add_to(CLI::App& app);
};

/// On the first rank, while the others wait: prints `table`, writes `json` and lets `helper` (of
/// tools/plot) draw it. Collective over `world`; all ranks throw the same Error(io_failure). A plot
/// that cannot be drawn for want of Matplotlib is told on stderr and is no failure.
void publish(const World& world, const PublishArguments& arguments, const std::string& table,
             const nlohmann::ordered_json& json, const std::string& helper);

/// The same for a `file` and `images` that have names of their own, and no table.
void write_and_draw(const World& world, const std::string& file,
                    const std::vector<std::string>& images, const nlohmann::ordered_json& json,
                    const std::string& helper);

/// "64,1k,4M" -> {64, 1024, 4194304}: positive numbers of bytes, ascending, none twice. Throws
/// UsageError.
std::vector<std::int64_t> parse_byte_list(const std::string& text);

}  // namespace weft::command
