// The exchange around a ring: in step i each rank sends to the rank i places up and receives from
// the one i places down, and nobody begins the next step before the last is complete. Every link
// then carries one message at a time, which pays on networks that choke when all ranks send to all
// others at once, and little memory is pinned. Units queue behind one another; steps without data
// are left out.
#include "exchange/message_exchange.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"
#include "exchange/requests.hpp"

namespace weft {
namespace {

class RingExchange final : public MessageExchange {
 public:
  explicit RingExchange(ExchangeProblem problem)
      : MessageExchange(std::move(problem), Peers::all, kMostGranules) {
    for (int chunk = 0; chunk < this->problem().chunks; ++chunk) steps_.push_back(steps_of(chunk));
    queue_.resize(static_cast<std::size_t>(units()));
    place_of_.resize(static_cast<std::size_t>(units()));
  }
  ~RingExchange() override { abandon(receive_, send_); }

  void begin(std::int64_t /*call*/, std::span<std::byte* const> bases) override {
    bind(bases);
    started_ = complete_ = step_ = 0;
  }
  void open() override {}  // all sends are complete when their unit is
  void start(int unit) override {
    queue_[started_] = unit;
    place_of_[static_cast<std::size_t>(unit)] = started_++;
    advance();
  }
  void progress() override { advance(); }
  bool ready(int unit) override {
    if (!is_complete(unit)) advance();
    return is_complete(unit);
  }
  void wait(int unit) override {
    while (!is_complete(unit)) {
      wait_all(receive_);
      wait_all(send_);
      advance();
    }
  }
  void release(int /*unit*/) override {}

 private:
  struct Step {
    Message send;     // no granules: none
    Message receive;  // likewise
  };

  bool is_complete(int unit) const {
    const std::size_t place = place_of_[static_cast<std::size_t>(unit)];
    return place < complete_ && queue_[place] == unit;
  }

  std::vector<Step> steps_of(int chunk) const {
    std::vector<Step> all(static_cast<std::size_t>(problem().comm->size()));
    for (const Message& message : sends_around(chunk))
      all[static_cast<std::size_t>(distance_to(message.peer, Toward::higher_ranks))].send = message;
    for (const Message& message : receives_around(chunk))
      all[static_cast<std::size_t>(distance_to(message.peer, Toward::lower_ranks))].receive =
          message;
    std::erase_if(all,
                  [](const Step& s) { return s.send.granules == 0 && s.receive.granules == 0; });
    return all;
  }

  // Completes the step that is under way if it can be, then begins the next, of the next unit that
  // has been started if need be. Between calls, a step is under way or there is none to begin.
  void advance() {
    while (complete_ < started_) {
      if (!test_all(receive_) || !test_all(send_)) return;
      const int unit = queue_[complete_];
      const auto& steps = steps_[static_cast<std::size_t>(chunk_of_unit(unit))];
      if (step_ == steps.size()) {
        ++complete_;
        step_ = 0;
      } else {
        begin_step(steps[step_++], unit);
      }
    }
  }

  void begin_step(const Step& step, int unit) {
    const int tag = problem().tag + unit;
    const MPI_Comm comm = problem().comm->get();
    if (step.receive.granules > 0)
      check_mpi(MPI_Irecv(receive_unit(unit) + step.receive.offset, step.receive.granules,
                          granule(), step.receive.peer, tag, comm, receive_.data()),
                "MPI_Irecv");
    if (step.send.granules > 0)
      check_mpi(MPI_Isend(send_unit(unit) + step.send.offset, step.send.granules, granule(),
                          step.send.peer, tag, comm, send_.data()),
                "MPI_Isend");
  }

  std::vector<std::vector<Step>> steps_;  // of each chunk
  std::vector<MPI_Request> receive_{MPI_REQUEST_NULL};
  std::vector<MPI_Request> send_{MPI_REQUEST_NULL};
  std::vector<int> queue_;             // units in the order in which they were started
  std::vector<std::size_t> place_of_;  // of each unit in the queue
  std::size_t started_ = 0;            // units in the queue
  std::size_t complete_ = 0;           // of them
  std::size_t step_ = 0;               // the next to begin, of unit queue_[complete_]
};

}  // namespace

const ExchangeMethod& ring_method() {
  static const MethodOf<RingExchange> method("ring", obstacle_of_messages);
  return method;
}

}  // namespace weft
