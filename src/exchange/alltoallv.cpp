// The exchange by MPI_Alltoallv: blocking, for comparison and for MPIs that are best at
// collectives. Nothing overlaps with it.
#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

class AlltoallvExchange final : public CollectiveExchange {
 public:
  explicit AlltoallvExchange(ExchangeProblem problem) : CollectiveExchange(std::move(problem)) {}

 private:
  void post(int unit, std::vector<MPI_Request>& /*requests*/) override {
    const Counts& out = sends(unit);
    const Counts& in = receives(unit);
    check_mpi(MPI_Alltoallv(send_unit(unit), out.granules.data(), out.displacements.data(),
                            granule(), receive_unit(unit), in.granules.data(),
                            in.displacements.data(), granule(), group()),
              "MPI_Alltoallv");
  }
};

}  // namespace

const ExchangeMethod& alltoallv_method() {
  static const MethodOf<AlltoallvExchange> method("alltoallv", nullptr, true);
  return method;
}

}  // namespace weft
