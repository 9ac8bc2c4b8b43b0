// LowMemoryPlan: a plan made of plans. In place, it transforms the contiguous axis first (the
// rows), then the other axes for one part of the contiguous axis after another, so that no more
// than a part is ever under way between ranks. It executes other plans and knows nothing of
// exchanges or engines.
//
// Why it may work in place: as long as rows are equally long before and after a redistribution, an
// element stays in its column of memory, modulo the length of a row. The parts are ranges of
// columns, so each has its own memory, whatever happens to the others.
#pragma once

#include <memory>
#include <vector>

#include "plan/implementation.hpp"

namespace weft {

/// How the contiguous axis is cut: into parts of one width, and a smaller one if it does not
/// divide. Example: 129 complex doubles are 8 parts of 16 and one of 1.
struct Parts {
  std::int64_t width = 1;
  std::int64_t count = 0;  ///< of that width
  std::int64_t rest = 0;
};

/// Memory is needed for `width` and `rest`. Parts are an eighth to a sixteenth of the axis and
/// whole cache lines wide: as wide as they may be for a seventh of the axis, else as needs least,
/// which is at most a sixth when the axis is 24 cache lines long or longer.
Parts parts_of(std::int64_t extent, std::int64_t element_bytes);

class LowMemoryPlan final : public AnyPlan::Implementation {
 public:
  /// Collective over `user`; see Plan::Plan.
  LowMemoryPlan(MPI_Comm user, Request asked);

  void start(Direction direction, const void* source, void* sink) override;
  bool advance(bool wait) override;
  bool retire() noexcept override;
  std::vector<Step> steps(Direction direction, bool timed) const override;
  PlanMemory memory() const noexcept override;
  void record(bool on) override;
  Timeline timeline() const override;

 private:
  /// A plan for the rows, for the parts or for the rest, and how often a call executes it.
  struct Member {
    std::unique_ptr<AnyPlan::Implementation> plan;
    std::int64_t turns = 0;
    std::vector<double> seconds[2];  ///< forward, backward: of each step in the last call
  };
  /// One execution of a member, forward in this order.
  struct Turn {
    std::size_t member = 0;
    int field = 0;
    std::int64_t offset_bytes = 0;       ///< in the user's array
    std::unique_ptr<Recorder> recorder;  ///< null: not recorded
    double begin = 0;                    ///< seconds after the call began
  };

  void check_rows() const;
  Request member_request() const;
  Request rows_request() const;
  Request part_request(std::int64_t width) const;
  const AxisTransform& transform_of_rows() const;
  bool parts_transform() const;
  std::size_t first_of_parts() const;
  void add_member(Request member, std::int64_t turns);
  void add_turns();
  std::vector<std::size_t> order_of(Direction direction) const;
  Turn& turn();
  void begin_turn();
  void end_turn();
  void give_up();

  int axis_;                 ///< that is contiguous in memory
  std::int64_t before_ = 0;  ///< elements of the output before a row, its padding
  std::int64_t row_ = 0;     ///< elements of the output from row to row
  Parts parts_;
  std::vector<Member> members_;  ///< rows if they are transformed, parts, rest if there is one
  std::vector<Turn> turns_;
  std::byte* array_ = nullptr;  ///< of the call under way
  std::size_t turn_ = 0;        ///< the turn that it is in
  double begin_ = 0;            ///< when it began
};

}  // namespace weft
