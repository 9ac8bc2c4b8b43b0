// Fetch: what a later call will load, and what this one will store, is brought into the cache
// meanwhile, line by line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.hpp"
#include "engine/line.hpp"

namespace weft {

template <class Real>
class Fetch {
 public:
  /// Of nothing.
  Fetch() = default;
  /// Of reals `first` to `last` (past the end) of each of `count` rows, wherever they are.
  Fetch(const Real* const* rows, std::int64_t count, std::int64_t first, std::int64_t last)
      : loads_{rows, rows + count, first, last, first} {}

  /// Likewise what will be stored by way of the cache.
  void add_stores(const Real* const* rows, std::int64_t count, std::int64_t first,
                  std::int64_t last) {
    stores_ = {rows, rows + count, first, last, first};
  }

  /// All will be brought by so many calls of go_early() and then so many of go_on(), which brings
  /// one line: the former bring what the latter leave, and a third at least if `in_thirds`; without
  /// such calls it is brought now. Lines that are under way hold up whatever else a core waits for,
  /// so they should be few at any time.
  void spread(std::int64_t early_calls, std::int64_t calls, bool in_thirds) {
    const std::int64_t loads = loads_.lines();
    early_ = stores_.lines() + std::max(loads - calls, in_thirds ? loads / 3 : 0);
    early_step_ = early_calls > 0 ? ceil_div(early_, early_calls) : early_;
    if (early_calls == 0 && early_ > 0) bring_early();
  }
  [[gnu::always_inline]] void go_early() {
    if (early_ > 0) bring_early();
  }
  [[gnu::always_inline]] void go_on() {
    if (!loads_.is_done()) loads_.template bring_line<Use::load>();
  }

 private:
  enum class Use { load, store };

  struct Walk {
    const Real* const* row = nullptr;
    const Real* const* end = nullptr;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t at = 0;

    bool is_done() const { return row == end; }
    std::int64_t lines_of_row() const { return ceil_div(last - first, kLine<Real>); }
    std::int64_t lines() const { return (end - row) * lines_of_row(); }
    // What will be loaded has to be in the second-level cache only.
    template <Use kUse>
    [[gnu::always_inline]] static void bring(const Real* line) {
      kUse == Use::load ? __builtin_prefetch(line, 0, 2) : __builtin_prefetch(line, 1, 3);
    }
    template <Use kUse>
    [[gnu::always_inline]] void bring_line() {
      bring<kUse>(*row + at);
      at += kLine<Real>;
      if (at < last) return;
      bring<kUse>(*row + last - 1);  // in which the row ends
      at = first;
      ++row;
    }
    // Likewise all lines of a row, by fours.
    [[gnu::always_inline]] void bring_row() {
      const Real* const from = *row++;
      for (std::int64_t line = first; line < last; line += 4 * kLine<Real>)
#pragma GCC unroll 4
        for (int number = 0; number < 4; ++number)
          bring<Use::load>(from + line + number * kLine<Real>);
      bring<Use::load>(from + last - 1);
    }
  };

  [[gnu::noinline]] void bring_early() {
    early_ -= early_step_;
    std::int64_t left = early_step_;
    for (; left > 0 && !stores_.is_done(); --left) stores_.template bring_line<Use::store>();
    if (loads_.is_done()) return;
    const std::int64_t of_row = loads_.lines_of_row();
    const bool whole_rows = of_row % 4 == 0 && left % of_row == 0 && loads_.at == loads_.first;
    for (; whole_rows && left > 0 && !loads_.is_done(); left -= of_row) loads_.bring_row();
    for (; left > 0 && !loads_.is_done(); --left) loads_.template bring_line<Use::load>();
  }

  Walk loads_;
  Walk stores_;
  std::int64_t early_ = 0;       // lines that go_early() has still to bring
  std::int64_t early_step_ = 0;  // in each call
};

}  // namespace weft
