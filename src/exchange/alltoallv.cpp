// The exchange by MPI_Alltoallv: blocking, for comparison and for MPIs that are best at
// collectives. Each group of ranks that exchange data at all has a communicator of its own. Nothing
// overlaps with it.
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "exchange/message_exchange.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

class AlltoallvExchange final : public MessageExchange {
 public:
  explicit AlltoallvExchange(ExchangeProblem problem)
      : MessageExchange(std::move(problem), Peers::all, kMostGranules) {
    form_group();
    for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
      sends_.push_back(counts_of(blocks().sends, send_area(), chunk));
      receives_.push_back(counts_of(blocks().receives, receive_area(), chunk));
    }
  }

  void begin(std::int64_t /*call*/, std::span<std::byte* const> bases) override { bind(bases); }
  void open() override {}
  void start(int unit) override {
    if (member_of_.size() == 1) return;
    const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
    const Counts& out = sends_[chunk];
    const Counts& in = receives_[chunk];
    check_mpi(
        MPI_Alltoallv(send_unit(unit), out.granules.data(), out.displacements.data(), granule(),
                      receive_unit(unit), in.granules.data(), in.displacements.data(), granule(),
                      group_ ? group_->get() : problem().comm->get()),
        "MPI_Alltoallv");
  }
  void progress() override {}
  bool ready(int /*unit*/) override { return true; }
  void wait(int /*unit*/) override {}
  void release(int /*unit*/) override {}

 private:
  struct Counts {  // of each rank of the group
    std::vector<int> granules;
    std::vector<int> displacements;
  };

  void form_group() {
    const std::vector<int> group_of = exchange_groups(problem().from, problem().to);
    const int mine = group_of[static_cast<std::size_t>(problem().comm->rank())];
    for (int rank = 0; rank < static_cast<int>(group_of.size()); ++rank)
      if (group_of[static_cast<std::size_t>(rank)] == mine) member_of_.push_back(rank);
    bool several = false;
    for (const int group : group_of) several = several || group != mine;
    if (several) group_ = problem().comm->split(mine);
  }

  Counts counts_of(const std::vector<Block>& blocks, const BlockArea& area, int chunk) const {
    Counts counts{std::vector<int>(member_of_.size()), std::vector<int>(member_of_.size())};
    std::size_t member = 0;  // both lists are in the order of the ranks
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      const Block& it = blocks[static_cast<std::size_t>(block)];
      while (member_of_[member] != it.peer) ++member;
      counts.granules[member] =
          to_int(area.granules(chunk, block), "the size of a message", ErrorCode::internal);
      counts.displacements[member] = to_int(area.block_offset(chunk, block) / granule_bytes(),
                                            "the place of a message", ErrorCode::internal);
    }
    return counts;
  }

  std::vector<int> member_of_;         // ranks of the group, in order
  std::optional<Communicator> group_;  // none when all ranks are in one group
  std::vector<Counts> sends_;          // of each chunk
  std::vector<Counts> receives_;       // of each chunk
};

class AlltoallvMethod final : public ExchangeMethod {
 public:
  std::string_view name() const override { return "alltoallv"; }
  std::string refusal(const ExchangeProblem& /*problem*/) const override { return ""; }
  std::unique_ptr<Exchange> make(ExchangeProblem problem) const override {
    return std::make_unique<AlltoallvExchange>(std::move(problem));
  }
};

}  // namespace

const ExchangeMethod& alltoallv_method() {
  static const AlltoallvMethod method;
  return method;
}

}  // namespace weft
