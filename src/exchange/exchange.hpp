// Exchange: a mechanism that carries out a redistribution. A stage stores into its outboxes and
// loads from its inboxes and does not know how data travels between them. A method is one file and
// one line in the table in exchange.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/redistribution.hpp"
#include "layout/view.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_window.hpp"

namespace weft {

/// How a block is cut into chunks: into `late_parts` along `late_axis`, which divides their number,
/// and each of these along `axis`. Chunk 0 is part 0 of late part 0, chunk 1 part 1 of late part 0.
/// A stage that stores part after part thus completes late part 0 first, in the end, and all others
/// at once then; a stage that loads late part after late part can begin when the first has arrived.
struct Cut {
  int axis = 0;
  int late_axis = 0;
  int late_parts = 1;
};

/// Where the block that stays on its rank lies when the exchange need not find memory for it.
struct Home {
  View view;                     ///< of that block, in the first field
  std::int64_t field_bytes = 0;  ///< from one field to the next
};

/// Homes of all blocks that a rank sends and receives, in arrays that all ranks of the node reach:
/// who stores a block and who loads it find it at the same place.
struct SharedHomes {
  std::vector<Home> sends;     ///< of the blocks of redistribution_between().sends
  std::vector<Home> receives;  ///< likewise
  std::vector<Home> all;       ///< of the blocks of all ranks, host by host
};

/// What the window has for the block that stays on its rank, where that has a home.
enum class OwnInWindow {
  nothing,
  others_rows,  ///< room for as many rows as other ranks store there, if a pass stores row j1 b +
                ///< j2 of a long axis of a b rows to place j1 + a j2 (plan/long_axis)
  all,
};

/// One redistribution to be carried out, for all fields. `unit` below counts field * chunks +
/// chunk.
struct ExchangeProblem {
  const Communicator* comm = nullptr;  ///< of the plan; outlives the exchange
  const Communicator* node = nullptr;  ///< the ranks of comm on this node
  std::vector<int>
      node_rank_of;  ///< rank in `node` of each rank of comm; -1 for ranks on other nodes
  Layout from;
  Layout to;
  std::vector<int> order;  ///< memory order of the data in flight, slowest to fastest axis
  std::int64_t element_bytes = 16;
  int fields = 1;
  int chunks = 1;  ///< pieces into which each block is cut
  Cut cut;
  int tag = 0;  ///< first of fields * chunks message tags that no other exchange of the plan uses
  /// This exchange takes everything back to where an earlier one of the call has loaded it from,
  /// and may use that one's window again: each block is stored where it was loaded. Only for
  /// methods that returns() is true of.
  bool returns = false;
  /// Of this rank; set on all ranks or on none, and with `returns` on both of an exchange and the
  /// one that returns what it has brought, unless `own_in_window` is all: the other one of such a
  /// pair uses that then. Only for methods that leaves_home() is true of.
  std::optional<Home> home = std::nullopt;
  OwnInWindow own_in_window = OwnInWindow::nothing;
  /// With others_rows: that is so of the first of so many equal parts of the block's rows only; of
  /// the others the window has all.
  int home_parts = 1;
  /// Of all blocks, on all ranks or on none. Only for methods that leaves_all_home() is true of.
  std::optional<SharedHomes> shared_homes = std::nullopt;
};

/// How a block of `extents` best lies where it is stored to by the pass before the exchange and
/// loaded from by the pass after it.
Arrangement arrangement_between(const Layout& from, const Layout& to, const Extents& extents,
                                const std::vector<int>& order, std::int64_t element_bytes);

/// Chunk `chunk` of `chunks` of `block`. Part p of P of an extent n is [n*p/P, n*(p+1)/P); it may
/// be empty.
Box chunk_of(const Box& block, const Cut& cut, int chunks, int chunk);

/// The part in `unit` of a block that lies at `view` in the first field, and `field_bytes` further
/// on in each next one.
View view_of_unit(View view, std::int64_t field_bytes, const ExchangeProblem& problem, int unit);

/// The counter of the plan's window in which each rank publishes the last call that it has
/// finished, in either direction. The plan does so at the end of each call; exchanges wait for it
/// before they overwrite what peers may still read.
inline constexpr int kFinishedCounter = 0;

/// The counter in which each rank publishes to which call that needs arrays of all ranks it has
/// come, and the one in which it tells whether it can reach them.
inline constexpr int kArrivedCounter = 1;
inline constexpr int kVotedCounter = 2;
inline constexpr int kCountersOfPlan = 3;

/// Memory that an exchange wants the plan to provide on this rank. Fields and chunks are included.
struct ExchangeMemory {
  std::int64_t send_bytes = 0;
  std::int64_t receive_bytes = 0;
  std::int64_t own_bytes = 0;
  std::int64_t window_bytes = 0;
  int window_counters = 0;
  bool fixed = false;  ///< kSlotSend and kSlotReceive must be the same memory in every call
};

/// What one call sends from this rank to others.
struct ExchangeTraffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t messages_off_node = 0;  ///< of them, those to ranks on other nodes
  std::int64_t bytes_off_node = 0;     ///< likewise
};

/// The memory that the plan provides at its place. Offsets are 64-byte aligned and the same in
/// every call.
struct ExchangeBuffers {
  std::int64_t send_offset = 0;         ///< in kSlotSend
  std::int64_t receive_offset = 0;      ///< in kSlotReceive
  std::int64_t own_offset = 0;          ///< in kSlotOwn
  std::int64_t window_offset = 0;       ///< in the window of every rank
  int first_counter = kCountersOfPlan;  ///< in the window's counters, after those of the plan
  SharedWindow* window = nullptr;       ///< null when no exchange of the plan wants one
  /// What kSlotSend and kSlotReceive are bound to in every call, where ExchangeMemory::fixed asks
  /// for that; null when there is no such memory.
  std::byte* send_memory = nullptr;
  std::byte* receive_memory = nullptr;
};

/// Where the block of some rank lies that an exchange brings, or sends.
struct BlockPlace {
  View view;
  /// Else a room, see OwnInWindow::others_rows, for the first of so many parts of a block: its view
  /// is as if all rows lay there.
  int room_of_parts = 0;

  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

/// Life of one unit within a call: the stage before stores into outbox(unit, ...); start(unit); the
/// stage after, once wait(unit) has returned or ready(unit) is true, loads from inbox(unit, ...);
/// release(unit) when it has loaded all. All ranks start the units in the same order, and each rank
/// releases each unit. A block to the rank itself is not moved: its inbox is its outbox, so
/// outboxes are in use until all units are released; only those in kSlotSend, which messages leave
/// from, are free once wait(unit) has returned. Blocks are those of
/// redistribution_between(from, to, rank), cut into chunks.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual ExchangeMemory memory() const = 0;
  virtual ExchangeTraffic traffic() const = 0;
  /// Called once, when the plan's memory exists. Collective over the plan's communicator.
  virtual void attach(const ExchangeBuffers& buffers) = 0;

  /// Where the block that goes to sends[block].peer is to be stored; its box is the chunk's part of
  /// that block.
  virtual View outbox(int unit, int block) const = 0;
  /// Where the block from receives[block].peer can be loaded.
  virtual View inbox(int unit, int block) const = 0;

  /// Where the blocks of all ranks lie in a unit, the same on all ranks, and the rooms for what
  /// some store to those of others that have homes; empty where some blocks are out of reach.
  virtual std::vector<BlockPlace> places(int /*unit*/) const { return {}; }

  /// `call` counts the executions of the plan from 1; `bases` gives the memory of each slot.
  virtual void begin(std::int64_t call, std::span<std::byte* const> bases) = 0;
  /// Returns when the outboxes of all units may be overwritten (peers have read what they held in
  /// the call before).
  virtual void open() = 0;
  /// True when open() would not wait.
  virtual bool may_open() { return true; }
  /// The ranks that open() waits for.
  virtual std::vector<int> reading_peers() const { return {}; }
  virtual void start(int unit) = 0;
  /// Gives the network a chance; never blocks.
  virtual void progress() = 0;
  /// True when wait(unit) would not wait.
  virtual bool ready(int unit) = 0;
  virtual void wait(int unit) = 0;
  /// The ranks that wait(unit) waits for, where that can be told; else none.
  virtual std::vector<int> silent_peers(int /*unit*/) const { return {}; }
  /// True when release() of one more unit would not wait.
  virtual bool may_release() { return true; }
  virtual void release(int unit) = 0;
};

class ExchangeMethod {
 public:
  virtual ~ExchangeMethod() = default;
  virtual std::string_view name() const = 0;
  /// Why this method cannot do `problem` on this rank; empty when it can.
  virtual std::string obstacle(const ExchangeProblem& problem) const = 0;
  /// The obstacle, if any, and the names of the methods that have none.
  std::string refusal(const ExchangeProblem& problem) const;
  /// True when MPI blocks in start(), so that no time can be set for it.
  virtual bool blocks() const { return false; }
  /// True when ExchangeProblem::returns may be set; the exchange is then given the window of the
  /// earlier one.
  virtual bool returns() const { return false; }
  /// True when ExchangeProblem::home may be set, where what messages carry waits in the array that
  /// the call writes, or where it does not.
  virtual bool leaves_home(bool /*sends_from_sink*/) const { return false; }
  /// True when ExchangeProblem::shared_homes may be set.
  virtual bool leaves_all_home() const { return false; }
  /// Collective over problem.comm.
  virtual std::unique_ptr<Exchange> make(ExchangeProblem problem) const = 0;
};

/// The methods of this build, best known first.
std::span<const ExchangeMethod* const> exchange_table();

/// "these can do this: pairwise, ...": the methods, but for `name`, that have no obstacle.
std::string others_that_can(const ExchangeProblem& problem, std::string_view name);

/// The method of that name. Throws Error(unavailable) with the names that exist.
const ExchangeMethod& exchange_named(std::string_view name);

/// The method that "auto" stands for: shared on one node, mixed when any node has several ranks,
/// else pairwise. Collective over problem.comm.
const ExchangeMethod& default_exchange(const ExchangeProblem& problem);

}  // namespace weft
