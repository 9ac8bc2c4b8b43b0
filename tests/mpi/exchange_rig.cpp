// The rig's memory, its calls and its checks.
#include "exchange_rig.hpp"

#include <array>
#include <limits>

namespace weft::testing {
namespace {

constexpr std::int64_t kGuardBytes = 256;
using Value = std::array<std::uint64_t, 2>;

/// What the element at `index` holds in `call`; its first bytes for smaller elements.
Value value_at(const Shape& shape, const Index& index, int field, std::int64_t call) {
  std::uint64_t number =
      static_cast<std::uint64_t>(field + 1) * 1'000'003u + static_cast<std::uint64_t>(call) * 7919u;
  for (int axis = 0; axis < shape.size(); ++axis)
    number =
        number * static_cast<std::uint64_t>(shape[axis]) + static_cast<std::uint64_t>(index[axis]);
  return {number * 2 + 1, ~number};
}

std::byte* aligned(std::vector<std::byte>& memory) {
  return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
}

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Rig::Rig(const NodeMap& nodes, const std::vector<ExchangeProblem>& problems,
         const ExchangeMaker& make)
    : nodes_(nodes), random_(static_cast<unsigned>(world().rank()) + 1) {
  ExchangeMemory most{.window_counters = kCountersOfPlan};
  for (const ExchangeProblem& problem : problems) {
    Part part{problem, make(problem), {}, {}, {}};
    part.memory = part.exchange->memory();
    part.blocks = redistribution_between(problem.from, problem.to, world().rank());
    // Offsets are not 0, so that one left out is noticed.
    part.buffers = {.send_offset = kGuardBytes,
                    .receive_offset = kGuardBytes,
                    .own_offset = kGuardBytes,
                    .window_offset = kGuardBytes,
                    .first_counter = most.window_counters};
    most.send_bytes = std::max(most.send_bytes, part.memory.send_bytes);
    most.receive_bytes = std::max(most.receive_bytes, part.memory.receive_bytes);
    most.own_bytes = std::max(most.own_bytes, part.memory.own_bytes);
    most.window_bytes = std::max(most.window_bytes, part.memory.window_bytes);
    most.window_counters += part.memory.window_counters;
    parts_.push_back(std::move(part));
  }
  send_.resize(static_cast<std::size_t>(2 * kGuardBytes + most.send_bytes));
  receive_.resize(static_cast<std::size_t>(2 * kGuardBytes + most.receive_bytes));
  own_.resize(static_cast<std::size_t>(2 * kGuardBytes + most.own_bytes));
  bases_.assign(
      {nullptr, nullptr, nullptr, nullptr, aligned(send_), aligned(receive_), aligned(own_)});
  if (world().max(most.window_bytes) > 0) {
    window_.emplace(nodes_.comm, whole_lines(most.window_bytes) + 2 * kGuardBytes,
                    most.window_counters);
    bases_.resize(static_cast<std::size_t>(slots_with_peers(window_->ranks())));
    for (int rank = 0; rank < window_->ranks(); ++rank)
      bases_[static_cast<std::size_t>(slot_of_window(rank))] = window_->base(rank);
  }
  for (Part& part : parts_) {
    part.buffers.window = window_ ? &*window_ : nullptr;
    if (part.memory.fixed) {
      part.buffers.send_memory = bases_[kSlotSend];
      part.buffers.receive_memory = bases_[kSlotReceive];
    }
    part.exchange->attach(part.buffers);
    expect_boxes(part);
  }
}

void Rig::for_each_element(const Part& part, const View& view, const Visit& visit) const {
  std::byte* base = bases_[static_cast<std::size_t>(view.slot)] + view.offset_bytes;
  for_each_index(view.box, [&](const Index& index) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < index.size(); ++axis)
      offset += (index[axis] - view.box.lower[axis]) * view.strides[axis];
    visit(index, base + offset * part.problem.element_bytes);
  });
}

void Rig::store(const Part& part, int unit) {
  for (int block = 0; block < static_cast<int>(part.blocks.sends.size()); ++block) {
    const View view = part.exchange->outbox(unit, block);
    for_each_element(part, view, [&](const Index& index, std::byte* element) {
      const Value value =
          value_at(part.problem.from.shape(), index, unit / part.problem.chunks, call_);
      std::memcpy(element, value.data(), static_cast<std::size_t>(part.problem.element_bytes));
    });
  }
}

/// Messages have left their outboxes when wait() returns: other data may take the place.
void Rig::spoil_sent(const Part& part, int unit) {
  for (int block = 0; block < static_cast<int>(part.blocks.sends.size()); ++block) {
    const View view = part.exchange->outbox(unit, block);
    if (view.slot != kSlotSend) continue;
    for_each_element(part, view, [&](const Index&, std::byte* element) {
      std::memset(element, 0xA5, static_cast<std::size_t>(part.problem.element_bytes));
    });
  }
}

void Rig::check(const Part& part, int unit, bool sent) {
  const auto& blocks = sent ? part.blocks.sends : part.blocks.receives;
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    const View view = sent ? part.exchange->outbox(unit, block) : part.exchange->inbox(unit, block);
    std::int64_t wrong = 0;
    Index first;
    for_each_element(part, view, [&](const Index& index, const std::byte* element) {
      const Value value =
          value_at(part.problem.from.shape(), index, unit / part.problem.chunks, call_);
      if (std::memcmp(element, value.data(),
                      static_cast<std::size_t>(part.problem.element_bytes)) == 0)
        return;
      if (wrong++ == 0) first = index;
    });
    EXPECT_EQ(0, wrong) << "of " << view.box.volume() << " elements "
                        << (sent ? "kept for" : "from") << " rank "
                        << blocks[static_cast<std::size_t>(block)].peer << " in unit " << unit
                        << " of call " << call_ << ", first at "
                        << (wrong == 0 ? "" : to_string(first));
  }
}

void Rig::expect_inside(const Part& part, const View& view) const {
  if (view.box.empty()) return;
  std::int64_t last = view.offset_bytes + part.problem.element_bytes;
  for (int axis = 0; axis < view.box.dimensions(); ++axis)
    last += (view.box.extent(axis) - 1) * view.strides[axis] * part.problem.element_bytes;
  EXPECT_GE(view.offset_bytes, kGuardBytes);
  std::int64_t bytes =
      std::numeric_limits<std::int64_t>::max() / 2;  // of a peer's window: not known here
  if (view.slot == kSlotSend) bytes = part.memory.send_bytes;
  if (view.slot == kSlotReceive) bytes = part.memory.receive_bytes;
  if (view.slot == kSlotOwn) bytes = part.memory.own_bytes;
  if (view.slot == slot_of_window(nodes_.comm.rank())) bytes = part.memory.window_bytes;
  EXPECT_LE(last, kGuardBytes + bytes) << "in slot " << view.slot;
}

/// Views have the boxes that the exchange was asked for and lie in the memory that it asked for.
void Rig::expect_boxes(const Part& part) const {
  const ExchangeProblem& problem = part.problem;
  for (int unit = 0; unit < units(part); ++unit)
    for (const bool sent : {true, false}) {
      const auto& blocks = sent ? part.blocks.sends : part.blocks.receives;
      for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
        const View view =
            sent ? part.exchange->outbox(unit, block) : part.exchange->inbox(unit, block);
        EXPECT_EQ(chunk_of(blocks[static_cast<std::size_t>(block)].box, problem.cut, problem.chunks,
                           unit % problem.chunks),
                  view.box);
        expect_inside(part, view);
      }
    }
}

void Rig::call(std::size_t which, bool in_turn, int delay_microseconds) {
  const Part& part = parts_[which];
  Exchange& exchange = *part.exchange;
  const auto delay = [&] {
    if (delay_microseconds > 0) random_delay(random_, delay_microseconds);
  };
  exchange.begin(++call_, bases_);
  const bool asks = call_ / 2 % 2 == 0;
  delay();
  exchange.open();
  for (int unit = 0; unit < units(part); ++unit) {
    store(part, unit);
    if (!in_turn) continue;
    delay();
    exchange.start(unit);
  }
  if (!in_turn)
    for (int unit = 0; unit < units(part); ++unit) {
      check(part, unit, true);  // nothing stored later has overwritten it
      exchange.start(unit);
    }
  for (int unit = 0; unit < units(part); ++unit) {
    exchange.progress();
    if (asks) {
      while (!exchange.ready(unit)) usleep(20);
    } else {
      exchange.wait(unit);
      spoil_sent(part, unit);
    }
    delay();
    check(part, unit, false);
    exchange.release(unit);
  }
  delay();
  if (window_) window_->publish(kFinishedCounter, call_);
}

}  // namespace weft::testing
