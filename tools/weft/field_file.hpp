// FieldFile: a scalar field in a file, of which every rank reads its own box. Formats differ behind
// this interface; values arrive as double whatever their type in the file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/extents.hpp"
#include "world.hpp"

namespace weft::command {

struct FieldInfo {
  Shape shape;
  bool complex = false;
  std::string type;  ///< as people say it: "uint8", "big-endian float32"
};

/// A part of the field, as read. Element with global index g is at values[sum_a (g[a] -
/// box.lower[a]) * strides[a]], a complex element taking two doubles (and its strides count
/// elements).
struct FieldPiece {
  Box box;
  Extents strides;
  const double* values = nullptr;
};

class FieldFile {
 public:
  using Consumer = std::function<void(const FieldPiece&)>;
  using Report = std::function<void(double done)>;

  virtual ~FieldFile() = default;
  virtual const FieldInfo& info() const = 0;

  /// Reads `box` in pieces of a few megabytes, each given once to `consume`; tells `report` how far
  /// it is. Collective: every rank calls it, also with an empty box. Throws Error(io_failure) on
  /// all ranks.
  virtual void read(const Box& box, const Consumer& consume, const Report& report) = 0;
};

/// Opens a .npy file, or a dataset of an HDF5 file; which of both it is, its first bytes tell.
///
/// `dataset` may be empty when the HDF5 file has only one dataset of numbers. Collective.
/// Throws Error(io_failure), UsageError (unknown dataset), Error(unavailable) (no HDF5 here).
std::unique_ptr<FieldFile> open_field(const World& world, const std::string& path,
                                      const std::string& dataset);

std::unique_ptr<FieldFile> open_npy(const World& world, const std::string& path);
std::unique_ptr<FieldFile> open_hdf5(const World& world, const std::string& path,
                                     const std::string& dataset);

/// `box` cut into boxes of at most `points` points that follow each other in row-major order; empty
/// for an empty box.
std::vector<Box> split_box(const Box& box, std::int64_t points);

/// Points in one piece: 16 MB of complex doubles.
inline constexpr std::int64_t kPiecePoints = std::int64_t{1} << 20;

}  // namespace weft::command
