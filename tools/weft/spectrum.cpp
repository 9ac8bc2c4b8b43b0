// `weft spectrum`: the isotropic power spectrum of a field in a file. Each rank reads, transforms
// and sums only its part.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include "field_file.hpp"
#include "npy_file.hpp"
#include "plot.hpp"
#include "progress_line.hpp"
#include "pseudo_random.hpp"
#include "shells.hpp"
#include "subcommand.hpp"
#include "units.hpp"
#include "weft/plan.hpp"

namespace weft::command {
namespace {

struct SpectrumArguments {
  std::string file;
  std::string dataset;
  std::string csv;   ///< empty: beside the name of the file, in the current folder
  std::string plot;  ///< the same
  bool no_plot = false;
  std::string modes;
  std::vector<double> lengths;
  std::string precision = "double";
  std::string exchange = "auto";
  std::string engine = "auto";
};

/// What was found, the same on every rank.
struct SpectrumResult {
  FieldInfo info;
  ShellGeometry geometry;
  ShellSums sums;
  double mean_square = 0;     ///< of the field's values
  double parseval_error = 0;  ///< |sum |X|^2 / N - sum |x|^2| / sum |x|^2
  double read_seconds = 0;
  double transform_seconds = 0;
  double sum_seconds = 0;
};

/// Puts values from a file into a rank's array and sums their squares.
template <class In>
class Loader {
 public:
  explicit Loader(Array<In>& array) : array_(array) {}

  void operator()(const FieldPiece& piece) {
    constexpr std::int64_t kScalars = kIsComplex<In> ? 2 : 1;
    using Real = typename RealOf<In>::type;
    const int last = piece.box.dimensions() - 1;
    for_each_row(piece.box, [&](const Index& first) {
      std::int64_t at = 0;
      for (int axis = 0; axis < last; ++axis)
        at += (first[axis] - piece.box.lower[axis]) * piece.strides[axis];
      In* row = &array_(first);
      for (std::int64_t j = 0; j < piece.box.extent(last); ++j) {
        const double* value = piece.values + kScalars * (at + j * piece.strides[last]);
        In& element = row[j * array_.strides()[last]];
        if constexpr (kIsComplex<In>)
          element = In(static_cast<Real>(value[0]), static_cast<Real>(value[1]));
        else
          element = static_cast<Real>(value[0]);
        squares_ += std::norm(std::complex<double>(element));
      }
    });
  }

  double squares() const { return static_cast<double>(squares_); }

 private:
  Array<In>& array_;
  long double squares_ = 0;
};

void check_shape(const std::string& path, const FieldInfo& info) {
  const int dimensions = info.shape.size();
  if (dimensions < 1 || info.shape.product() < 1)
    throw Error(
        ErrorCode::io_failure,
        fmt::format(
            "'{}' holds no field: its shape is ({}); it needs axes and at least one point", path,
            fmt::join(std::vector<std::int64_t>(info.shape.begin(), info.shape.end()), ", ")));
}

std::vector<double> lengths_of(const SpectrumArguments& arguments, const Shape& shape) {
  if (arguments.lengths.empty()) return {shape.begin(), shape.end()};
  if (arguments.lengths.size() != static_cast<std::size_t>(shape.size()))
    throw UsageError(fmt::format(
        "--length has {} numbers, but the field {} has {} axes; give one length per axis",
        arguments.lengths.size(), to_string(shape), shape.size()));
  return arguments.lengths;
}

/// Seconds of `work` on the slowest rank.
template <class Work>
double timed(const World& world, Work&& work) {
  const double start = MPI_Wtime();
  work();
  return world.max(MPI_Wtime() - start);
}

Options plan_options(const SpectrumArguments& arguments, const LaunchArguments& launch) {
  Options options;
  options.in_place = true;  // half the memory
  options.exchange = arguments.exchange;
  options.engine = arguments.engine;
  options.threads = launch.threads;
  return options;
}

template <class In>
SpectrumResult analyse(const World& world, const SpectrumArguments& arguments,
                       const LaunchArguments& launch, FieldFile& file) {
  SpectrumResult result;
  result.info = file.info();
  const Shape& shape = result.info.shape;
  result.geometry = ShellGeometry::from_lengths(shape, lengths_of(arguments, shape),
                                                kIsComplex<In> ? -1 : shape.size() - 1);
  ProgressLine progress(world.is_first());

  progress.update("planning", 0);
  Plan<In> plan(world.comm(), shape, plan_options(arguments, launch));
  Array<In> field = plan.make_input();
  Loader<In> loader(field);
  result.read_seconds = timed(world, [&] {
    file.read(
        field.box(), [&](const FieldPiece& piece) { loader(piece); },
        [&](double done) { progress.update("reading", done); });
  });
  const double squares = world.sum(loader.squares());
  if (!std::isfinite(squares))
    throw Error(
        ErrorCode::io_failure,
        fmt::format("'{}' holds values that are not finite (NaN or infinity)", arguments.file));
  progress.update("transforming", 0);
  auto spectrum = plan.output_in(field);
  result.transform_seconds = timed(world, [&] { plan.forward(field, spectrum); });
  progress.update("summing shells", 0);
  result.sum_seconds =
      timed(world, [&] { result.sums = sum_shells(world, result.geometry, spectrum); });
  const auto points = static_cast<double>(shape.product());
  result.mean_square = squares / points;
  result.parseval_error =
      squares > 0 ? std::abs(result.sums.total / points - squares) / squares : result.sums.total;
  if (!arguments.modes.empty()) {
    progress.update("writing modes", 0);
    write_npy(world, arguments.modes, spectrum);
  }
  return result;
}

SpectrumResult analyse_any(const World& world, const SpectrumArguments& arguments,
                           const LaunchArguments& launch, FieldFile& file) {
  if (arguments.precision == "single")
    return file.info().complex ? analyse<std::complex<float>>(world, arguments, launch, file)
                               : analyse<float>(world, arguments, launch, file);
  return file.info().complex ? analyse<std::complex<double>>(world, arguments, launch, file)
                             : analyse<double>(world, arguments, launch, file);
}

void write_csv(const std::string& path, const ShellSums& sums) {
  std::string text = "k,E,modes\n";
  for (std::size_t shell = 0; shell < sums.energy.size(); ++shell)
    if (sums.modes[shell] > 0)
      text += fmt::format("{},{:.17g},{}\n", shell, sums.energy[shell], sums.modes[shell]);
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", path));
}

std::string report(const SpectrumArguments& arguments, const SpectrumResult& result,
                   const World& world) {
  const auto shown = [&](const std::string& name, const std::string& value) {
    return fmt::format("{:<12}{}\n", name, value);
  };
  const FieldInfo& info = result.info;
  const auto longest =
      std::max_element(result.geometry.unit.begin(), result.geometry.unit.end(), std::greater<>());
  const auto axis = static_cast<std::size_t>(longest - result.geometry.unit.begin());
  const double length = arguments.lengths.empty()
                            ? static_cast<double>(info.shape[static_cast<int>(axis)])
                            : arguments.lengths[axis];
  std::string text =
      shown("field", fmt::format("{}, {} {}, {}", arguments.file, to_string(info.shape), info.type,
                                 counted(world.size(), "rank")));
  text += shown("shells",
                fmt::format("{}; k counts in units of 2 pi / {:g}; complete up to k = {:g}",
                            result.sums.energy.size(), length, result.geometry.complete_up_to()));
  text += shown("mean |x|^2", fmt::format("{:.12g} = sum of E(k)", result.mean_square));
  text +=
      shown("Parseval", fmt::format("sum |x|^2 = sum |X|^2 / N to {:.1e}", result.parseval_error));
  text += shown("seconds",
                fmt::format("read {:.3f}, transform {:.3f}, shells {:.3f}", result.read_seconds,
                            result.transform_seconds, result.sum_seconds));
  return text;
}

/// "brain_spectrum.csv" in the current folder for "data/brain.npy".
std::string default_name(const std::string& file, const char* extension) {
  return std::filesystem::path(file).stem().string() + "_spectrum" + extension;
}

/// On one rank. Throws Error(io_failure).
void publish(const SpectrumArguments& arguments, const SpectrumResult& result, const World& world) {
  const std::string csv =
      arguments.csv.empty() ? default_name(arguments.file, ".csv") : arguments.csv;
  write_csv(csv, result.sums);
  if (csv == "-") return;
  fmt::print("{}{:<12}{}\n", report(arguments, result, world), "spectrum", csv);
  if (!arguments.modes.empty()) fmt::print("{:<12}{}\n", "modes", arguments.modes);
  if (arguments.no_plot) return;
  const std::string image =
      arguments.plot.empty() ? default_name(arguments.file, ".png") : arguments.plot;
  if (!std::ofstream(image, std::ios::app))
    throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", image));
  std::fflush(stdout);
  const std::string trouble = draw_spectrum(
      {csv, image,
       fmt::format("{}, {}", std::filesystem::path(arguments.file).filename().string(),
                   to_string(result.info.shape)),
       result.geometry.complete_up_to()});
  if (trouble.empty()) {
    fmt::print("{:<12}{}\n", "plot", image);
    return;
  }
  fmt::print(stderr, "weft: {}\n", trouble);
  std::error_code ignored;
  if (std::filesystem::file_size(image, ignored) == 0) std::filesystem::remove(image, ignored);
}

int run_spectrum(const World& world, const SpectrumArguments& arguments,
                 const LaunchArguments& launch) {
  const std::unique_ptr<FieldFile> file = open_field(world, arguments.file, arguments.dataset);
  check_shape(arguments.file, file->info());
  const SpectrumResult result = analyse_any(world, arguments, launch, *file);
  std::string error;
  try {
    if (world.is_first()) publish(arguments, result, world);
  } catch (const Error& failure) {
    error = failure.what();
  }
  world.wait_politely();  // the first rank may be drawing
  error = world.broadcast(error);
  const double tolerance = arguments.precision == "single" ? 1e-4 : 1e-10;
  if (error.empty() && result.parseval_error > tolerance)
    error = fmt::format("Parseval's equation is off by {:.2g}; the transform is wrong",
                        result.parseval_error);
  return error.empty() ? kSuccess : world.fail(error, kFailure);
}

}  // namespace

Subcommand make_spectrum(CLI::App& parent) {
  auto arguments = std::make_shared<SpectrumArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "spectrum",
      "isotropic power spectrum of a .npy file or HDF5 dataset, as CSV and log-log plot");
  app->footer(
      "E(k) is the sum of |X|^2 / N^2 over the modes whose wavenumber rounds to k, so that the "
      "E(k) add up to the mean\n"
      "of |x|^2 (for a velocity component: twice its kinetic energy; E / modes is the power of one "
      "mode). Wavenumbers\n"
      "count in units of 2 pi / (longest length); without --length the points are one unit apart "
      "on every axis, and\n"
      "for a cube k is the usual integer wavenumber.");
  app->add_option("FILE", arguments->file,
                  "a .npy file or an HDF5 file: 1 to 6 axes, real or complex")
      ->required();
  launch->add_to(*app);
  app->add_option("--dataset", arguments->dataset,
                  "which dataset of an HDF5 file (needed when it has several)");
  app->add_option("--out", arguments->csv,
                  "CSV with columns k, E, modes (without it: FILE_spectrum.csv); - is stdout");
  app->add_option("--plot", arguments->plot,
                  "image of the log-log plot (without it: FILE_spectrum.png)");
  app->add_flag("--no-plot", arguments->no_plot, "write the CSV only");
  app->add_option("--modes", arguments->modes,
                  "also write the whole (for real fields: half) spectrum to this .npy file");
  app->add_option("--length", arguments->lengths, "physical length of each axis, such as 1,1,2")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app->add_option("--precision", arguments->precision, "of the transform: double or single")
      ->check(CLI::IsMember({"double", "single"}))
      ->capture_default_str();
  add_exchange_option(*app, arguments->exchange);
  add_engine_option(*app, arguments->engine);
  return {app, launch, [=](World& world) { return run_spectrum(world, *arguments, *launch); }};
}

}  // namespace weft::command
