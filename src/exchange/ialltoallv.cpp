// The exchange by MPI_Ialltoallv: one operation per unit, so that units travel while others are
// transformed and the MPI still chooses the order of the messages. Pays where an MPI, or a network
// that does collectives by itself, is better at that than messages one by one.
#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

class IalltoallvExchange final : public CollectiveExchange {
 public:
  explicit IalltoallvExchange(ExchangeProblem problem) : CollectiveExchange(std::move(problem)) {}

 private:
  void post(int unit, std::vector<MPI_Request>& requests) override {
    const Counts& out = sends(unit);
    const Counts& in = receives(unit);
    check_mpi(MPI_Ialltoallv(send_unit(unit), out.granules.data(), out.displacements.data(),
                             granule(), receive_unit(unit), in.granules.data(),
                             in.displacements.data(), granule(), group(), requests.data()),
              "MPI_Ialltoallv");
  }
};

}  // namespace

const ExchangeMethod& ialltoallv_method() {
  static const MethodOf<IalltoallvExchange> method("ialltoallv");
  return method;
}

}  // namespace weft
