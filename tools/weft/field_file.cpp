// Tells file formats apart, and cuts boxes into pieces. See field_file.hpp.
#include "field_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace weft::command {
namespace {

using namespace std::string_view_literals;

constexpr auto kNpyMagic = "\x93NUMPY"sv;
constexpr auto kHdf5Magic = "\x89HDF\r\n\x1a\n"sv;

/// The first bytes of a file, or what is wrong with it.
struct Head {
  std::string bytes;
  std::string error;
};

Head read_head(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  Head head;
  head.bytes.resize(kHdf5Magic.size());
  if (file.read(head.bytes.data(), static_cast<std::streamsize>(head.bytes.size()))) return head;
  if (errno != 0)
    head.error = fmt::format("cannot read '{}': {}", path, std::strerror(errno));
  else
    head.error = fmt::format("'{}' is neither a .npy nor an HDF5 file: it has only {} bytes", path,
                             file.gcount());
  return head;
}

}  // namespace

std::unique_ptr<FieldFile> open_field(const World& world, const std::string& path,
                                      const std::string& dataset) {
  Head head;
  if (world.is_first()) head = read_head(path);
  head.error = world.broadcast(head.error);
  if (!head.error.empty()) throw Error(ErrorCode::io_failure, head.error);
  head.bytes = world.broadcast(head.bytes);
  const bool is_npy = std::string_view(head.bytes).substr(0, kNpyMagic.size()) == kNpyMagic;
  if (is_npy && !dataset.empty())
    throw UsageError(
        fmt::format("--dataset is for HDF5 files, but '{}' is a .npy file; leave it away", path));
  if (is_npy) return open_npy(world, path);
  if (head.bytes == kHdf5Magic) return open_hdf5(world, path, dataset);
  throw Error(ErrorCode::io_failure, fmt::format("'{}' is neither a .npy nor an HDF5 file", path));
}

std::vector<Box> split_box(const Box& box, std::int64_t points) {
  if (box.empty()) return {};
  if (box.volume() <= points) return {box};
  int axis = 0;
  while (box.extent(axis) == 1) ++axis;
  // All axes before this one have extent 1, so parts along it follow each other in row-major order.
  const std::int64_t slice = box.volume() / box.extent(axis);
  const std::int64_t thickness = std::max<std::int64_t>(1, points / slice);
  std::vector<Box> result;
  for (std::int64_t lower = box.lower[axis]; lower < box.upper[axis]; lower += thickness) {
    Box part = box;
    part.lower[axis] = lower;
    part.upper[axis] = std::min(lower + thickness, box.upper[axis]);
    for (const Box& piece : split_box(part, points)) result.push_back(piece);
  }
  return result;
}

}  // namespace weft::command
