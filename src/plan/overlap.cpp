// What lies where in two views of the same memory.
#include "plan/overlap.hpp"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

bool apart(const Area& a, const Area& b) {
  return a.view.slot != b.view.slot || a.view.box.empty() || b.view.box.empty() ||
         a.view.offset_bytes + a.span_bytes() <= b.view.offset_bytes ||
         b.view.offset_bytes + b.span_bytes() <= a.view.offset_bytes;
}

// How far the element at the first index of `axis` lies before the one with global index 0.
std::int64_t lead(const Area& area, int axis) {
  return area.view.box.lower[axis] * area.view.strides[axis] * area.element_bytes;
}

bool is_one_index(const Area& a, const Area& b, int axis) {
  return a.view.box.extent(axis) == 1 && b.view.box.extent(axis) == 1 &&
         a.view.box.lower[axis] == b.view.box.lower[axis];
}

bool steps_alike(const Area& a, const Area& b, int axis) {
  return a.view.strides[axis] * a.element_bytes == b.view.strides[axis] * b.element_bytes;
}

// True when each element of both is at the same address in both.
bool same_addresses(const Area& a, const Area& b) {
  if (a.view.slot != b.view.slot || a.element_bytes != b.element_bytes) return false;
  std::int64_t distance = b.view.offset_bytes - a.view.offset_bytes;
  for (int axis = 0; axis < a.view.box.dimensions(); ++axis) {
    if (is_one_index(a, b, axis)) continue;
    if (!steps_alike(a, b, axis)) return false;
    distance -= lead(b, axis) - lead(a, axis);
  }
  return distance == 0;
}

// True when the parts of `owner` lie one after another, and each part of `guest` in the room that
// the owner's part at the same index has up to the next one.
bool within(const Area& guest, const Area& owner, const std::vector<bool>& inside) {
  std::int64_t first = guest.view.offset_bytes - owner.view.offset_bytes;
  std::int64_t last = first;
  std::int64_t pitch = std::numeric_limits<std::int64_t>::max();
  for (int axis = 0; axis < guest.view.box.dimensions(); ++axis) {
    if (inside[static_cast<std::size_t>(axis)]) continue;
    const std::int64_t before = guest.view.box.lower[axis] - owner.view.box.lower[axis];
    if (before < 0 || guest.view.box.upper[axis] > owner.view.box.upper[axis]) return false;
    const std::int64_t step = owner.view.strides[axis] * owner.element_bytes;
    const std::int64_t nearer =
        (guest.view.box.extent(axis) - 1) * (guest.view.strides[axis] * guest.element_bytes - step);
    first += std::min<std::int64_t>(nearer, 0) - before * step;
    last += std::max<std::int64_t>(nearer, 0) - before * step;
    if (owner.view.box.extent(axis) > 1) pitch = std::min(pitch, step);
  }
  return first >= 0 && last + guest.span_bytes(inside) <= pitch &&
         owner.span_bytes(inside) <= pitch;
}

// True when one axis is inside, and the elements of each part of `guest` are some of those of the
// owner's part at the same index: every so many rows of pencils.
bool is_among(const Area& guest, const Area& owner, const std::vector<bool>& inside) {
  if (guest.element_bytes != owner.element_bytes ||
      std::count(inside.begin(), inside.end(), true) != 1)
    return false;
  const auto along =
      static_cast<int>(std::find(inside.begin(), inside.end(), true) - inside.begin());
  std::int64_t first = guest.view.offset_bytes - owner.view.offset_bytes;
  for (int axis = 0; axis < guest.view.box.dimensions(); ++axis) {
    if (axis == along) continue;
    const std::int64_t lower = guest.view.box.lower[axis] - owner.view.box.lower[axis];
    const bool alike = guest.view.box.extent(axis) == 1 || steps_alike(guest, owner, axis);
    if (!alike || lower < 0 || guest.view.box.upper[axis] > owner.view.box.upper[axis])
      return false;
    first -= lower * owner.view.strides[axis] * owner.element_bytes;
  }
  const std::int64_t step = owner.view.strides[along] * owner.element_bytes;
  const std::int64_t guest_step = guest.view.strides[along] * guest.element_bytes;
  const std::int64_t last = first + (guest.view.box.extent(along) - 1) * guest_step;
  return first >= 0 && first % step == 0 && guest_step % step == 0 &&
         last < owner.view.box.extent(along) * step;
}

// True when each part of `to` ends before those parts of `from` begin that are further on along
// `axis`, at the same indices of the other axes that are not `inside`. How far before is linear in
// each index, so the first ones and the last ones tell.
bool stays_behind(const Area& to, const Area& from, const std::vector<bool>& inside, int axis) {
  std::int64_t distance = from.view.offset_bytes - to.view.offset_bytes - to.span_bytes(inside) +
                          from.view.strides[axis] * from.element_bytes;
  for (int other = 0; other < to.view.box.dimensions(); ++other) {
    if (inside[static_cast<std::size_t>(other)]) continue;
    const std::int64_t end = from.view.box.upper[other] - (other == axis ? 1 : 0);
    const std::int64_t first = other == axis
                                   ? to.view.box.lower[other]
                                   : std::max(to.view.box.lower[other], from.view.box.lower[other]);
    const std::int64_t last = std::min(to.view.box.upper[other], end) - 1;
    if (last < first) return true;
    const std::int64_t from_step = from.view.strides[other] * from.element_bytes;
    const std::int64_t to_step = to.view.strides[other] * to.element_bytes;
    distance -= lead(from, other) - lead(to, other);
    distance += std::min(first * (from_step - to_step), last * (from_step - to_step));
  }
  return distance >= 0;
}

template <class May>
bool all_may(const std::vector<Area>& from, const std::vector<Area>& to, May may) {
  for (const Area& source : from)
    for (const Area& sink : to)
      if (!may(source, sink)) return false;
  return true;
}

}  // namespace

std::int64_t Area::span_bytes() const {
  return view.box.empty()
             ? 0
             : span_bytes(std::vector<bool>(static_cast<std::size_t>(view.box.dimensions()), true));
}

std::int64_t Area::span_bytes(const std::vector<bool>& inside) const {
  std::int64_t elements = 1;
  for (int axis = 0; axis < view.box.dimensions(); ++axis)
    if (inside[static_cast<std::size_t>(axis)])
      elements += (view.box.extent(axis) - 1) * view.strides[axis];
  return elements * element_bytes;
}

bool may_overwrite(const Area& from, const Area& to, const std::vector<bool>& inside) {
  return apart(from, to) || same_addresses(from, to) || within(from, to, inside) ||
         within(to, from, inside) || is_among(from, to, inside) || is_among(to, from, inside);
}

bool may_overwrite(const std::vector<Area>& from, const std::vector<Area>& to,
                   const std::vector<bool>& inside) {
  return all_may(from, to, [&](const Area& source, const Area& sink) {
    return may_overwrite(source, sink, inside);
  });
}

bool may_overwrite_in_order(const Area& from, const Area& to, const std::vector<bool>& inside,
                            std::vector<int> ordered) {
  if (may_overwrite(from, to, inside)) return true;
  if (ordered.empty()) return false;
  const int fastest = ordered.back();
  ordered.pop_back();
  std::vector<bool> together = inside;
  together[static_cast<std::size_t>(fastest)] = true;
  return may_overwrite_in_order(from, to, inside, ordered) ||
         (may_overwrite_in_order(from, to, together, ordered) &&
          stays_behind(to, from, inside, fastest));
}

bool may_overwrite_in_order(const std::vector<Area>& from, const std::vector<Area>& to,
                            const std::vector<bool>& inside, const std::vector<int>& ordered) {
  return all_may(from, to, [&](const Area& source, const Area& sink) {
    return may_overwrite_in_order(source, sink, inside, ordered);
  });
}

}  // namespace weft
