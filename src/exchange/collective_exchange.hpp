// CollectiveExchange: what the exchanges by MPI's collective operations have in common. Each group
// of ranks that exchange data at all has a communicator of its own; a unit is posted there by one
// or several operations, and followed by its requests. Which operations is up to the methods
// derived from it; blocking ones leave no requests.
#pragma once

#include <optional>

#include "exchange/message_exchange.hpp"

namespace weft {

/// The ranks that exchange data with this one, directly or through others, and itself; in order.
std::vector<int> members_of_group(const ExchangeProblem& problem);

class CollectiveExchange : public MessageExchange {
 public:
  ~CollectiveExchange() override;

  void begin(std::int64_t call, std::span<std::byte* const> bases) override;
  void open() final {}  // a unit is complete only when its sends are
  void start(int unit) final;
  void progress() final;
  bool ready(int unit) final;
  void wait(int unit) final;
  void release(int /*unit*/) final {}

 protected:
  /// Of each rank of the group, in granules from the start of a unit.
  struct Counts {
    std::vector<int> granules;
    std::vector<int> displacements;
  };

  /// Collective over problem.comm.
  explicit CollectiveExchange(ExchangeProblem problem);
  /// Begins `unit` on the group's communicator. All ranks of the group post the same units in the
  /// same order; never called where a rank is alone.
  virtual void post(int unit, std::vector<MPI_Request>& requests) = 0;

  MPI_Comm group() const { return group_ ? group_->get() : problem().comm->get(); }
  /// Ranks of the group, in order.
  const std::vector<int>& members() const { return members_; }
  /// This rank exchanges nothing with others.
  bool alone() const { return members_.size() == 1; }
  std::size_t member_of(int rank) const;
  const Counts& sends(int unit) const;
  const Counts& receives(int unit) const;
  /// One per unit is what there is if this is not called.
  void use_requests(std::size_t per_unit);
  std::vector<MPI_Request>& requests(int unit) { return state(unit).requests; }
  bool in_flight(int unit) { return state(unit).started && !state(unit).complete; }

 private:
  struct Unit {
    std::vector<MPI_Request> requests;
    bool started = false;
    bool complete = false;
  };

  Counts counts_of(const std::vector<Block>& blocks, const BlockArea& area, int chunk) const;
  Unit& state(int unit) { return states_[static_cast<std::size_t>(unit)]; }

  std::vector<int> members_;
  std::optional<Communicator> group_;  // none when all ranks are in one group
  std::vector<Counts> sends_;          // of each chunk
  std::vector<Counts> receives_;       // of each chunk
  std::vector<Unit> states_;
};

}  // namespace weft
