// The exchange by MPI_Ialltoallw: each side keeps its blocks in one dense array per field, just as
// a transform of the whole local array would leave them, and MPI datatypes say which part of it
// goes to or comes from whom. Nothing is packed here; whether MPI packs, and how fast it walks
// through strided data, is up to it. Pays where an MPI or its network does that well, and where
// blocks are made of long rows. The types are made with the plan.
#include "base/cache.hpp"
#include "base/checked.hpp"
#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

/// One field of the blocks that travel, on one side.
struct DenseArray {
  Box box;  // the smallest around them
  std::int64_t bytes = 0;
};

/// Types as MPI_Alltoallw takes them, one per member of the group, and how many of each.
struct Types {
  std::vector<OwnedType> owned;
  std::vector<MPI_Datatype> handles;
  std::vector<int> counts;
};

class AlltoallwExchange final : public CollectiveExchange {
 public:
  explicit AlltoallwExchange(ExchangeProblem problem)
      : CollectiveExchange(std::move(problem)),
        element_(OwnedType::bytes(this->problem().element_bytes)),
        sent_(array_around(blocks().sends)),
        received_(array_around(blocks().receives)),
        no_displacements_(members().size(), 0) {
    for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
      send_types_.push_back(types_of(blocks().sends, sent_, chunk));
      receive_types_.push_back(types_of(blocks().receives, received_, chunk));
    }
  }

  ExchangeMemory memory() const override {
    ExchangeMemory memory = CollectiveExchange::memory();
    memory.send_bytes = sent_.bytes * problem().fields;
    memory.receive_bytes = received_.bytes * problem().fields;
    return memory;
  }
  View outbox(int unit, int block) const override {
    const Block& to = blocks().sends[static_cast<std::size_t>(block)];
    if (!travels(to)) return CollectiveExchange::outbox(unit, block);
    return view_in(sent_, kSlotSend, buffers().send_offset, unit, to);
  }
  View inbox(int unit, int block) const override {
    const Block& from = blocks().receives[static_cast<std::size_t>(block)];
    if (!travels(from)) return CollectiveExchange::inbox(unit, block);
    return view_in(received_, kSlotReceive, buffers().receive_offset, unit, from);
  }

 private:
  DenseArray array_around(const std::vector<Block>& side) const {
    DenseArray array;
    array.box.lower = array.box.upper = Index::filled(problem().from.shape().size(), 0);
    for (const Block& block : side)
      if (travels(block)) array.box = smallest_box_around(array.box, block.box);
    array.bytes = whole_lines(array.box.volume() * problem().element_bytes);
    return array;
  }

  View view_in(const DenseArray& array, Slot slot, std::int64_t start, int unit,
               const Block& block) const {
    const View whole{slot, start + unit / problem().chunks * array.bytes, array.box,
                     dense_strides(array.box.extents(), problem().order)};
    return part_of(whole, part_of_unit(block.box, unit), problem().element_bytes);
  }

  Types types_of(const std::vector<Block>& side, const DenseArray& array, int chunk) const {
    Types types{{},
                std::vector<MPI_Datatype>(members().size(), element_.get()),
                std::vector<int>(members().size(), 0)};
    for (const Block& block : side) {
      const Box part = part_of_unit(block.box, chunk);
      if (!travels(block) || part.empty()) continue;
      types.owned.push_back(subarray(array.box, part));
      types.handles[member_of(block.peer)] = types.owned.back().get();
      types.counts[member_of(block.peer)] = 1;
    }
    return types;
  }

  /// The elements of `part` in a dense array of `box`. MPI counts along each axis with an int.
  OwnedType subarray(const Box& box, const Box& part) const {
    std::vector<int> sizes;
    std::vector<int> extents;
    std::vector<int> starts;
    for (const int axis : problem().order) {
      sizes.push_back(to_int(box.extent(axis), "an extent", ErrorCode::internal));
      extents.push_back(static_cast<int>(part.extent(axis)));
      starts.push_back(static_cast<int>(part.lower[axis] - box.lower[axis]));
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), extents.data(),
                                       starts.data(), MPI_ORDER_C, element_.get(), &type),
              "MPI_Type_create_subarray");
    return OwnedType(type);
  }

  void post(int unit, std::vector<MPI_Request>& requests) override {
    const int field = unit / problem().chunks;
    const Types& out = send_types_[static_cast<std::size_t>(chunk_of_unit(unit))];
    const Types& in = receive_types_[static_cast<std::size_t>(chunk_of_unit(unit))];
    check_mpi(MPI_Ialltoallw(send_memory() + field * sent_.bytes, out.counts.data(),
                             no_displacements_.data(), out.handles.data(),
                             receive_memory() + field * received_.bytes, in.counts.data(),
                             no_displacements_.data(), in.handles.data(), group(), requests.data()),
              "MPI_Ialltoallw");
  }

  OwnedType element_;
  DenseArray sent_;
  DenseArray received_;
  std::vector<Types> send_types_;     // of each chunk
  std::vector<Types> receive_types_;  // of each chunk
  std::vector<int> no_displacements_;
};

std::string obstacle_of_alltoallw(const ExchangeProblem& problem) {
  const Shape& shape = problem.from.shape();
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > kMostGranules)
      return "MPI datatypes have extents up to " + std::to_string(kMostGranules) + ", axis " +
             std::to_string(axis) + " has " + std::to_string(shape[axis]);
  return "";
}

}  // namespace

const ExchangeMethod& alltoallw_method() {
  static const MethodOf<AlltoallwExchange> method("alltoallw", obstacle_of_alltoallw);
  return method;
}

}  // namespace weft
