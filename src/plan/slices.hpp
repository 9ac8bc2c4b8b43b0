// Slices: where the slices between two fused stages lie, and what of them stays in the cache.
#pragma once

#include <utility>
#include <vector>

#include "mpi/shared_cache.hpp"
#include "plan/overlap.hpp"
#include "plan/sequence.hpp"
#include "plan/tiling.hpp"

namespace weft {

/// What the calls of a rank go through, and the third-level cache that may hold it from one pass to
/// the next.
struct Footprint {
  std::int64_t call_bytes = 0;  ///< arrays and buffers, all fields
  SharedCache shared_cache;
};

/// Who reads results next.
enum class Reader { own, peer };

/// True where results of so many bytes are better not stored past the cache: those of a call that
/// stays in it as a whole (a Xeon with 480 MiB, Granite Rapids, not past it: 128^3 on 1 rank with 2
/// threads c2c 4.8 -> 3.3 ms, on 2 ranks r2c 3.0 -> 2.0, c2c 5.5 -> 4.2; but 192^3 c2c 19 -> 27),
/// and small ones. (128^3 c2c on 2 ranks of a Zen 5, past it: 5.3 -> 4.3 ms.) Small for a peer are
/// those that the core's own cache could hold, or, beside input and output, the rank's part of the
/// shared one (2 ranks of a Zen 4, not past it: 64^3 r2c 0.28 -> 0.21, 80^3 r2c backward 0.77 ->
/// 0.53). Where that is far, memory is nearer than the other core's cache (2 ranks of a Zen 5, past
/// it: 48^3 c2c 0.18 / 0.17 -> 0.12 / 0.11, 24^3 0.035 / 0.029 -> 0.021 / 0.022; but 16^3 0.010 /
/// 0.009 -> 0.011 / 0.011).
bool stay_in_cache(std::int64_t bytes, Reader reader, const Footprint& footprint);

/// From one row of a slice to the next, in lines of the cache, for rows of so many lines and
/// `points` of them: an odd number, so that what is loaded of them is spread over the first-level
/// cache. But where columns of so many points fit into it, and not together with what they are
/// loaded from, that is better kept in a few of its lines: a multiple of eight. (Columns of 256
/// points in the L2, 48 KiB of L1: 5.8 -> 4.8 ns for 8 points; 256^3 c2c on 2 ranks 44.2 -> 42.5
/// ms.)
std::int64_t lines_to_next_row(std::int64_t lines, std::int64_t points,
                               std::int64_t first_level_bytes);

/// A slice across `slice_axis` of a state's box at `rank` in memory of its own, with rows as
/// lines_to_next_row() tells, and its bytes.
std::pair<std::vector<Port>, std::int64_t> own_slices(const State& state, int rank,
                                                      const std::vector<int>& order,
                                                      int slice_axis);

/// What a pass goes through in so many bytes stays in the cache meanwhile, beside what streams
/// past.
bool stay_in_second_level(std::int64_t bytes);

/// Slices of so many bytes that, if they were beside what is loaded and stored for them, would
/// displace it, but stay in the cache. (In the array instead: 384^3 r2c in place, 1 rank with 2
/// threads, 104 / 111 -> 94 / 92 ms.)
bool are_large_slices(std::int64_t bytes);

/// True where slices of so many bytes may as well lie in the array itself: all that stay in the
/// cache, where its rows begin with cache lines (256^3 c2c in place, 1 rank with 2 threads: 57 ->
/// 52 ms; 512^3, whose slices do not stay, 548 -> 646), else large or small ones (64^3 r2c in place
/// forward 0.26 -> 0.23; but 200^3 9.9 -> 10.5).
bool suit_slices(const std::vector<Port>& ports, std::int64_t element_bytes, std::int64_t bytes);

/// True where a block of `ports`, which make up `box`, ends within a group of rows along `row_axis`
/// that are transformed together, within a slice across `slice_axis`. Two real signals are the
/// parts of a complex one, and what each rounds to depends on the other.
bool cut_groups(const std::vector<Port>& ports, const Box& box, int row_axis, int slice_axis);

/// `sinks` of a fused pass, with elements of so many bytes, with a note where what was loaded for a
/// slice, which is as large as the one between the stages, lies in the cache until its result, or
/// that of a slice soon after it, is stored there. (Then not past the cache: 200^3 r2c in single,
/// natural output in shared arrays, 2 ranks of a Zen 4, backward 7.5 -> 6.1 ms.)
std::vector<Port> with_what_is_in_cache(std::vector<Port> sinks, std::int64_t sink_bytes,
                                        const std::vector<Area>& sources, int slice_axis,
                                        std::int64_t slice_bytes);

/// `ports` where all lies in the cache.
std::vector<Port> in_cache(std::vector<Port> ports);

}  // namespace weft
