// Datasets of HDF5 files by parallel HDF5: collective transfers of each rank's hyperslab, converted
// to double by HDF5.
#include <fmt/format.h>

#include "arguments.hpp"
#include "field_file.hpp"

#ifndef WEFT_HAVE_HDF5

namespace weft::command {

std::unique_ptr<FieldFile> open_hdf5(const World&, const std::string& path, const std::string&) {
  throw Error(
      ErrorCode::unavailable,
      fmt::format("'{}' is an HDF5 file, but this weft was built without parallel HDF5; install "
                  "libhdf5-openmpi-dev "
                  "(or the one of your MPI) and build again, or convert the dataset to .npy",
                  path));
}

}  // namespace weft::command

#else

#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::command {
namespace {

/// An HDF5 identifier with the function that closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  hid_t get() const noexcept { return id_; }
  bool valid() const noexcept { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

Shape shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(dimensions, 0)));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

/// Pairs of floating-point numbers are how h5py and others keep complex ones.
bool is_complex(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return false;
  return H5Tget_member_class(type, 0) == H5T_FLOAT && H5Tget_member_class(type, 1) == H5T_FLOAT;
}

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM || is_complex(type);
}

/// "int16", "big-endian float32", "complex128".
std::string name_of_type(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  if (is_complex(type)) return fmt::format("complex{}", bits);
  if (H5Tget_class(type) == H5T_ENUM) return "bool";
  const std::string order = H5Tget_order(type) == H5T_ORDER_BE && bits > 8 ? "big-endian " : "";
  if (H5Tget_class(type) == H5T_FLOAT) return fmt::format("{}float{}", order, bits);
  return fmt::format("{}{}int{}", order, H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
}

/// Double, or two of them under the names that the file gives to real and imaginary part.
hid_t make_memory_type(hid_t file_type) {
  if (!is_complex(file_type)) return H5Tcopy(H5T_NATIVE_DOUBLE);
  const hid_t result = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
  for (unsigned member = 0; member < 2; ++member) {
    char* name = H5Tget_member_name(file_type, member);
    H5Tinsert(result, name, member * sizeof(double), H5T_NATIVE_DOUBLE);
    H5free_memory(name);
  }
  return result;
}

/// Datasets of numbers, by their number of axes.
struct Found {
  std::vector<std::string> fields;  ///< two axes or more
  std::vector<std::string> lines;   ///< one axis
};

extern "C" herr_t collect_datasets(hid_t root, const char* name, const H5O_info_t* info,
                                   void* found) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  const Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) return 0;
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  if (!is_number(type.get())) return 0;
  const int dimensions = shape_of(dataset.get()).size();
  auto& names = *static_cast<Found*>(found);
  if (dimensions > 1) names.fields.emplace_back(name);
  if (dimensions == 1) names.lines.emplace_back(name);
  return 0;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The same on every rank, since every rank sees the same file.
std::string chosen_dataset(hid_t file, const std::string& path, const std::string& asked) {
  Found found;
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect_datasets, &found);
  const std::string plain = !asked.empty() && asked.front() == '/' ? asked.substr(1) : asked;
  if (contains(found.fields, plain) || contains(found.lines, plain)) return plain;
  if (found.fields.empty())
    throw Error(ErrorCode::io_failure,
                fmt::format("'{}' holds no dataset of numbers with two axes or more", path));
  if (asked.empty() && found.fields.size() == 1) return found.fields.front();
  throw UsageError(
      fmt::format("{}'{}' holds {}; choose one with --dataset NAME",
                  asked.empty() ? "" : fmt::format("there is no dataset '{}': ", asked), path,
                  fmt::join(found.fields, ", ")));
}

hid_t parallel_access(const World& world) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, world.comm(), MPI_INFO_NULL);
  return access;
}

hid_t collective_transfer() {
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  return transfer;
}

class Hdf5File : public FieldFile {
 public:
  Hdf5File(const World& world, const std::string& path, const std::string& dataset)
      : world_(world),
        path_(path),
        access_(parallel_access(world), H5Pclose),
        file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_.get()), H5Fclose),
        name_(open_name(dataset)),
        dataset_(H5Dopen2(file_.get(), name_.c_str(), H5P_DEFAULT), H5Dclose),
        type_(H5Dget_type(dataset_.get()), H5Tclose),
        memory_type_(make_memory_type(type_.get()), H5Tclose),
        transfer_(collective_transfer(), H5Pclose) {
    info_ = {shape_of(dataset_.get()), is_complex(type_.get()), name_of_type(type_.get())};
  }

  const FieldInfo& info() const override { return info_; }

  void read(const Box& box, const Consumer& consume, const Report& report) override {
    const std::vector<Box> pieces = split_box(box, kPiecePoints);
    const std::int64_t rounds = world_.max(static_cast<std::int64_t>(pieces.size()));
    std::string error;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const bool mine = round < static_cast<std::int64_t>(pieces.size());
      const Box piece = mine ? pieces[static_cast<std::size_t>(round)] : Box{};
      if (!read_piece(mine ? &piece : nullptr) && error.empty())
        error =
            fmt::format("rank {} cannot read dataset '{}' of '{}'", world_.rank(), name_, path_);
      if (mine && error.empty())
        consume({piece, row_major_strides(piece.extents()), values_.data()});
      report(static_cast<double>(round + 1) / static_cast<double>(rounds));
    }
    error = world_.first_text(error);
    if (!error.empty()) throw Error(ErrorCode::io_failure, error);
  }

 private:
  /// Collective.
  std::string open_name(const std::string& asked) const {
    const std::string error =
        world_.first_text(file_.valid() ? ""
                                        : fmt::format("rank {} cannot open '{}' as an HDF5 file",
                                                      world_.rank(), path_));
    if (!error.empty()) throw Error(ErrorCode::io_failure, error);
    return chosen_dataset(file_.get(), path_, asked);
  }

  static Extents row_major_strides(const Extents& extents) {
    Extents strides = Extents::filled(extents.size(), 1);
    for (int axis = extents.size() - 2; axis >= 0; --axis)
      strides[axis] = strides[axis + 1] * extents[axis + 1];
    return strides;
  }

  /// Collective; null on ranks that have nothing left to read.
  bool read_piece(const Box* piece) {
    const Handle file_space(H5Dget_space(dataset_.get()), H5Sclose);
    const hsize_t count = piece != nullptr ? static_cast<hsize_t>(piece->volume()) : 1;
    const Handle memory_space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    if (piece == nullptr) {
      H5Sselect_none(file_space.get());
      H5Sselect_none(memory_space.get());
    } else {
      const Extents extents = piece->extents();
      const std::vector<hsize_t> start(piece->lower.begin(), piece->lower.end());
      const std::vector<hsize_t> size(extents.begin(), extents.end());
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                          nullptr);
    }
    values_.resize(static_cast<std::size_t>(count) * (info_.complex ? 2 : 1));
    return H5Dread(dataset_.get(), memory_type_.get(), memory_space.get(), file_space.get(),
                   transfer_.get(), values_.data()) >= 0;
  }

  const World& world_;
  std::string path_;
  Handle access_;
  Handle file_;
  std::string name_;
  Handle dataset_;
  Handle type_;
  Handle memory_type_;
  Handle transfer_;
  FieldInfo info_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<FieldFile> open_hdf5(const World& world, const std::string& path,
                                     const std::string& dataset) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are told once, by us
  return std::make_unique<Hdf5File>(world, path, dataset);
}

}  // namespace weft::command

#endif
