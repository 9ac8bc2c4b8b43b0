// .npy files by MPI-IO: a file view shows each rank only its box, so that its elements look
// contiguous.
#include "npy_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "field_file.hpp"
#include "npy.hpp"

namespace weft::command {
namespace {

/// An MPI file, closed at the end of the scope.
class MpiFile {
 public:
  /// Collective over `world`. Throws Error(io_failure) on all ranks.
  MpiFile(const World& world, const std::string& path, int mode) {
    const int code = MPI_File_open(world.comm(), path.c_str(), mode, MPI_INFO_NULL, &file_);
    std::string error;
    if (code != MPI_SUCCESS)
      error = fmt::format("rank {} cannot open '{}': {}", world.rank(), path, text_of(code));
    error = world.first_text(error);
    if (!error.empty()) throw Error(ErrorCode::io_failure, error);
  }
  ~MpiFile() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  MPI_File get() const noexcept { return file_; }

  static std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return {text, static_cast<std::size_t>(length)};
  }

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

class Datatype {
 public:
  Datatype() = default;
  ~Datatype() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  MPI_Datatype* address() noexcept { return &type_; }
  MPI_Datatype get() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Shows through `file` only `box` of an array of `shape` in C order. An empty box sees everything
/// and reads nothing.
class BoxView {
 public:
  BoxView(const MpiFile& file, std::int64_t data_offset, std::int64_t element_bytes,
          const Shape& shape, const Box& box) {
    check_mpi(MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, element_.address()),
              "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(element_.address()), "MPI_Type_commit");
    MPI_Datatype visible = element_.get();
    if (!box.empty()) {
      make_subarray(shape, box);
      visible = subarray_.get();
    }
    check_mpi(MPI_File_set_view(file.get(), data_offset, element_.get(), visible, "native",
                                MPI_INFO_NULL),
              "MPI_File_set_view");
  }

  MPI_Datatype element() const noexcept { return element_.get(); }

 private:
  void make_subarray(const Shape& shape, const Box& box) {
    std::vector<int> sizes;
    std::vector<int> extents;
    std::vector<int> starts;
    for (int axis = 0; axis < shape.size(); ++axis) {
      sizes.push_back(static_cast<int>(shape[axis]));
      extents.push_back(static_cast<int>(box.extent(axis)));
      starts.push_back(static_cast<int>(box.lower[axis]));
    }
    check_mpi(MPI_Type_create_subarray(shape.size(), sizes.data(), extents.data(), starts.data(),
                                       MPI_ORDER_C, element_.get(), subarray_.address()),
              "MPI_Type_create_subarray");
    check_mpi(MPI_Type_commit(subarray_.address()), "MPI_Type_commit");
  }

  Datatype element_;
  Datatype subarray_;
};

Extents row_major_strides(const Extents& extents) {
  Extents strides = Extents::filled(extents.size(), 1);
  for (int axis = extents.size() - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * extents[axis + 1];
  return strides;
}

Extents reversed(const Extents& extents) {
  Extents result;
  for (int axis = extents.size() - 1; axis >= 0; --axis) result.push_back(extents[axis]);
  return result;
}

class NpyFile : public FieldFile {
 public:
  NpyFile(const World& world, const std::string& path, NpyHeader header)
      : world_(world),
        path_(path),
        header_(std::move(header)),
        file_(world, path, MPI_MODE_RDONLY) {
    info_ = {header_.shape, header_.complex, header_.type};
    MPI_Offset size = 0;
    check_mpi(MPI_File_get_size(file_.get(), &size), "MPI_File_get_size");
    const std::int64_t needed =
        header_.data_offset + header_.shape.product() * header_.element_bytes;
    if (size < needed)
      throw Error(ErrorCode::io_failure,
                  fmt::format("'{}' is truncated: it has {} bytes, but its header promises {}",
                              path, static_cast<std::int64_t>(size), needed));
  }

  const FieldInfo& info() const override { return info_; }

  void read(const Box& box, const Consumer& consume, const Report& report) override {
    // In the file's own axis order everything below is row-major.
    const Shape shape = in_file_order(header_.shape);
    const Box file_box{in_file_order(box.lower), in_file_order(box.upper)};
    const std::vector<Box> pieces = split_box(file_box, kPiecePoints);
    const BoxView view(file_, header_.data_offset, header_.element_bytes, shape, file_box);
    const std::int64_t rounds = world_.max(static_cast<std::int64_t>(pieces.size()));
    std::int64_t elements_before = 0;
    std::string error;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const bool mine = round < static_cast<std::int64_t>(pieces.size());
      const std::int64_t points = mine ? pieces[static_cast<std::size_t>(round)].volume() : 0;
      if (!read_raw(elements_before, points, view.element(), error)) continue;
      if (mine) deliver(pieces[static_cast<std::size_t>(round)], points, consume);
      elements_before += points;
      report(static_cast<double>(round + 1) / static_cast<double>(rounds));
    }
    error = world_.first_text(error);
    if (!error.empty()) throw Error(ErrorCode::io_failure, error);
  }

 private:
  Extents in_file_order(const Extents& extents) const {
    return header_.fortran_order ? reversed(extents) : extents;
  }

  /// Collective, so that it goes on also after an error.
  bool read_raw(std::int64_t offset, std::int64_t points, MPI_Datatype element,
                std::string& error) {
    raw_.resize(static_cast<std::size_t>(points * header_.element_bytes));
    MPI_Status status;
    const int code = MPI_File_read_at_all(file_.get(), offset, raw_.data(),
                                          static_cast<int>(points), element, &status);
    int got = 0;
    if (code == MPI_SUCCESS) MPI_Get_count(&status, element, &got);
    if (code != MPI_SUCCESS && error.empty())
      error =
          fmt::format("rank {} cannot read '{}': {}", world_.rank(), path_, MpiFile::text_of(code));
    else if (got != points && error.empty())
      error =
          fmt::format("rank {} got {} of {} elements from '{}'", world_.rank(), got, points, path_);
    return error.empty();
  }

  void deliver(const Box& file_piece, std::int64_t points, const Consumer& consume) {
    const std::int64_t scalars = points * (header_.complex ? 2 : 1);
    values_.resize(static_cast<std::size_t>(scalars));
    header_.to_double(raw_.data(), scalars, header_.swap, values_.data());
    consume({{in_file_order(file_piece.lower), in_file_order(file_piece.upper)},
             in_file_order(row_major_strides(file_piece.extents())),
             values_.data()});
  }

  const World& world_;
  std::string path_;
  NpyHeader header_;
  FieldInfo info_;
  MpiFile file_;
  std::vector<std::byte> raw_;
  std::vector<double> values_;
};

/// On one rank. Throws Error(io_failure) that names the file.
NpyHeader read_header(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  std::string start(static_cast<std::size_t>(kNpyPreambleBytes), '\0');
  file.read(start.data(), kNpyPreambleBytes);
  const NpyPreamble preamble = parse_npy_preamble(start);
  constexpr std::int64_t kLongest = 1 << 20;
  text.resize(static_cast<std::size_t>(std::min(preamble.header_bytes, kLongest)));
  file.seekg(preamble.header_offset);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw Error(ErrorCode::io_failure, "the file ends within its .npy header");
  return parse_npy_header(text, preamble.header_offset + preamble.header_bytes);
}

template <class Real>
void gather(const Array<std::complex<Real>>& array, const Box& piece,
            std::vector<std::complex<Real>>& values) {
  values.clear();
  for_each_index(piece, [&](const Index& index) { values.push_back(array(index)); });
}

}  // namespace

std::unique_ptr<FieldFile> open_npy(const World& world, const std::string& path) {
  std::string text;
  std::string error;
  std::int64_t data_offset = 0;
  if (world.is_first()) {
    try {
      data_offset = read_header(path, text).data_offset;
    } catch (const Error& failure) {
      error = fmt::format("cannot read '{}': {}", path, failure.what());
    }
  }
  error = world.broadcast(error);
  if (!error.empty()) throw Error(ErrorCode::io_failure, error);
  text = world.broadcast(text);
  return std::make_unique<NpyFile>(world, path, parse_npy_header(text, world.max(data_offset)));
}

template <class Real>
void write_npy(const World& world, const std::string& path,
               const Array<std::complex<Real>>& array) {
  using Element = std::complex<Real>;
  const Shape& shape = array.layout().shape();
  const std::string header = format_npy_header(shape, sizeof(Real) == 8 ? "c16" : "c8");
  const MpiFile file(world, path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  int code = MPI_File_set_size(file.get(), 0);
  if (world.is_first() && code == MPI_SUCCESS)
    code = MPI_File_write_at(file.get(), 0, header.data(), static_cast<int>(header.size()),
                             MPI_BYTE, MPI_STATUS_IGNORE);

  const std::vector<Box> pieces = split_box(array.box(), kPiecePoints);
  const BoxView view(file, static_cast<std::int64_t>(header.size()), sizeof(Element), shape,
                     array.box());
  const std::int64_t rounds = world.max(static_cast<std::int64_t>(pieces.size()));
  std::int64_t elements_before = 0;
  std::vector<Element> values;
  for (std::int64_t round = 0; round < rounds; ++round) {
    values.clear();
    if (round < static_cast<std::int64_t>(pieces.size()))
      gather(array, pieces[static_cast<std::size_t>(round)], values);
    const int written =
        MPI_File_write_at_all(file.get(), elements_before, values.data(),
                              static_cast<int>(values.size()), view.element(), MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = written;
    elements_before += static_cast<std::int64_t>(values.size());
  }
  const std::string error = world.first_text(
      code == MPI_SUCCESS ? ""
                          : fmt::format("rank {} cannot write '{}': {}", world.rank(), path,
                                        MpiFile::text_of(code)));
  if (!error.empty()) throw Error(ErrorCode::io_failure, error);
}

template void write_npy<float>(const World&, const std::string&, const Array<std::complex<float>>&);
template void write_npy<double>(const World&, const std::string&,
                                const Array<std::complex<double>>&);

}  // namespace weft::command
