// The exchange by one-sided communication: each rank puts its blocks straight into the receive
// memory of the others. Pays on networks that write remote memory by themselves, since nothing has
// to be matched or copied at the target.
//
// One window per exchange lies over the receive memory, and units use it one after another: a unit
// posts the window to those that will put into it, starts an access epoch to those that it puts to,
// and completes it; MPI_Win_wait at the target is the one synchronisation that tells that all has
// arrived. A stage may be reading the memory until its unit starts, and nobody can put before the
// window is posted, so no put comes too early. Starting a unit blocks until the peers have started
// it too (MPI_Win_complete may wait for their posts); all start the units in the same order, so all
// get there.
#include <utility>

#include "base/checked.hpp"
#include "exchange/message_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

/// Ranks that take part in an epoch.
class OwnedGroup {
 public:
  OwnedGroup() = default;
  OwnedGroup(MPI_Comm comm, const std::vector<int>& ranks) {
    MPI_Group all = MPI_GROUP_NULL;
    check_mpi(MPI_Comm_group(comm, &all), "MPI_Comm_group");
    const int made = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group_);
    MPI_Group_free(&all);
    check_mpi(made, "MPI_Group_incl");
  }
  ~OwnedGroup() {
    int finalized = 0;
    if (group_ == MPI_GROUP_NULL || group_ == MPI_GROUP_EMPTY) return;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Group_free(&group_);
  }
  OwnedGroup(OwnedGroup&& other) noexcept : group_(std::exchange(other.group_, MPI_GROUP_NULL)) {}
  OwnedGroup& operator=(OwnedGroup&& other) noexcept {
    std::swap(group_, other.group_);
    return *this;
  }
  MPI_Group get() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

class RmaExchange final : public MessageExchange {
 public:
  explicit RmaExchange(ExchangeProblem problem);
  ~RmaExchange() override;

  ExchangeMemory memory() const override {
    ExchangeMemory memory = MessageExchange::memory();
    memory.fixed = true;
    return memory;
  }
  void attach(const ExchangeBuffers& buffers) override;
  void begin(std::int64_t call, std::span<std::byte* const> bases) override;
  void open() override {}  // puts have left their memory when start() returns
  void start(int unit) override;
  void progress() override { arrived(); }
  bool ready(int unit) override { return unit != exposed_ || arrived(); }
  void wait(int unit) override {
    if (unit == exposed_) wait_for_puts();
  }
  void release(int /*unit*/) override {}

 private:
  /// Where a rank wants this one's block, from the start of its window.
  struct Target {
    std::int64_t field_bytes = 0;
    std::vector<std::int64_t> offset_of_chunk;
  };
  struct Chunk {
    std::vector<Message> puts;
    OwnedGroup sources;
    OwnedGroup targets;
    bool receives = false;
  };
  static constexpr int kNone = -1;

  void exchange_places();
  void make_window(std::int64_t bytes);
  bool arrived();
  void wait_for_puts();

  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<Chunk> chunks_;
  std::vector<Target> targets_;  // of each rank
  int exposed_ = kNone;          // the unit that others may be putting into this rank's memory
  bool accessing_ = false;       // left true only by an error
};

RmaExchange::RmaExchange(ExchangeProblem problem)
    : MessageExchange(std::move(problem), Peers::all, kMostGranules) {
  const auto peers_of = [](const std::vector<Message>& messages) {
    std::vector<int> peers;
    for (const Message& message : messages) peers.push_back(message.peer);
    return peers;
  };
  const MPI_Comm comm = this->problem().comm->get();
  for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
    const std::vector<int> sources = peers_of(receives_around(chunk));
    Chunk& now = chunks_.emplace_back();
    now.puts = sends_around(chunk);
    now.receives = !sources.empty();
    now.sources = OwnedGroup(comm, sources);
    now.targets = OwnedGroup(comm, peers_of(now.puts));
  }
  exchange_places();
}

// Freeing a window is collective and needs its epochs closed. After an error one may be open, and
// the others may never come: the window is then left to MPI.
RmaExchange::~RmaExchange() {
  int finalized = 0;
  if (window_ == MPI_WIN_NULL || exposed_ != kNone || accessing_) return;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Win_free(&window_);
}

// Each rank tells each other where the blocks from that rank belong.
void RmaExchange::exchange_places() {
  const auto ranks = static_cast<std::size_t>(problem().comm->size());
  const auto chunks = static_cast<std::size_t>(problem().chunks);
  const std::size_t each = chunks + 1;
  std::vector<std::int64_t> mine(ranks * each, 0);
  std::vector<std::int64_t> theirs(ranks * each, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    mine[rank * each + chunks] = receive_area().field_bytes();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    for (const Message& message : receives_around(static_cast<int>(chunk)))
      mine[static_cast<std::size_t>(message.peer) * each + chunk] =
          receive_area().unit_offset(static_cast<int>(chunk)) + message.offset;
  const int count = to_int(static_cast<std::int64_t>(each), "the number of chunks");
  check_mpi(MPI_Alltoall(mine.data(), count, MPI_INT64_T, theirs.data(), count, MPI_INT64_T,
                         problem().comm->get()),
            "MPI_Alltoall");
  for (auto at = theirs.begin(); at != theirs.end(); at += static_cast<std::ptrdiff_t>(each))
    targets_.push_back(
        {at[static_cast<std::ptrdiff_t>(chunks)], {at, at + static_cast<std::ptrdiff_t>(chunks)}});
}

void RmaExchange::attach(const ExchangeBuffers& buffers) {
  MessageExchange::attach(buffers);
  bind_fixed();
  const std::int64_t bytes = receive_area().field_bytes() * problem().fields;
  if (problem().comm->max(bytes) == 0) return;  // nobody has anything to put
  make_window(bytes);
  check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
}

// Whether ranks can have a window together shows only when they try: Open MPI 4 cannot over TCP
// when it is configured without its component osc/pt2pt.
void RmaExchange::make_window(std::int64_t bytes) {
  const int code =
      MPI_Win_create(bytes > 0 ? receive_memory() : nullptr, static_cast<MPI_Aint>(bytes), 1,
                     MPI_INFO_NULL, problem().comm->get(), &window_);
  try {
    problem().comm->agree([&] {
      try {
        check_mpi(code, "MPI_Win_create");
      } catch (const Error& error) {
        throw Error(ErrorCode::unavailable,
                    std::string("exchange \"rma\": this MPI has no one-sided communication between "
                                "these ranks (") +
                        error.what() + "); " + others_that_can(problem(), "rma"));
      }
    });
  } catch (...) {
    window_ = MPI_WIN_NULL;  // freeing it would wait for ranks that have none
    throw;
  }
}

void RmaExchange::begin(std::int64_t /*call*/, std::span<std::byte* const> bases) {
  require_fixed(bases);
}

void RmaExchange::start(int unit) {
  if (exposed_ != kNone) wait_for_puts();
  const Chunk& chunk = chunks_[static_cast<std::size_t>(chunk_of_unit(unit))];
  const int field = unit / problem().chunks;
  if (chunk.receives) {
    check_mpi(MPI_Win_post(chunk.sources.get(), 0, window_), "MPI_Win_post");
    exposed_ = unit;
  }
  if (chunk.puts.empty()) return;
  accessing_ = true;
  check_mpi(MPI_Win_start(chunk.targets.get(), 0, window_), "MPI_Win_start");
  for (const Message& put : chunk.puts) {
    const Target& target = targets_[static_cast<std::size_t>(put.peer)];
    const std::int64_t place =
        field * target.field_bytes +
        target.offset_of_chunk[static_cast<std::size_t>(chunk_of_unit(unit))];
    check_mpi(MPI_Put(send_unit(unit) + put.offset, put.granules, granule(), put.peer,
                      static_cast<MPI_Aint>(place), put.granules, granule(), window_),
              "MPI_Put");
  }
  check_mpi(MPI_Win_complete(window_), "MPI_Win_complete");
  accessing_ = false;
}

bool RmaExchange::arrived() {
  if (exposed_ == kNone) return true;
  int all = 0;
  check_mpi(MPI_Win_test(window_, &all), "MPI_Win_test");
  if (all != 0) exposed_ = kNone;
  return all != 0;
}

void RmaExchange::wait_for_puts() {
  check_mpi(MPI_Win_wait(window_), "MPI_Win_wait");
  exposed_ = kNone;
}

// The component osc/rdma of Open MPI 4 names a file after the number of the communicator, and
// communicators without a common process may have the same number: their windows would then share
// one file (https://github.com/open-mpi/ompi/issues/9492, mended in 5.0). No other communicator can
// do that to one of all processes.
std::string obstacle_of_rma([[maybe_unused]] const ExchangeProblem& problem) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  int processes = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &processes), "MPI_Comm_size");
  if (problem.node->size() > 1 && problem.comm->size() < processes)
    return "windows of Open MPI 4 are safe only among all " + std::to_string(processes) +
           " processes, not among " + std::to_string(problem.comm->size()) + " of them";
#endif
  return "";
}

}  // namespace

const ExchangeMethod& rma_method() {
  static const MethodOf<RmaExchange> method("rma", obstacle_of_rma, true);
  return method;
}

}  // namespace weft
