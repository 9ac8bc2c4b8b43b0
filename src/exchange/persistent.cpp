// The exchange by persistent collectives: MPI_Alltoallv_init of MPI-4, or Open MPI's MPIX_ of the
// same. All that an MPI can decide about a unit, it decides when the plan is made; a call merely
// starts it. Pays for plans that are executed often, on MPIs that make something of the occasion.
// Buffers are part of what is decided, so the plan must provide the same in each call. An MPI that
// has neither function is refused; the build finds out (cmake/WeftDependencies.cmake).
#if defined(WEFT_HAVE_MPIX_ALLTOALLV_INIT) && !defined(WEFT_HAVE_ALLTOALLV_INIT)
#include <mpi.h>
// After mpi.h, which it needs.
#include <mpi-ext.h>
#endif

#include "exchange/collective_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"
#include "exchange/requests.hpp"

namespace weft {
namespace {

#if defined(WEFT_HAVE_ALLTOALLV_INIT)
constexpr bool kHasPersistent = true;
constexpr auto* kAlltoallvInit = &MPI_Alltoallv_init;
#elif defined(WEFT_HAVE_MPIX_ALLTOALLV_INIT)
constexpr bool kHasPersistent = true;
constexpr auto* kAlltoallvInit = &MPIX_Alltoallv_init;
#else
constexpr bool kHasPersistent = false;
constexpr int (*kAlltoallvInit)(const void*, const int*, const int*, MPI_Datatype, void*,
                                const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Info,
                                MPI_Request*) = nullptr;
#endif

class PersistentExchange final : public CollectiveExchange {
 public:
  explicit PersistentExchange(ExchangeProblem problem) : CollectiveExchange(std::move(problem)) {}
  ~PersistentExchange() override {
    for (int unit = 0; unit < units(); ++unit)
      if (!in_flight(unit)) free_persistent(requests(unit));
  }

  ExchangeMemory memory() const override {
    ExchangeMemory memory = CollectiveExchange::memory();
    memory.fixed = true;
    return memory;
  }

  void attach(const ExchangeBuffers& buffers) override {
    CollectiveExchange::attach(buffers);
    if (alone()) return;
    bind_fixed();
    for (int unit = 0; unit < units(); ++unit) {
      const Counts& out = sends(unit);
      const Counts& in = receives(unit);
      check_mpi(
          kAlltoallvInit(send_unit(unit), out.granules.data(), out.displacements.data(), granule(),
                         receive_unit(unit), in.granules.data(), in.displacements.data(), granule(),
                         group(), MPI_INFO_NULL, requests(unit).data()),
          "MPI_Alltoallv_init");
    }
  }

  void begin(std::int64_t call, std::span<std::byte* const> bases) override {
    require_fixed(bases);
    CollectiveExchange::begin(call, bases);
  }

 private:
  void post(int /*unit*/, std::vector<MPI_Request>& requests) override {
    check_mpi(MPI_Start(requests.data()), "MPI_Start");
  }
};

std::string obstacle_of_persistent(const ExchangeProblem& /*problem*/) {
  return kHasPersistent ? "" : "this MPI has no persistent collectives";
}

}  // namespace

const ExchangeMethod& persistent_method() {
  static const MethodOf<PersistentExchange> method("persistent", obstacle_of_persistent);
  return method;
}

}  // namespace weft
