// MessageExchange: what all exchanges by MPI messages have in common, namely where blocks lie in
// the send and receive buffers and how they are counted. Who sends when is up to the methods
// derived from it.
#pragma once

#include <mpi.h>

#include <functional>

#include "exchange/peers.hpp"

namespace weft {

/// Places of the blocks of one side. Units follow one another; within one, blocks do in the order
/// of their peers, each rounded up to whole granules. Example: granule 64, blocks of 100 and 30
/// bytes, 2 fields: offsets 0, 128, 192, 320.
class BlockArea {
 public:
  BlockArea() = default;
  /// `sizes[chunk][block]`: bytes of each chunk of each block; 0 for those that have no place here.
  BlockArea(const std::vector<std::vector<std::int64_t>>& sizes, std::int64_t granule_bytes);

  /// From the start of the area to a unit, and from the unit to a block in it.
  std::int64_t unit_offset(int unit) const;
  std::int64_t block_offset(int chunk, int block) const;
  std::int64_t granules(int chunk, int block) const;
  std::int64_t unit_granules(int chunk) const;
  /// Of the largest unit.
  std::int64_t most_granules() const;
  std::int64_t field_bytes() const { return chunk_offsets_.empty() ? 0 : chunk_offsets_.back(); }

 private:
  std::int64_t granule_bytes_ = 1;
  std::vector<std::vector<std::int64_t>> first_granule_;  // per chunk: of each block, then the end
  std::vector<std::int64_t> chunk_offsets_;               // of each chunk, then the end
};

/// An MPI datatype that frees itself.
class OwnedType {
 public:
  /// Of some bytes in a row.
  static OwnedType bytes(std::int64_t bytes);

  OwnedType() = default;
  /// Commits `type`.
  explicit OwnedType(MPI_Datatype type);
  ~OwnedType();
  OwnedType(OwnedType&& other) noexcept;
  OwnedType& operator=(OwnedType&& other) noexcept;
  MPI_Datatype get() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The smallest granule, from 64 bytes on, with which `fits` is true on all ranks. Collective.
std::int64_t granule_that_fits(const Communicator& comm,
                               const std::function<bool(std::int64_t granule_bytes)>& fits);

class MessageExchange : public Exchange {
 public:
  // Methods that place the blocks that travel in another way override these.
  ExchangeMemory memory() const override;
  ExchangeTraffic traffic() const override { return traffic_to(peers_, problem_, blocks_.sends); }
  void attach(const ExchangeBuffers& buffers) override { buffers_ = buffers; }
  View outbox(int unit, int block) const override;
  View inbox(int unit, int block) const override;
  /// The unit in which messages are counted; the same on all ranks.
  std::int64_t granule_bytes() const { return granule_bytes_; }

 protected:
  /// Collective over problem.comm. Counts and displacements within a unit stay below
  /// `most_granules`, which MPI's int sets and tests make smaller: granules grow for that.
  MessageExchange(ExchangeProblem problem, Peers peers, std::int64_t most_granules);

  const ExchangeProblem& problem() const { return problem_; }
  int units() const { return problem_.fields * problem_.chunks; }
  int chunk_of_unit(int unit) const { return unit % problem_.chunks; }
  const Redistribution& blocks() const { return blocks_; }
  /// Blocks that do not travel have no granules in these.
  const BlockArea& send_area() const { return send_area_; }
  const BlockArea& receive_area() const { return receive_area_; }
  MPI_Datatype granule() const { return granule_.get(); }
  const ExchangeBuffers& buffers() const { return buffers_; }
  bool travels(const Block& block) const;
  Box part_of_unit(const Box& block, int unit) const;

  /// A block that has a message of its own.
  struct Message {
    int peer = 0;
    int granules = 0;
    std::int64_t offset = 0;  // from the start of the unit
  };
  enum class Toward { higher_ranks, lower_ranks };
  /// The messages of one chunk that are not empty, in the order in which their peers follow this
  /// rank around the circle of ranks.
  std::vector<Message> sends_around(int chunk) const;
  std::vector<Message> receives_around(int chunk) const;
  /// How many steps `peer` is away from this rank around the circle.
  int distance_to(int peer, Toward toward) const;

  void bind(std::span<std::byte* const> bases);
  /// For ExchangeMemory::fixed: binds the memory of all calls to come, and later makes sure that a
  /// call has the same.
  void bind_fixed();
  void require_fixed(std::span<std::byte* const> bases) const;
  std::byte* send_memory() const { return send_base_; }
  std::byte* receive_memory() const { return receive_base_; }
  std::byte* send_unit(int unit) const { return send_base_ + send_area_.unit_offset(unit); }
  std::byte* receive_unit(int unit) const {
    return receive_base_ + receive_area_.unit_offset(unit);
  }

 private:
  std::vector<Message> around(const std::vector<Block>& blocks, const BlockArea& area, int chunk,
                              Toward toward) const;
  bool is_own(const Block& block) const;
  enum class Share { travelling, own };
  std::vector<std::vector<std::int64_t>> sizes_of(const std::vector<Block>& blocks,
                                                  Share share) const;

  ExchangeProblem problem_;
  Peers peers_;
  Redistribution blocks_;
  std::int64_t granule_bytes_ = 0;
  OwnedType granule_;
  BlockArea send_area_;
  BlockArea receive_area_;
  BlockArea own_area_;  // blocks as in send_area_; none if what stays has a home
  ExchangeBuffers buffers_;
  std::byte* send_base_ = nullptr;
  std::byte* receive_base_ = nullptr;
};

/// How a block, or a chunk of one, lies in the message that carries it.
Arrangement arrangement_in_message(const ExchangeProblem& problem, const Box& part);

/// Why messages cannot carry `problem`; empty when they can.
std::string obstacle_of_messages(const ExchangeProblem& problem);

/// The most granules that an int can count.
inline constexpr std::int64_t kMostGranules = 2147483647;

}  // namespace weft
