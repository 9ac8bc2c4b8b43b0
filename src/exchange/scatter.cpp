// The exchange by scatters: each rank of the group is the root of one MPI_Iscatterv, which deals
// its blocks out to the others, and all of these are under way at once. MPIs that deal along a tree
// or by hardware spread the load of a root with much to send, so this pays where few ranks hold the
// data. A rank that has nothing to send needs no scatter; all others know.
#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

class ScatterExchange final : public CollectiveExchange {
 public:
  explicit ScatterExchange(ExchangeProblem problem) : CollectiveExchange(std::move(problem)) {
    for (std::size_t member = 0; member < members().size(); ++member)
      if (!this->problem().from.box(members()[member]).empty())
        roots_.push_back(static_cast<int>(member));
    use_requests(roots_.size());
  }

 private:
  void post(int unit, std::vector<MPI_Request>& requests) override {
    const Counts& out = sends(unit);
    const Counts& in = receives(unit);
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const auto root = static_cast<std::size_t>(roots_[i]);
      const std::int64_t place = std::int64_t{in.displacements[root]} * granule_bytes();
      check_mpi(MPI_Iscatterv(send_unit(unit), out.granules.data(), out.displacements.data(),
                              granule(), receive_unit(unit) + place, in.granules[root], granule(),
                              roots_[i], group(), &requests[i]),
                "MPI_Iscatterv");
    }
  }

  std::vector<int> roots_;  // members that have something to send
};

}  // namespace

const ExchangeMethod& scatter_method() {
  static const MethodOf<ScatterExchange> method("scatter");
  return method;
}

}  // namespace weft
