// Which passes of a program along a long axis become two, and what comes before and after them.
#include <algorithm>

#include "plan/long_axis.hpp"
#include "plan/program.hpp"
#include "plan/tasks.hpp"

namespace weft {

namespace {

// The stage that ends the pass before, if `stage` reads what it has stored.
Predecessor before_within_link(Stage* last, const Stage& stage) {
  if (last == nullptr || !same_views(last->spec().sinks, stage.spec().sources)) return {};
  return {last, last->spec().sinks};
}

// Where the blocks with those rooms lie in what `spec` stores to of the user's.
std::vector<Port> homes_of(const StageSpec& spec, const std::vector<Port>& rooms) {
  std::vector<Port> homes;
  for (const Port& sink : spec.sinks)
    for (const Port& room : rooms) {
      const Box own = intersect(sink.view.box, room.view.box);
      if (is_slot_of_peer(sink.view.slot) || own.empty()) continue;
      homes.push_back(sink);
      homes.back().view = part_of(sink.view, own, spec.sink_element.bytes());
    }
  return homes;
}

// True when blocks wait in users' arrays, on all ranks, and not in windows.
bool are_in_arrays(const std::vector<BlockPlace>& places) {
  return !places.empty() && std::ranges::all_of(places, [](const BlockPlace& place) {
    return is_slot_of_array(place.view.slot);
  });
}

}  // namespace

Predecessor Program::before_exchange(std::size_t link) {
  if (link == 0 || chunks > 1 || links[link].passes.size() != 1 || links[link - 1].passes.empty())
    return {};
  const Exchange& brings = *links[link - 1].exchange;
  const Exchange* const returns = links[link].exchange.get();
  const StageSpec& spec = links[link].passes.front().stages.front().spec();
  const std::vector<BlockPlace> places = brings.places(0);
  const auto is_room = [](const BlockPlace& place) { return place.room_of_parts > 0; };
  const auto room = std::find_if(places.begin(), places.end(), is_room);
  if (returns && room == places.end() && places != returns->places(0)) return {};
  Predecessor before;
  if (returns || room != places.end() || are_in_arrays(places)) {
    const std::vector<BlockPlace> next_field = fields > 1 ? brings.places(1) : places;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const View& view = places[i].view;
      (is_room(places[i]) ? before.rooms : before.places)
          .push_back({view, next_field[i].view.offset_bytes - view.offset_bytes, -1});
    }
    before.homes = homes_of(spec, before.rooms);
    if (room != places.end()) before.home_parts = room->room_of_parts;
  } else if (share_a_slot(spec.sources, spec.sinks)) {
    before.places = spec.sinks;
  }
  Stage& last = links[link - 1].passes.back().stages.back();
  before.stage = last.needs_no_tile() ? nullptr : &last;
  return before;
}

std::vector<std::int64_t> Program::undivided_passes() {
  std::vector<std::int64_t> undivided;
  for (std::size_t number = 0; number < links.size(); ++number) {
    Stage* before = nullptr;  // that is surely not divided itself
    for (Pass& pass : links[number].passes) {
      if (!pass.transforms()) continue;
      const Stage& stage = pass.stages.front();
      const StageSpec& spec = stage.spec();
      const bool is_idle = spec.source_box.empty();
      const auto gains = [&] {
        return is_faster_in_two_passes(spec.n, spec.sink_element.precision);
      };
      const Predecessor other = before_exchange(number);
      const bool is_indifferent = is_idle && !links[number].exchange && other.all().empty();
      const bool reorders = is_indifferent || (can_reorder(other, stage) &&
                                               (is_idle || (stage.needs_no_tile() && gains())));
      undivided.push_back(reorders ? 0 : 1);
      const bool divides =
          can_take_two_passes(stage, before_within_link(before, stage), in_place) && gains();
      undivided.push_back(is_idle || divides ? 0 : 1);
      before = divides ? nullptr : &pass.stages.back();
    }
  }
  return undivided;
}

void Program::finish(const std::vector<std::int64_t>& undivided, int threads) {
  auto stays = undivided.begin();
  for (std::size_t number = 0; number < links.size(); ++number) {
    std::vector<Pass> passes;
    for (Pass& pass : links[number].passes) {
      const bool reorders = pass.transforms() && *stays++ == 0;
      const bool divides = pass.transforms() && *stays++ == 0;
      if (!reorders && !divides) {
        passes.push_back(std::move(pass));
        continue;
      }
      const Engine* const engine = pass.stages.front().engine();
      Stage* const last = passes.empty() ? nullptr : &passes.back().stages.back();
      const Predecessor before =
          reorders ? before_exchange(number) : before_within_link(last, pass.stages.front());
      Stage* const after =
          &pass == &links[number].passes.back() ? nullptr : &(&pass + 1)->stages.front();
      auto [first, second, bytes] = in_two_passes(pass.stages.front(), before, after);
      work_bytes = std::max(work_bytes, bytes);
      for (Stage* const changed : {before.stage, after})
        if (changed && changed->spec().transforms && !changed->engine())
          changed->use_engine(*engine, threads);
      for (Stage* stage : {&first, &second}) {
        stage->use_engine(*engine, threads);
        passes.emplace_back();
        passes.back().stages.push_back(std::move(*stage));
        passes.back().layout = pass.layout;
      }
    }
    links[number].passes = std::move(passes);
  }
  for (Link& link : links)
    for (Pass& pass : link.passes) pass.tasks = tasks_of(pass);
}

}  // namespace weft
