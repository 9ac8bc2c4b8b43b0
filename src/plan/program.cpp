// Builds programs: the sequence is cut at its redistributions into links, the transforms of a link
// are grouped into passes, and each pass is given its places to load from and to store to.
#include "plan/program.hpp"

#include <algorithm>

#include "base/cache.hpp"
#include "plan/home_behind_sends.hpp"
#include "plan/long_axis.hpp"
#include "plan/place_in_real.hpp"

namespace weft {

namespace {

// A side of a pass: its blocks, and whether a stage may overwrite them.
using Ports = std::vector<Port>;

Ports user_ports(const UserSide& side, int rank) {
  return {{side.view(rank), side.field_stride * side.element.bytes(), -1}};
}

template <class ViewOf>
void append_ports(Ports& ports, std::size_t blocks, int fields, int chunks, ViewOf view_of) {
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int block = 0; block < static_cast<int>(blocks); ++block) {
      const View view = view_of(chunk, block);
      if (view.box.empty()) continue;
      const std::int64_t field_bytes =
          fields > 1 ? view_of(chunks + chunk, block).offset_bytes - view.offset_bytes : 0;
      ports.push_back({view, field_bytes, chunk});
    }
}

bool any_of_peers(const Ports& ports) {
  return std::any_of(ports.begin(), ports.end(),
                     [](const Port& port) { return is_slot_of_peer(port.view.slot); });
}

bool all_in(const Ports& ports, int slot) {
  return std::ranges::all_of(ports, [&](const Port& port) { return port.view.slot == slot; });
}

bool any_in(const Ports& ports, int slot) {
  return std::ranges::any_of(ports, [&](const Port& port) { return port.view.slot == slot; });
}

class Builder {
 public:
  explicit Builder(ProgramProblem problem) : problem_(std::move(problem)) {
    const bool forward = problem_.direction == Direction::forward;
    sequence_ =
        sequence_of(*problem_.path, *problem_.transforms,
                    forward ? problem_.source.element : problem_.sink.element, problem_.direction);
    order_ = forward ? problem_.source.layout.order() : problem_.sink.layout.order();
    choose_factor_axis();
    program_.in_place = problem_.source.slot == problem_.sink.slot;
    program_.fields = problem_.fields;
    program_.chunks = problem_.chunks;
  }

  Program build() {
    std::size_t first = 0;
    for (std::size_t e = 0; e <= problem_.exchanges.size(); ++e) {
      std::size_t last = first;
      while (last < sequence_.actions.size() && !sequence_.actions[last].redistributes()) ++last;
      program_.links.emplace_back();
      add_passes(first, last, e);
      if (e < problem_.exchanges.size()) {
        program_.links.back().exchange_name = problem_.exchange_names[e];
        program_.links.back().exchanged = sequence_.states[last + 1].layout;
      }
      first = last + 1;
    }
    for (std::size_t e = 0; e < problem_.exchanges.size(); ++e)
      program_.links[e].exchange = std::move(problem_.exchanges[e]);
    return std::move(program_);
  }

 private:
  // Where a link loads from and stores to.
  Ports ports_before(std::size_t link, const State& state) const {
    if (link == 0) return user_ports(problem_.source, problem_.rank);
    const Exchange& exchange = *problem_.exchanges[link - 1];
    const State& from = sequence_.states[exchange_state(link - 1)];
    const auto blocks =
        redistribution_between(from.layout, state.layout, problem_.rank).receives.size();
    Ports ports;
    append_ports(ports, blocks, problem_.fields, problem_.chunks,
                 [&](int unit, int block) { return exchange.inbox(unit, block); });
    return joined(ports, link - 1, state.element.bytes());
  }
  Ports ports_after(std::size_t link, const State& state) const {
    if (link == problem_.exchanges.size()) return user_ports(problem_.sink, problem_.rank);
    const Exchange& exchange = *problem_.exchanges[link];
    const State& to = sequence_.states[exchange_state(link) + 1];
    const auto blocks = redistribution_between(state.layout, to.layout, problem_.rank).sends.size();
    Ports ports;
    append_ports(ports, blocks, problem_.fields, problem_.chunks,
                 [&](int unit, int block) { return exchange.outbox(unit, block); });
    return joined(ports, link, state.element.bytes());
  }
  Ports joined(const Ports& ports, std::size_t exchange, std::int64_t bytes) const {
    return with_joined_blocks(
        with_homes(problem_.behind_sends[exchange], ports, slice_axis(), bytes), bytes);
  }
  std::size_t exchange_state(std::size_t exchange) const {
    for (std::size_t i = 0; i < sequence_.actions.size(); ++i)
      if (sequence_.actions[i].redistributes() && exchange-- == 0) return i;
    throw Error(ErrorCode::internal, "a program has fewer redistributions than exchanges");
  }

  // Actions [first, last) are the transforms of link `link`.
  void add_passes(std::size_t first, std::size_t last, std::size_t link) {
    if (first == last && is_there_already(link)) return;
    const Ports before = ports_before(link, sequence_.states[first]);
    const Ports after = ports_after(link, sequence_.states[last]);
    Ports source = before;
    std::size_t at = first;
    for (const std::size_t next : pass_ends(sequence_, order_, first, last)) {
      const bool final = next == last;
      const Ports sink = final ? after : handover(at, next, last, source, after);
      if (final && !may_overwrite(source, sink, at, next)) {
        const State& state = sequence_.states[next];
        Ports work = work_ports({state.layout.box(problem_.rank)}, state.element);
        add_pass(at, next, source, work);
        source = work;
        add_pass(last, last, source, sink);
      } else {
        add_pass(at, next, source, sink);
      }
      source = without_chunks(sink);
      at = next;
    }
  }

  // True when what the exchange wants is the array that the call reads, or what it brought is in
  // the array that the call writes: for a link without transforms that leaves nothing to be done.
  bool is_there_already(std::size_t link) const {
    if (problem_.hosts.empty()) return false;
    return link == 0 ? problem_.hosts.front() == Host::sender
                     : link == problem_.hosts.size() && problem_.hosts.back() == Host::receiver;
  }

  // What passes from one pass to the next within a link: the place where the link's result goes to,
  // if its elements fit there.
  Ports handover(std::size_t at, std::size_t next, std::size_t last, const Ports& source,
                 const Ports& after) {
    const State& state = sequence_.states[next];
    const auto same = [&](const State& other) {
      return other.element == state.element && other.layout.shape() == state.layout.shape();
    };
    if (same(sequence_.states[last]) && may_overwrite(source, after, at, next))
      return without_chunks(after);
    const bool may_change = !source.empty() && !any_of_peers(source) && !reads_input(source);
    if (may_change && same(sequence_.states[at])) return without_chunks(source);
    const bool becomes_real = state.element.complex && !sequence_.states[last].element.complex;
    if (becomes_real && pass_ends(sequence_, order_, next, last).front() == last)
      if (const auto place = place_in_real(state.layout.box(problem_.rank), state.element.bytes(),
                                           after, order_)) {
        const Ports room{place->room};
        if (may_overwrite(source, room, at, next) && may_overwrite(room, after, next, last) &&
            !displaces_rows_of(place->room.view, state, sequence_.actions[next - 1].axis)) {
          Ports ports = work_ports(place->rest, state.element);
          ports.insert(ports.begin(), place->room);
          return ports;
        }
      }
    return work_ports({state.layout.box(problem_.rank)}, state.element);
  }

  static bool displaces_rows_of(const View& view, const State& state, int axis) {
    return displaces_rows(state.layout.shape()[axis], view.strides[axis] * state.element.bytes(),
                          state.element.precision);
  }

  Ports work_ports(const std::vector<Box>& boxes, const Element& element) {
    const std::int64_t bytes = element.bytes();
    Ports ports;
    std::int64_t end = 0;
    for (const Box& box : boxes) {
      const Arrangement arrangement = spread_planes(box.extents(), order_, bytes);
      ports.push_back({View{kSlotWork, end, box, arrangement.strides}, 0, -1});
      if (!box.empty()) end += whole_lines(arrangement.elements * bytes);
    }
    program_.work_bytes = std::max(program_.work_bytes, end);
    return ports;
  }

  // True when a pass from `source` to `sink` overwrites nothing that it has still to load.
  bool may_overwrite(const Ports& source, const Ports& sink, std::size_t at,
                     std::size_t next) const {
    const std::vector<Area> from = areas_of(source, sequence_.states[at].element);
    const std::vector<Area> to = areas_of(sink, sequence_.states[next].element);
    const std::vector<bool> inside = inside_axes(sequence_, order_, at, next);
    const int items = axis_of_items(sequence_, order_, at, next);
    return may_overwrite_in_order(from, to, inside,
                                  items >= 0 ? order_of_slices() : std::vector<int>{});
  }

  // True for what the user wants to keep.
  bool reads_input(const Ports& source) const {
    return problem_.source.slot != problem_.sink.slot && any_in(source, problem_.source.slot);
  }

  int slice_axis() const { return order_.front(); }

  // The axis along which slices are taken in ascending order, if they are.
  std::vector<int> order_of_slices() const {
    return problem_.in_order ? std::vector{slice_axis()} : std::vector<int>{};
  }

  void add_pass(std::size_t at, std::size_t next, const Ports& source, const Ports& sink) {
    Pass pass;
    pass.layout = sequence_.states[next].layout;
    if (at == next) {
      pass.stages.push_back(copy_stage(sequence_.states[at], source, sink));
    } else if (next == at + 1) {
      pass.stages.push_back(transform_stage(at, source, sink, -1));
    } else {
      auto [slice, bytes] =
          own_slices(sequence_.states[at + 1], problem_.rank, order_, slice_axis());
      Ports stored = with_what_is_in_cache(sink, sequence_.states[next].element.bytes(),
                                           areas_of(source, sequence_.states[at].element),
                                           slice_axis(), bytes);
      if (const Ports* const there = place_of_slices(at, source, sink, bytes)) {
        slice = in_cache(without_chunks(*there));
        stored = in_cache(sink);
      } else {
        pass.slice_bytes = bytes;
      }
      pass.stages.push_back(transform_stage(at, source, slice, slice_axis()));
      pass.stages.push_back(transform_stage(at + 1, slice, stored, slice_axis()));
    }
    program_.links.back().passes.push_back(std::move(pass));
  }

  // Where slices of so many bytes of the pass over actions `at` and the next one lie best, if not
  // in memory of their own: where the pass stores its results, unless it stores them past the
  // cache or they would change what real rows round to, or where a real result comes from, if no
  // row that is stored reaches those that follow; null: nowhere.
  const Ports* place_of_slices(std::size_t at, const Ports& source, const Ports& sink,
                               std::int64_t bytes) const {
    const State& before = sequence_.states[at];
    const State& slices = sequence_.states[at + 1];
    const State& after = sequence_.states[at + 2];
    const auto fit = [&](const State& state) {
      return state.element == slices.element && state.layout.shape() == slices.layout.shape();
    };
    const bool in_place = source.size() == 1 && sink.size() == 1 && share_a_slot(source, sink);
    const bool pairs_stay =
        before.element.complex || !cut_groups(sink, slices.layout.box(problem_.rank),
                                              sequence_.actions[at].axis, slice_axis());
    if (fit(after))
      return (in_place || is_cached(after, sink)) && pairs_stay &&
                     suit_slices(sink, slices.element.bytes(), bytes) &&
                     may_overwrite(source, sink, at, at + 1)
                 ? &sink
                 : nullptr;
    const bool in_array =
        sink.size() == 1 && all_in(source, sink.front().view.slot) &&
        (problem_.exchanges.empty() || !cut_groups(source, slices.layout.box(problem_.rank),
                                                   sequence_.actions[at + 1].axis, slice_axis()));
    std::vector<int> ordered = order_of_slices();
    ordered.push_back(order_[order_.size() - 2]);
    return in_array && fit(before) && are_large_slices(bytes) && !reads_input(source) &&
                   may_overwrite_in_order(areas_of(source, slices.element),
                                          areas_of(sink, after.element),
                                          inside_axes(sequence_, order_, at + 1, at + 2), ordered)
               ? &source
               : nullptr;
  }

  // True where results are not stored past the cache, if that is who reads them.
  bool are_cached(const State& state, Reader reader) const {
    const std::int64_t bytes = state.layout.box(problem_.rank).volume() * state.element.bytes();
    return stay_in_cache(bytes, reader, problem_.footprint);
  }
  bool is_cached(const State& state, const Ports& sink) const {
    return are_cached(state, any_of_peers(sink) ? Reader::peer : Reader::own);
  }

  // What is not for peers may stay in the cache where the rest does not. (2 ranks of a Zen 5 whose
  // cores have no cache in common: 64^3 c2c in place forward 0.30 -> 0.245 ms, 512^2 backward 0.40
  // -> 0.325.)
  Ports with_own_in_cache(const State& state, Ports sinks) const {
    if (!is_cached(state, sinks) && are_cached(state, Reader::own))
      for (Port& port : sinks) port.in_cache |= !is_slot_of_peer(port.view.slot);
    return sinks;
  }

  StageSpec common_spec(const State& before, const State& after, const Ports& source,
                        const Ports& sink) const {
    StageSpec spec;
    spec.source_element = before.element;
    spec.sink_element = after.element;
    spec.source_box = before.layout.box(problem_.rank);
    spec.sink_box = after.layout.box(problem_.rank);
    spec.sources = source;
    spec.sinks = with_own_in_cache(after, sink);
    spec.keep_source = reads_input(source);
    const bool in_slice = sink.empty() || sink.front().view.slot == kSlotSlice;
    spec.store_mode = in_slice || is_cached(after, sink) ? StoreMode::cached : StoreMode::streaming;
    return spec;
  }

  Stage copy_stage(const State& state, const Ports& source, const Ports& sink) const {
    StageSpec spec = common_spec(state, state, source, sink);
    spec.transforms = false;
    spec.axis = order_.back();
    return Stage(std::move(spec));
  }

  Stage transform_stage(std::size_t action, const Ports& source, const Ports& sink,
                        int slice) const {
    const int axis = sequence_.actions[action].axis;
    const AxisTransform& transform = (*problem_.transforms)[static_cast<std::size_t>(axis)];
    const bool forward = problem_.direction == Direction::forward;
    StageSpec spec =
        common_spec(sequence_.states[action], sequence_.states[action + 1], source, sink);
    spec.axis = axis;
    spec.kind = !transform.input_is_real() ? BatchKind::c2c
                : forward                  ? BatchKind::r2c
                                           : BatchKind::c2r;
    spec.direction = problem_.direction;
    spec.n = transform.n;
    spec.slice_axis = slice;
    spec.slices_in_order = problem_.in_order;
    spec.factor = axis == factor_axis_ ? problem_.factor : 1;
    return Stage(std::move(spec));
  }

  // The factor is free where a stage stores from a tile, which it does unless its axis is
  // contiguous.
  void choose_factor_axis() {
    for (const Action& action : sequence_.actions) {
      if (action.redistributes()) continue;
      if (factor_axis_ < 0 || action.axis != order_.back()) factor_axis_ = action.axis;
    }
  }

  ProgramProblem problem_;
  Sequence sequence_;
  std::vector<int> order_;
  int factor_axis_ = -1;
  Program program_;
};

}  // namespace

View UserSide::view(int rank) const {
  return {slot, layout.offset(rank) * element.bytes(), layout.box(rank), layout.strides(rank)};
}

std::int64_t Task::count() const {
  std::int64_t count = 0;
  for (const ItemRange& range : items) count += range.count();
  return count;
}

std::string Pass::name() const {
  if (!transforms()) return "copy";
  std::string text = "fft axis";
  for (const Stage& stage : stages)
    text += (&stage == &stages.front() ? " " : ",") + std::to_string(stage.axis());
  if (const int part = stages.front().spec().part; part > 0)
    text += ", part " + std::to_string(part);
  return text;
}

std::int64_t Pass::traffic_bytes() const {
  if (stages.size() == 1) return stages.front().traffic_bytes();
  return stages.front().source_bytes() + stages.back().sink_bytes();
}

ThreadMemory Program::thread_memory() const {
  ThreadMemory most;
  for (const Link& link : links)
    for (const Pass& pass : link.passes) {
      most.rows_ahead = std::max(most.rows_ahead, pass.stages.front().rows_ahead());
      for (const Stage& stage : pass.stages)
        most.bytes = std::max(most.bytes, pass.slice_bytes + stage.workspace_bytes());
    }
  return most;
}

std::vector<Stage*> Program::transform_stages() {
  std::vector<Stage*> result;
  for (Link& link : links)
    for (Pass& pass : link.passes)
      for (Stage& stage : pass.stages)
        if (stage.spec().transforms) result.push_back(&stage);
  return result;
}

void Program::use_engine(const Engine& engine, int threads) {
  for (Stage* stage : transform_stages()) stage->use_engine(engine, threads);
}

Program make_program(ProgramProblem problem) { return Builder(std::move(problem)).build(); }

}  // namespace weft
