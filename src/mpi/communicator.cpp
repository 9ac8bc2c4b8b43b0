// Communicator: ownership of MPI communicators, small collectives, and agreement of all ranks on
// errors. Bulk data does not travel through here; that is what exchanges are for.
#include "mpi/communicator.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "base/checked.hpp"

namespace weft {
namespace {

struct Failure {
  std::int64_t code = 0;  // 0: none
  std::string message;
};

Failure run(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {static_cast<std::int64_t>(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return {static_cast<std::int64_t>(ErrorCode::out_of_memory), "the system gave no more memory"};
  } catch (const std::exception& error) {
    return {static_cast<std::int64_t>(ErrorCode::internal), error.what()};
  } catch (...) {
    return {static_cast<std::int64_t>(ErrorCode::internal),
            "an exception of unknown type was thrown"};
  }
}

std::string broadcast(const Communicator& comm, const std::string& text, int root) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT64_T, root, comm.get()), "MPI_Bcast");
  std::string result =
      comm.rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  check_mpi(
      MPI_Bcast(result.data(), to_int(length, "the length of a text"), MPI_CHAR, root, comm.get()),
      "MPI_Bcast");
  return result;
}

/// FNV-1a; the same on every machine, unlike std::hash.
std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char character : text)
    hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

/// The first position of the first line that differs, or the first difference within it.
std::size_t first_difference(std::string_view a, std::string_view b) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto line_ends = [at](std::string_view text) {
    return at >= text.size() || text[at] == '\n';
  };
  return line_ends(a) && line_ends(b) ? at + 1
                                      : at;  // then one text has a further line, the other has none
}

/// `has "..."`: the line of `text` in which position `at` lies, or of a long line the surroundings
/// of `at`.
std::string quoted_line(std::string_view text, std::size_t at) {
  constexpr std::size_t kBefore = 60;
  constexpr std::size_t kAfter = 100;
  if (at > text.size()) return "has nothing there";
  const std::size_t newline_before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t first = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  const std::size_t last = std::min(text.find('\n', at), text.size());
  if (first >= text.size()) return "has nothing there";
  const std::size_t begin = at - first > kBefore ? at - kBefore : first;
  const std::size_t end = last - at > kAfter ? at + kAfter : last;
  return std::string("has \"") + (begin > first ? "..." : "") +
         std::string(text.substr(begin, end - begin)) + (end < last ? "..." : "") + '"';
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::mpi_failure, std::string(call) + " failed: " +
                                          std::string(text, static_cast<std::size_t>(length)));
}

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Communicator Communicator::duplicate(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorCode::invalid_argument, "the communicator is MPI_COMM_NULL");
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return Communicator(copy);
}

Communicator Communicator::split(int color) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm_, color, rank_, &part), "MPI_Comm_split");
  return Communicator(part);
}

Communicator Communicator::split_node() const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part),
            "MPI_Comm_split_type");
  return Communicator(part);
}

Communicator::~Communicator() {
  if (comm_ == MPI_COMM_NULL) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Comm_free(&comm_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

double Communicator::max(double value) const { return max(std::vector<double>{value}).front(); }

std::vector<double> Communicator::max(std::vector<double> values) const {
  const int count = to_int(static_cast<std::int64_t>(values.size()), "the number of values");
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_MAX, comm_),
            "MPI_Allreduce");
  return values;
}

std::int64_t Communicator::max(std::int64_t value) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, comm_), "MPI_Allreduce");
  return value;
}

std::int64_t Communicator::min(std::int64_t value) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, comm_), "MPI_Allreduce");
  return value;
}

std::int64_t Communicator::sum(std::int64_t value) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm_), "MPI_Allreduce");
  return value;
}

std::vector<std::int64_t> Communicator::gather(const std::vector<std::int64_t>& values) const {
  std::vector<std::int64_t> all(values.size() * static_cast<std::size_t>(size_));
  const int count = to_int(static_cast<std::int64_t>(values.size()), "the number of values");
  check_mpi(MPI_Allgather(values.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, comm_),
            "MPI_Allgather");
  return all;
}

void Communicator::barrier() const { check_mpi(MPI_Barrier(comm_), "MPI_Barrier"); }

void Communicator::agree(const std::function<void()>& body) const {
  const Failure mine = run(body);
  const std::vector<std::int64_t> codes = gather({mine.code});
  const auto first =
      std::find_if(codes.begin(), codes.end(), [](std::int64_t code) { return code != 0; });
  if (first == codes.end()) return;
  const int failed = static_cast<int>(first - codes.begin());
  const std::string message = broadcast(*this, mine.message, failed);
  const bool alike = min(std::int64_t{mine.code == *first && mine.message == message}) == 1;
  throw Error(static_cast<ErrorCode>(*first),
              alike ? message : "rank " + std::to_string(failed) + ": " + message);
}

void Communicator::require_same(const std::string& text, const std::string& what) const {
  const std::vector<std::int64_t> prints =
      gather({hash_of(text), static_cast<std::int64_t>(text.size())});
  int other = 0;
  while (other < size_ &&
         std::equal(prints.begin(), prints.begin() + 2, prints.begin() + 2 * other))
    ++other;
  if (other == size_) return;
  const std::string first = broadcast(*this, text, 0);
  const std::string second = broadcast(*this, text, other);
  const std::size_t at = first_difference(first, second);
  throw Error(ErrorCode::rank_mismatch, what + " differ among the ranks: rank 0 " +
                                            quoted_line(first, at) + ", rank " +
                                            std::to_string(other) + ' ' + quoted_line(second, at));
}

}  // namespace weft
