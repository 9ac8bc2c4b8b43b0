// The exchange by MPI_Ialltoall: all blocks of a unit are padded to the size of the largest, since
// that operation knows but one. MPIs have their best algorithms there, above all for many ranks and
// short blocks. Pays where extents divide evenly; where padding would more than double what
// travels, the exchange refuses.
#include <algorithm>

#include "base/checked.hpp"
#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

/// What the ranks of one group send to others in a call, all fields of it.
struct Padding {
  std::vector<std::int64_t> largest;  // block of each chunk, in bytes
  std::int64_t payload = 0;           // bytes
  std::int64_t padded = 0;            // bytes
};

/// For the group of ranks that `members` are.
Padding padding_of(const ExchangeProblem& problem, const std::vector<int>& members) {
  Padding padding;
  padding.largest.assign(static_cast<std::size_t>(problem.chunks), 0);
  for (const int rank : members)
    for (const Block& block : redistribution_between(problem.from, problem.to, rank).sends)
      for (int chunk = 0; block.peer != rank && chunk < problem.chunks; ++chunk) {
        const Box part = chunk_of(block.box, problem.cut, problem.chunks, chunk);
        const std::int64_t bytes =
            arrangement_in_message(problem, part).elements * problem.element_bytes;
        std::int64_t& largest = padding.largest[static_cast<std::size_t>(chunk)];
        largest = std::max(largest, bytes);
        padding.payload += bytes * problem.fields;
      }
  const auto size = static_cast<std::int64_t>(members.size());
  for (const std::int64_t bytes : padding.largest)
    padding.padded += bytes * size * (size - 1) * problem.fields;
  return padding;
}

class AlltoallExchange final : public CollectiveExchange {
 public:
  explicit AlltoallExchange(ExchangeProblem problem) : CollectiveExchange(std::move(problem)) {
    largest_ = padding_of(this->problem(), members()).largest;
    std::vector<std::vector<std::int64_t>> sizes;
    for (const std::int64_t bytes : largest_) sizes.emplace_back(members().size(), bytes);
    if (!alone()) area_ = BlockArea(sizes, granule_bytes());
  }

  ExchangeMemory memory() const override {
    ExchangeMemory memory = CollectiveExchange::memory();
    memory.send_bytes = memory.receive_bytes = area_.field_bytes() * problem().fields;
    return memory;
  }
  ExchangeTraffic traffic() const override {
    ExchangeTraffic traffic;
    for (const std::int64_t bytes : largest_)
      for (const int peer : members())
        if (bytes > 0 && peer != problem().comm->rank())
          count_message(traffic, problem(), peer, bytes);
    return traffic;
  }
  View outbox(int unit, int block) const override {
    return moved(CollectiveExchange::outbox(unit, block), unit,
                 blocks().sends[static_cast<std::size_t>(block)], buffers().send_offset);
  }
  View inbox(int unit, int block) const override {
    return moved(CollectiveExchange::inbox(unit, block), unit,
                 blocks().receives[static_cast<std::size_t>(block)], buffers().receive_offset);
  }

 private:
  /// `view` where the padded blocks lie, if it is of one that travels.
  View moved(View view, int unit, const Block& block, std::int64_t start) const {
    if (travels(block))
      view.offset_bytes =
          start + area_.unit_offset(unit) +
          area_.block_offset(chunk_of_unit(unit), static_cast<int>(member_of(block.peer)));
    return view;
  }

  void post(int unit, std::vector<MPI_Request>& requests) override {
    const int count = to_int(area_.granules(chunk_of_unit(unit), 0), "the size of a message",
                             ErrorCode::internal);
    check_mpi(MPI_Ialltoall(send_memory() + area_.unit_offset(unit), count, granule(),
                            receive_memory() + area_.unit_offset(unit), count, granule(), group(),
                            requests.data()),
              "MPI_Ialltoall");
  }

  std::vector<std::int64_t> largest_;  // block of each chunk, in bytes
  BlockArea area_;                     // of one block per member of the group, this rank included
};

std::string obstacle_of_alltoall(const ExchangeProblem& problem) {
  const std::vector<int> members = members_of_group(problem);
  const Padding padding = padding_of(problem, members);
  if (padding.padded <= 2 * padding.payload) return "";
  return "with blocks padded to the largest, " + std::to_string(members.size()) +
         " ranks would send " + std::to_string(padding.padded) + " bytes instead of " +
         std::to_string(padding.payload) + ", more than twice as many";
}

}  // namespace

const ExchangeMethod& alltoall_method() {
  static const MethodOf<AlltoallExchange> method("alltoall", obstacle_of_alltoall);
  return method;
}

}  // namespace weft
