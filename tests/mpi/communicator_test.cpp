// Communicators: agreement on errors, comparison of arguments, small collectives, life times; what
// the ranks of a node share; and sessions inside a program that has started MPI itself.
#include "mpi/communicator.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>

#include "base/cache.hpp"
#include "mpi/shared_cache.hpp"
#include "support.hpp"
#include "weft/session.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::texts_of_all;
using testing::world;

/// Runs `body` in agreement and returns the error, which must be the same on all ranks.
std::string agreed_error(const std::function<void()>& body) {
  const std::string mine = error_of([&] { world().agree(body); });
  for (const std::string& other : texts_of_all(world(), mine)) EXPECT_EQ(mine, other);
  return mine;
}

std::string mismatch_error(const std::string& text) {
  const std::string mine = error_of([&] { world().require_same(text, "the arguments"); });
  for (const std::string& other : texts_of_all(world(), mine)) EXPECT_EQ(mine, other);
  return mine;
}

TEST(Agree, IsSilentWhenNobodyFails) {
  int runs = 0;
  EXPECT_EQ("", agreed_error([&] { ++runs; }));
  EXPECT_EQ(1, runs);
}

TEST(Agree, ThrowsTheErrorOfTheOneThatFailedOnAllRanks) {
  for (int failing = 0; failing < world().size(); ++failing) {
    const std::string error = agreed_error([&] {
      if (world().rank() == failing) throw Error(ErrorCode::invalid_layout, "no such box");
    });
    const std::string prefix = world().size() == 1 ? "" : "rank " + std::to_string(failing) + ": ";
    EXPECT_EQ("invalid_layout: " + prefix + "no such box", error);
  }
}

TEST(Agree, ThrowsTheErrorOfTheLowestRankWhenSeveralFail) {
  if (world().size() < 3) GTEST_SKIP() << "needs 3 ranks";
  const std::string error = agreed_error([&] {
    const int rank = world().rank();
    if (rank > 0)
      throw Error(rank == 1 ? ErrorCode::timeout : ErrorCode::io_failure,
                  "m" + std::to_string(rank));
  });
  EXPECT_EQ("timeout: rank 1: m1", error);
}

TEST(Agree, NamesNoRankWhenAllFailAlike) {
  EXPECT_EQ("unavailable: nowhere",
            agreed_error([] { throw Error(ErrorCode::unavailable, "nowhere"); }));
}

TEST(Agree, NamesTheRankWhenAllFailWithOneMessageButDifferentCodes) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const std::string error = agreed_error(
      [] { throw Error(world().rank() == 0 ? ErrorCode::timeout : ErrorCode::internal, "alike"); });
  EXPECT_EQ("timeout: rank 0: alike", error);
}

TEST(Agree, KeepsTheMessageWhenNested) {
  const int last = world().size() - 1;
  const std::string error = agreed_error([&] {
    world().agree([&] {
      if (world().rank() == last) throw Error(ErrorCode::timeout, "late");
    });
  });
  EXPECT_EQ(last == 0 ? "timeout: late" : "timeout: rank " + std::to_string(last) + ": late",
            error);
}

TEST(Agree, TurnsOtherExceptionsIntoErrors) {
  EXPECT_EQ("internal: odd", agreed_error([] { throw std::logic_error("odd"); }));
  EXPECT_EQ(0u, agreed_error([] { throw std::bad_alloc(); }).find("out_of_memory: "));
  EXPECT_EQ(0u, agreed_error([] { throw 7; }).find("internal: "));
}

TEST(RequireSame, IsSilentForEqualTexts) {
  EXPECT_EQ("", mismatch_error("shape 64x64x64\nfields 1\n"));
  EXPECT_EQ("", mismatch_error(""));
}

TEST(RequireSame, QuotesTheLinesThatDiffer) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (int odd = 1; odd < world().size(); ++odd) {
    const bool is_odd = world().rank() == odd;
    const std::string extent = is_odd ? "65" : "64";
    EXPECT_EQ(
        "rank_mismatch: the arguments differ among the ranks: rank 0 has \"shape 64x64x64\", "
        "rank " +
            std::to_string(odd) + " has \"shape 64x64x65\"",
        mismatch_error("fields 1\nshape 64x64x" + extent + "\nthreads 1\n"));
  }
}

TEST(RequireSame, TellsWhenALineIsMissing) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const std::string rest = world().rank() == 1 ? "" : "\nthreads 4";
  EXPECT_EQ(
      "rank_mismatch: the arguments differ among the ranks: rank 0 has \"threads 4\", rank 1 has "
      "nothing there",
      mismatch_error("fields 1" + rest));
  const std::string all = world().rank() == 1 ? "" : "fields 1";
  EXPECT_EQ(
      "rank_mismatch: the arguments differ among the ranks: rank 0 has \"fields 1\", rank 1 has "
      "nothing there",
      mismatch_error(all));
}

TEST(RequireSame, QuotesOfALongLineThePartThatDiffers) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const std::string before(500, 'a');
  const std::string after(500, 'b');
  const std::string error = mismatch_error(before + (world().rank() == 1 ? "X" : "Y") + after);
  EXPECT_NE(std::string::npos, error.find("\"..." + std::string(60, 'a') + "Yb")) << error;
  EXPECT_NE(std::string::npos, error.find("\"..." + std::string(60, 'a') + "Xb")) << error;
  EXPECT_LT(error.size(), 500u);
}

TEST(Communicator, ReducesAndGathers) {
  const Communicator& comm = world();
  const std::int64_t big = std::int64_t{1} << 40;
  const std::int64_t n = comm.size();
  EXPECT_EQ(big + n - 1, comm.max(big + comm.rank()));
  EXPECT_EQ(big, comm.min(big + comm.rank()));
  EXPECT_EQ(n * big + n * (n - 1) / 2, comm.sum(big + comm.rank()));
  EXPECT_EQ(0.5 + static_cast<double>(n - 1), comm.max(0.5 + comm.rank()));
  const double rank = comm.rank();
  EXPECT_EQ((std::vector<double>{static_cast<double>(n - 1), 0}),
            comm.max(std::vector<double>{rank, -rank}));
  const std::vector<std::int64_t> all = comm.gather({comm.rank(), big});
  for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) {
    EXPECT_EQ(static_cast<std::int64_t>(r), all[2 * r]);
    EXPECT_EQ(big, all[2 * r + 1]);
  }
}

TEST(Communicator, SplitsInTheOrderOfTheRanks) {
  const int rank = world().rank();
  const Communicator part = world().split(rank % 2);
  EXPECT_EQ((world().size() + 1 - rank % 2) / 2, part.size());
  EXPECT_EQ(rank / 2, part.rank());
  const Communicator node = world().split_node();
  EXPECT_GE(node.size(), 1);
  EXPECT_LE(node.size(), world().size());
}

TEST(Communicator, GivesAwayWhatItOwnsWhenMoved) {
  Communicator first = Communicator::duplicate(world().get());
  Communicator second = std::move(first);
  EXPECT_EQ(MPI_COMM_NULL, first.get());  // NOLINT(bugprone-use-after-move): what is asked
  EXPECT_EQ(world().size(), second.size());
  first = std::move(second);
  EXPECT_EQ(world().rank(), first.rank());
  first.barrier();
}

TEST(Communicator, ReportsAnMpiFailureWithMpisOwnText) {
  const int nowhere = world().size();
  const std::string error = error_of(
      [&] { check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, nowhere, 0, world().get()), "MPI_Send"); });
  EXPECT_EQ(0u, error.find("mpi_failure: MPI_Send failed: ")) << error;
  EXPECT_NE(std::string::npos, error.find("rank")) << error;
}

TEST(Session, LeavesMpiAloneThatAProgramHasStarted) {
  {
    const Session session;
    EXPECT_EQ(world().rank(), session.rank());
    EXPECT_EQ(world().size(), session.size());
  }
  int finalized = 1;
  MPI_Finalized(&finalized);
  EXPECT_EQ(0, finalized);
}

TEST(Session, RefusesAThreadLevelThatMpiDoesNotGive) {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI gives the highest level";
  EXPECT_EQ(0u, error_of([] { Session session(MPI_THREAD_MULTIPLE); }).find("unavailable: "));
}

TEST(SharedCache, IsAlikeOnANode) {
  const Communicator node = Communicator::duplicate(MPI_COMM_WORLD).split_node();
  const auto [part, is_near] = shared_cache_of(node);
  EXPECT_EQ(node.min(std::int64_t{is_near}), node.max(std::int64_t{is_near}));
  EXPECT_TRUE(is_near || part == 0);
  EXPECT_GE(part, 0);
  EXPECT_EQ(node.min(part), node.max(part));
  const std::optional<ThirdLevelCache> mine = third_level_cache();
  EXPECT_LE(part * node.size(), mine ? mine->bytes : 0);
}

}  // namespace
}  // namespace weft
