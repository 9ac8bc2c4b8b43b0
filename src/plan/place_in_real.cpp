// Where complex elements find room in a real array: rows in two dimensions, else slices.
#include "plan/place_in_real.hpp"

#include <utility>

#include "base/rounding.hpp"
#include "plan/slices.hpp"

namespace weft {
namespace {

// Room for `there`, a part of what `whole` is the place of.
PlaceInReal place_of(const Port& real, const View& whole, const Box& there, std::vector<Box> rest,
                     std::int64_t element_bytes) {
  PlaceInReal place{real, std::move(rest)};
  place.room.chunk = -1;
  place.room.view = part_of(whole, there, element_bytes);
  return place;
}

std::optional<PlaceInReal> rows_in_real(const Box& box, std::int64_t element_bytes,
                                        const Port& real, const std::vector<int>& order) {
  const int row = order[0];
  const int column = order[1];
  const View& view = real.view;
  if (view.strides[column] != 1 || view.strides[row] % 2 != 0) return std::nullopt;
  Extents strides = view.strides;
  strides[row] /= 2;
  Box there = box;
  Box rest = box;
  there.upper[column] = rest.lower[column] = box.lower[column] + view.box.extent(column) / 2;
  if (there.empty()) return std::nullopt;
  const View whole{view.slot, view.offset_bytes, box, strides};
  return place_of(real, whole, there, {rest}, element_bytes);
}

std::optional<PlaceInReal> slices_in_real(const Box& box, std::int64_t element_bytes,
                                          const Port& real, const std::vector<int>& order) {
  const View& view = real.view;
  const int slice = order[0];
  const int row = order[1];
  const Extents dense = dense_strides(view.box.extents(), order);
  Extents strides = dense_strides(box.extents(), order);
  for (const int axis : order)
    if (axis != slice && view.strides[axis] != dense[axis]) return std::nullopt;
  // Where a slice of the result is no multiple of a complex element, each part lies a little nearer
  // to the beginning of its slice than the one before it.
  const std::int64_t real_bytes = element_bytes / 2;
  const std::int64_t nearer = view.strides[slice] % 2 * real_bytes;
  const std::int64_t first = round_up(nearer * (box.extent(slice) - 1), element_bytes);
  const std::int64_t rows = (dense[slice] * real_bytes - first) / (element_bytes * strides[row]);
  if (rows <= 0 || rows >= box.extent(row)) return std::nullopt;
  strides[slice] = view.strides[slice] / 2;
  const std::int64_t slices = box.extent(slice);
  const bool all = stay_in_second_level(element_bytes * box.volume() / slices);
  const std::int64_t first_there = all ? box.lower[slice] : box.upper[slice] - slices / 8;
  Box elsewhere = box;
  Box there = box;
  elsewhere.upper[slice] = there.lower[slice] = first_there;
  if (there.empty()) return std::nullopt;
  Box rest = there;
  there.upper[row] = rest.lower[row] = box.lower[row] + rows;
  const View whole{view.slot, view.offset_bytes + first, box, strides};
  std::vector<Box> without_room{rest};
  if (!all) without_room.insert(without_room.begin(), elsewhere);
  return place_of(real, whole, there, std::move(without_room), element_bytes);
}

}  // namespace

std::optional<PlaceInReal> place_in_real(const Box& box, std::int64_t element_bytes,
                                         const std::vector<Port>& real,
                                         const std::vector<int>& order) {
  if (order.size() < 2 || real.size() != 1 || box.empty()) return std::nullopt;
  return order.size() == 2 ? rows_in_real(box, element_bytes, real.front(), order)
                           : slices_in_real(box, element_bytes, real.front(), order);
}

}  // namespace weft
