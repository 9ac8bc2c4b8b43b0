// Writes results. See publish.hpp.
#include "publish.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "plot.hpp"

namespace weft::command {
namespace {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", path));
}

std::vector<std::string> images(const std::string& name) {
  if (!std::filesystem::path(name).extension().empty()) return {name};
  return {name + ".png", name + ".svg"};
}

/// The helper reads a file of its own, since the user may have asked for none.
void draw(const std::string& name, const std::string& text, const std::string& helper) {
  for (const std::string& image : images(name))
    if (!std::ofstream(image, std::ios::app))
      throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", image));
  const auto data = std::filesystem::temp_directory_path() / fmt::format("weft-{}.json", getpid());
  write_text(data, text);
  std::vector<std::string> arguments = {data};
  for (const std::string& image : images(name)) arguments.push_back(image);
  std::fflush(stdout);
  const std::string trouble = run_helper(helper, arguments);
  std::error_code ignored;
  std::filesystem::remove(data, ignored);
  if (trouble.empty()) return;
  fmt::print(stderr, "weft: {}\n", trouble);
  for (const std::string& image : images(name))
    if (std::filesystem::file_size(image, ignored) == 0) std::filesystem::remove(image, ignored);
}

void publish_here(const PublishArguments& arguments, const std::string& table,
                  const std::string& json, const std::string& helper) {
  fmt::print("{}", arguments.json == "-" ? json : table);
  if (!arguments.json.empty() && arguments.json != "-") write_text(arguments.json, json);
  if (arguments.plot.empty()) return;
  draw(arguments.plot, json, helper);
}

}  // namespace

void PublishArguments::add_to(CLI::App& app) {
  app.add_option("--json", json,
                 "write the result as JSON to this file, or instead of the table to - (stdout)");
  app.add_option("--plot", plot,
                 "draw it into this file, a .png or .svg; without extension into both");
}

void publish(const World& world, const PublishArguments& arguments, const std::string& table,
             const nlohmann::ordered_json& json, const std::string& helper) {
  std::string error;
  try {
    if (world.is_first()) publish_here(arguments, table, json.dump(2) + "\n", helper);
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  world.wait_politely();  // the first rank may be drawing
  error = world.broadcast(error);
  if (!error.empty()) throw Error(ErrorCode::io_failure, error);
}

std::vector<std::int64_t> parse_byte_list(const std::string& text) {
  std::vector<std::int64_t> result;
  for (const std::string& word : split_list(text)) {
    std::int64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    const std::string unit(stop, end);
    const bool known = unit.empty() || unit == "k" || unit == "M";
    const std::int64_t bytes = value * (unit == "M" ? 1 << 20 : unit == "k" ? 1 << 10 : 1);
    if (error != std::errc() || !known || value < 1 || value > 1 << 30 || bytes > 1 << 30)
      throw UsageError(fmt::format(
          "'{}' is not a number of bytes from 1 to 1024M, such as 64, 16k or 1M", word));
    result.push_back(bytes);
  }
  if (result.empty()) throw UsageError("--bytes needs numbers, such as 64,16k,1M");
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace weft::command
