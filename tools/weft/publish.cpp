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
void draw(const std::vector<std::string>& images, const std::string& text,
          const std::string& helper) {
  for (const std::string& image : images)
    if (!std::ofstream(image, std::ios::app))
      throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", image));
  const auto data = std::filesystem::temp_directory_path() / fmt::format("weft-{}.json", getpid());
  write_text(data, text);
  std::vector<std::string> arguments = {data};
  arguments.insert(arguments.end(), images.begin(), images.end());
  std::fflush(stdout);
  const std::string trouble = run_helper(helper, arguments);
  std::error_code ignored;
  std::filesystem::remove(data, ignored);
  if (trouble.empty()) return;
  fmt::print(stderr, "weft: {}\n", trouble);
  for (const std::string& image : images)
    if (std::filesystem::file_size(image, ignored) == 0) std::filesystem::remove(image, ignored);
}

/// Runs `work` on the first rank, while the others wait; its failure becomes that of all.
template <class Work>
void on_the_first(const World& world, Work&& work) {
  std::string error;
  try {
    if (world.is_first()) work();
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  world.wait_politely();  // the first rank may be drawing
  error = world.broadcast(error);
  if (!error.empty()) throw Error(ErrorCode::io_failure, error);
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
  on_the_first(world, [&] {
    const std::string text = json.dump(2) + "\n";
    fmt::print("{}", arguments.json == "-" ? text : table);
    if (!arguments.json.empty() && arguments.json != "-") write_text(arguments.json, text);
    if (!arguments.plot.empty()) draw(images(arguments.plot), text, helper);
  });
}

void write_and_draw(const World& world, const std::string& file,
                    const std::vector<std::string>& images, const nlohmann::ordered_json& json,
                    const std::string& helper) {
  on_the_first(world, [&] {
    const std::string text = json.dump() + "\n";
    write_text(file, text);
    draw(images, text, helper);
  });
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
