// Places and counts of blocks in message buffers.
#include "exchange/message_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/rounding.hpp"

namespace weft {

BlockArea::BlockArea(const std::vector<std::vector<std::int64_t>>& sizes,
                     std::int64_t granule_bytes)
    : granule_bytes_(granule_bytes) {
  chunk_offsets_.push_back(0);
  for (const std::vector<std::int64_t>& chunk : sizes) {
    std::vector<std::int64_t>& first = first_granule_.emplace_back(1, 0);
    for (const std::int64_t bytes : chunk)
      first.push_back(first.back() + ceil_div(bytes, granule_bytes));
    chunk_offsets_.push_back(chunk_offsets_.back() + first.back() * granule_bytes);
  }
}

std::int64_t BlockArea::unit_offset(int unit) const {
  const int chunks = static_cast<int>(first_granule_.size());
  return unit / chunks * field_bytes() + chunk_offsets_[static_cast<std::size_t>(unit % chunks)];
}

std::int64_t BlockArea::block_offset(int chunk, int block) const {
  return first_granule_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(block)] *
         granule_bytes_;
}

std::int64_t BlockArea::granules(int chunk, int block) const {
  const std::vector<std::int64_t>& first = first_granule_[static_cast<std::size_t>(chunk)];
  return first[static_cast<std::size_t>(block) + 1] - first[static_cast<std::size_t>(block)];
}

std::int64_t BlockArea::unit_granules(int chunk) const {
  return first_granule_[static_cast<std::size_t>(chunk)].back();
}

std::int64_t BlockArea::most_granules() const {
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& first : first_granule_) most = std::max(most, first.back());
  return most;
}

OwnedType OwnedType::bytes(std::int64_t bytes) {
  const int count = to_int(bytes, "the size of an MPI datatype", ErrorCode::internal);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(count, MPI_BYTE, &type), "MPI_Type_contiguous");
  return OwnedType(type);
}

OwnedType::OwnedType(MPI_Datatype type) : type_(type) {
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
}

OwnedType::~OwnedType() {
  int finalized = 0;
  if (type_ != MPI_DATATYPE_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
    MPI_Type_free(&type_);
}

OwnedType::OwnedType(OwnedType&& other) noexcept
    : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}

OwnedType& OwnedType::operator=(OwnedType&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}

std::int64_t granule_that_fits(const Communicator& comm,
                               const std::function<bool(std::int64_t granule_bytes)>& fits) {
  std::int64_t granule = 64;
  while (comm.max(std::int64_t{!fits(granule)}) != 0) granule *= 2;
  return granule;
}

MessageExchange::MessageExchange(ExchangeProblem problem, Peers peers, std::int64_t most_granules)
    : problem_(std::move(problem)),
      peers_(peers),
      blocks_(redistribution_between(problem_.from, problem_.to, problem_.comm->rank())) {
  const auto sends = sizes_of(blocks_.sends, Share::travelling);
  const auto receives = sizes_of(blocks_.receives, Share::travelling);
  // A unit of one granule per block cannot shrink any further.
  const auto least =
      static_cast<std::int64_t>(std::max(blocks_.sends.size(), blocks_.receives.size()));
  granule_bytes_ = granule_that_fits(*problem_.comm, [&](std::int64_t granule) {
    send_area_ = BlockArea(sends, granule);
    receive_area_ = BlockArea(receives, granule);
    return std::max(send_area_.most_granules(), receive_area_.most_granules()) <=
           std::max(most_granules, least);
  });
  granule_ = OwnedType::bytes(granule_bytes_);
  if (!problem_.home) own_area_ = BlockArea(sizes_of(blocks_.sends, Share::own), granule_bytes_);
}

bool MessageExchange::travels(const Block& block) const {
  return block.peer != problem_.comm->rank() && serves(peers_, problem_, block.peer);
}

bool MessageExchange::is_own(const Block& block) const {
  return block.peer == problem_.comm->rank() && serves(peers_, problem_, block.peer);
}

Box MessageExchange::part_of_unit(const Box& block, int unit) const {
  return chunk_of(block, problem_.cut, problem_.chunks, chunk_of_unit(unit));
}

std::vector<std::vector<std::int64_t>> MessageExchange::sizes_of(const std::vector<Block>& blocks,
                                                                 Share share) const {
  std::vector<std::vector<std::int64_t>> sizes(static_cast<std::size_t>(problem_.chunks));
  for (int chunk = 0; chunk < problem_.chunks; ++chunk)
    for (const Block& block : blocks) {
      const bool here = share == Share::own ? is_own(block) : travels(block);
      sizes[static_cast<std::size_t>(chunk)].push_back(
          here ? arrangement_in_message(problem_, part_of_unit(block.box, chunk)).elements *
                     problem_.element_bytes
               : 0);
    }
  return sizes;
}

ExchangeMemory MessageExchange::memory() const {
  return {.send_bytes = send_area_.field_bytes() * problem_.fields,
          .receive_bytes = receive_area_.field_bytes() * problem_.fields,
          .own_bytes = own_area_.field_bytes() * problem_.fields};
}

View MessageExchange::outbox(int unit, int block) const {
  const Block& to = blocks_.sends[static_cast<std::size_t>(block)];
  if (const auto& home = problem_.home; home && is_own(to))
    return view_of_unit(home->view, home->field_bytes, problem_, unit);
  const Box part = part_of_unit(to.box, unit);
  const BlockArea& area = is_own(to) ? own_area_ : send_area_;
  const std::int64_t offset = (is_own(to) ? buffers_.own_offset : buffers_.send_offset) +
                              area.unit_offset(unit) +
                              area.block_offset(chunk_of_unit(unit), block);
  return {is_own(to) ? kSlotOwn : kSlotSend, offset, part,
          arrangement_in_message(problem_, part).strides};
}

View MessageExchange::inbox(int unit, int block) const {
  const Block& from = blocks_.receives[static_cast<std::size_t>(block)];
  if (from.peer == problem_.comm->rank()) {  // it is loaded where it was stored
    const auto own = std::find_if(blocks_.sends.begin(), blocks_.sends.end(),
                                  [&](const Block& sent) { return sent.peer == from.peer; });
    return outbox(unit, static_cast<int>(own - blocks_.sends.begin()));
  }
  const Box part = part_of_unit(from.box, unit);
  const std::int64_t offset = buffers_.receive_offset + receive_area_.unit_offset(unit) +
                              receive_area_.block_offset(chunk_of_unit(unit), block);
  return {kSlotReceive, offset, part, arrangement_in_message(problem_, part).strides};
}

int MessageExchange::distance_to(int peer, Toward toward) const {
  const int size = problem_.comm->size();
  const int step = toward == Toward::higher_ranks ? 1 : -1;
  return ((peer - problem_.comm->rank()) * step + size) % size;
}

std::vector<MessageExchange::Message> MessageExchange::around(const std::vector<Block>& blocks,
                                                              const BlockArea& area, int chunk,
                                                              Toward toward) const {
  std::vector<Message> result;
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    const int granules =
        to_int(area.granules(chunk, block), "the size of a message", ErrorCode::internal);
    if (granules > 0)
      result.push_back({blocks[static_cast<std::size_t>(block)].peer, granules,
                        area.block_offset(chunk, block)});
  }
  std::sort(result.begin(), result.end(), [&](const Message& a, const Message& b) {
    return distance_to(a.peer, toward) < distance_to(b.peer, toward);
  });
  return result;
}

std::vector<MessageExchange::Message> MessageExchange::sends_around(int chunk) const {
  return around(blocks_.sends, send_area_, chunk, Toward::higher_ranks);
}

std::vector<MessageExchange::Message> MessageExchange::receives_around(int chunk) const {
  return around(blocks_.receives, receive_area_, chunk, Toward::lower_ranks);
}

void MessageExchange::bind(std::span<std::byte* const> bases) {
  send_base_ = bases[kSlotSend] + buffers_.send_offset;
  receive_base_ = bases[kSlotReceive] + buffers_.receive_offset;
}

void MessageExchange::bind_fixed() {
  send_base_ = buffers_.send_memory + buffers_.send_offset;
  receive_base_ = buffers_.receive_memory + buffers_.receive_offset;
}

void MessageExchange::require_fixed(std::span<std::byte* const> bases) const {
  if (bases[kSlotSend] != buffers_.send_memory || bases[kSlotReceive] != buffers_.receive_memory)
    throw Error(ErrorCode::internal, "an exchange with fixed buffers was given others");
}

Arrangement arrangement_in_message(const ExchangeProblem& problem, const Box& part) {
  return nearly_dense(part.extents(), problem.order, problem.element_bytes);
}

std::string obstacle_of_messages(const ExchangeProblem& problem) {
  int* most = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(problem.comm->get(), MPI_TAG_UB, &most, &found), "MPI_Comm_get_attr");
  const std::int64_t last =
      std::int64_t{problem.tag} + std::int64_t{problem.fields} * problem.chunks - 1;
  if (!found || last <= *most) return "";
  return "messages would need tags up to " + std::to_string(last) + ", this MPI has them up to " +
         std::to_string(*most) + "; fewer fields or chunks need fewer";
}

}  // namespace weft
