// MPI's non-blocking all-to-alls, one class each. See nonblocking.hpp.
#include "nonblocking.hpp"

#include <algorithm>

#include "world.hpp"

#if MPI_VERSION < 4 && defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace weft::command {
namespace {

/// What `from` sends to `to`: one value, so that a block in the wrong place shows.
unsigned char mark(int from, int to) {
  return static_cast<unsigned char>(1 + (from * 31 + to) % 255);
}

class Ialltoall final : public Nonblocking {
 public:
  using Nonblocking::Nonblocking;
  void start() override {
    check_mpi(MPI_Ialltoall(send_.data(), bytes_, MPI_BYTE, receive_.data(), bytes_, MPI_BYTE,
                            comm_, requests_.data()),
              "MPI_Ialltoall");
  }
};

class Ialltoallv final : public Nonblocking {
 public:
  using Nonblocking::Nonblocking;
  void start() override {
    check_mpi(
        MPI_Ialltoallv(send_.data(), counts_.data(), offsets_.data(), MPI_BYTE, receive_.data(),
                       counts_.data(), offsets_.data(), MPI_BYTE, comm_, requests_.data()),
        "MPI_Ialltoallv");
  }
};

/// Each rank begins with its successor, so that not all send to the same one first.
class Pairwise final : public Nonblocking {
 public:
  Pairwise(MPI_Comm comm, int bytes) : Nonblocking(comm, bytes) {
    requests_.assign(2 * static_cast<std::size_t>(ranks_), MPI_REQUEST_NULL);
  }
  void start() override {
    auto request = requests_.begin();
    for (int step = 1; step <= ranks_; ++step) {
      const int from = (rank_ + ranks_ - step) % ranks_;
      check_mpi(MPI_Irecv(receive_.data() + offsets_[static_cast<std::size_t>(from)], bytes_,
                          MPI_BYTE, from, 0, comm_, &*request++),
                "MPI_Irecv");
    }
    for (int step = 1; step <= ranks_; ++step) {
      const int to = (rank_ + step) % ranks_;
      check_mpi(MPI_Isend(send_.data() + offsets_[static_cast<std::size_t>(to)], bytes_, MPI_BYTE,
                          to, 0, comm_, &*request++),
                "MPI_Isend");
    }
  }
};

/// One collective call for each root: every rank scatters its part.
class Iscatterv final : public Nonblocking {
 public:
  Iscatterv(MPI_Comm comm, int bytes) : Nonblocking(comm, bytes) {
    requests_.assign(static_cast<std::size_t>(ranks_), MPI_REQUEST_NULL);
  }
  void start() override {
    for (int root = 0; root < ranks_; ++root) {
      const auto at = static_cast<std::size_t>(root);
      check_mpi(MPI_Iscatterv(send_.data(), counts_.data(), offsets_.data(), MPI_BYTE,
                              receive_.data() + offsets_[at], bytes_, MPI_BYTE, root, comm_,
                              &requests_[at]),
                "MPI_Iscatterv");
    }
  }
};

// MPI 4 has persistent collectives; Open MPI 4 has them as an extension of MPI 3.
#if MPI_VERSION >= 4
#define WEFT_ALLTOALLV_INIT MPI_Alltoallv_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define WEFT_ALLTOALLV_INIT MPIX_Alltoallv_init
#endif

#ifdef WEFT_ALLTOALLV_INIT
class Persistent final : public Nonblocking {
 public:
  Persistent(MPI_Comm comm, int bytes) : Nonblocking(comm, bytes) {
    check_mpi(WEFT_ALLTOALLV_INIT(send_.data(), counts_.data(), offsets_.data(), MPI_BYTE,
                                  receive_.data(), counts_.data(), offsets_.data(), MPI_BYTE, comm_,
                                  MPI_INFO_NULL, requests_.data()),
              "MPI_Alltoallv_init");
  }
  ~Persistent() override { MPI_Request_free(requests_.data()); }
  void start() override { check_mpi(MPI_Start(requests_.data()), "MPI_Start"); }
};
constexpr const char* kPersistentRefusal = "";
#else
using Persistent = Ialltoallv;  // never made
constexpr const char* kPersistentRefusal = "this MPI has no persistent collectives";
#endif

template <class Method>
std::unique_ptr<Nonblocking> make(MPI_Comm comm, int bytes) {
  return std::make_unique<Method>(comm, bytes);
}

}  // namespace

Nonblocking::Nonblocking(MPI_Comm comm, int bytes) : comm_(comm), bytes_(bytes) {
  check_mpi(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  const auto ranks = static_cast<std::size_t>(ranks_);
  const auto length = static_cast<std::size_t>(bytes_);
  receive_.assign(ranks * length, 0);
  counts_.assign(ranks, bytes_);
  requests_.assign(1, MPI_REQUEST_NULL);
  for (int peer = 0; peer < ranks_; ++peer) {
    offsets_.push_back(peer * bytes_);
    send_.insert(send_.end(), length, mark(rank_, peer));
  }
}

bool Nonblocking::test() {
  int done = 0;
  check_mpi(
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  return done != 0;
}

void Nonblocking::wait() {
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
}

bool Nonblocking::received_rightly() {
  bool right = true;
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto first = receive_.begin() + offsets_[static_cast<std::size_t>(peer)];
    right = right && std::all_of(first, first + bytes_,
                                 [&](unsigned char byte) { return byte == mark(peer, rank_); });
  }
  std::fill(receive_.begin(), receive_.end(), static_cast<unsigned char>(0));
  return right;
}

const std::vector<NonblockingMethod>& nonblocking_methods() {
  static const std::vector<NonblockingMethod> methods = {
      {"ialltoall", "", make<Ialltoall>}, {"ialltoallv", "", make<Ialltoallv>},
      {"pairwise", "", make<Pairwise>},   {"persistent", kPersistentRefusal, make<Persistent>},
      {"scatterv", "", make<Iscatterv>},
  };
  return methods;
}

}  // namespace weft::command
