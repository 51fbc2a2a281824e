// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/nccl/links.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/runtime/runtime.hpp"

#include "comm/nccl/piece_runs.hpp"
#include "comm/staged.hpp"
#include "runtime/gpu/driver_turn.hpp"
#include "runtime/gpu/gpu_backend.hpp"

// Note [Calls of all ranks from one thread]: NCCL calls may hang until all ranks have made them,
// unless they are one group; and its communicators must be given calls in the same order on every
// rank. A group of the ranks' calls by the rank that comes last has both. The communicators do not
// block, so that a failure ends by the time-out, and they can be aborted.
namespace tandem::comm {
namespace {

using Clock = std::chrono::steady_clock;

NcclType nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return NcclType::f32;
    case DType::f64:
      return NcclType::f64;
    case DType::f16:
      return NcclType::f16;
    case DType::bf16:
      return NcclType::bf16;
    case DType::i32:
      return NcclType::i32;
    case DType::i64:
      return NcclType::i64;
    default:
      return NcclType::u8;  // of bool, too: its bytes are 0 and 1
  }
}

int gpu_of(Device device) {
  return logical_device(device).gpu()->ordinal();
}

/// Whether NCCL's own settings keep it from using GPUs as peers.
bool is_told_to_leave_peers() {
  const auto is = [](const char* name, std::string_view value) {
    const char* const text = std::getenv(name);
    return text != nullptr && value == text;
  };
  return is("NCCL_P2P_DISABLE", "1") || is("NCCL_P2P_LEVEL", "LOC") || is("NCCL_P2P_LEVEL", "0");
}

/// A group of calls; ended also where one of them throws.
class Calls {
 public:
  explicit Calls(const NcclApi& nccl) : nccl_(nccl) { nccl_(nccl_.group_start); }
  ~Calls() {
    if (!ended_) nccl_.group_end.function();
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  void end() {
    ended_ = true;
    nccl_(nccl_.group_end);
  }

 private:
  const NcclApi& nccl_;
  bool ended_ = false;
};

}  // namespace

NcclLinks::NcclLinks(const NcclApi& nccl,
                     std::vector<Device> devices,
                     std::chrono::milliseconds timeout)
    : nccl_(nccl), devices_(std::move(devices)), timeout_(timeout), comms_(devices_.size()) {}

void NcclLinks::connect() {
  const DriverTurn turn;
  check_peers();
  try {
    make_communicators();
    warm_up();
  } catch (const DeviceError& e) {
    // NCCL asks the driver for memory, which allocators that keep some do not give back for it.
    if (std::string_view(e.what()).find("out of memory") == std::string_view::npos) throw;
    for (const Device d : devices_)
      gpu_backend().release_unused(gpu_of(d));
    make_communicators();
    warm_up();
  }
}

// NCCL believes the driver: over links on which a copy has hung or changed bytes its collectives
// hang or give wrong values.
void NcclLinks::check_peers() const {
  if (is_told_to_leave_peers()) return;
  for (auto d = devices_.begin(); d != devices_.end(); ++d) {
    for (auto other = devices_.begin(); other != d; ++other) {
      const int a = gpu_of(*other), b = gpu_of(*d);
      TANDEM_CHECK(!gpu_backend().are_broken_peers(a, b),
                   "NCCL: GPUs ",
                   a,
                   " and ",
                   b,
                   " say that they reach each other's memory, but a copy between them hung or "
                   "changed its bytes; set NCCL_P2P_DISABLE=1, or use backend local");
    }
  }
}

void NcclLinks::make_communicators() {
  try {
    NcclId id;
    nccl_(nccl_.unique_id, &id);
    Calls calls(nccl_);
    for (std::size_t r = 0; r < devices_.size(); ++r) {
      NcclConfig config;
      const auto gpu = gpu_backend().make_current(gpu_of(devices_[r]));
      nccl_(nccl_.init_rank,
            &comms_[r],
            static_cast<int>(devices_.size()),
            id,
            static_cast<int>(r),
            &config);
    }
    calls.end();
    settle(nccl_.init_rank.name);
  } catch (...) {
    abort();
    throw;
  }
}

// The first collective takes most of NCCL's memory. Here nothing is lost if there is none.
void NcclLinks::warm_up() {
  std::vector<std::unique_ptr<Staged>> elements;
  for (const Device d : devices_)
    elements.push_back(std::make_unique<Staged>(logical_device(d), sizeof(float)));
  try {
    Calls calls(nccl_);
    for (std::size_t r = 0; r < devices_.size(); ++r) {
      const int rank = static_cast<int>(r);
      void* const p = elements[r]->data();
      nccl_(nccl_.all_reduce, p, p, 1, NcclType::f32, NcclOp::sum, comm(rank), stream(rank));
    }
    calls.end();
    settle(nccl_.all_reduce.name);
  } catch (...) {
    abort();
    throw;
  }
}

NcclLinks::~NcclLinks() {
  abort();
}

// Abort frees what a communicator has without waiting for others, and is all that may be called
// after a failure.
void NcclLinks::abort() noexcept {
  for (std::size_t r = 0; r < comms_.size(); ++r) {
    if (comms_[r] == nullptr) continue;
    const auto gpu = gpu_backend().make_current(gpu_of(devices_[r]));
    nccl_.abort.function(std::exchange(comms_[r], nullptr));
  }
}

void NcclLinks::close() noexcept {
  if (comms_.front() == nullptr) return;
  try {
    const DriverTurn turn;
    for (std::size_t r = 0; r < comms_.size(); ++r) {
      const auto gpu = gpu_backend().make_current(gpu_of(devices_[r]));
      nccl_(nccl_.finalize, comms_[r]);
    }
    settle(nccl_.finalize.name);
    for (std::size_t r = 0; r < comms_.size(); ++r) {
      const auto gpu = gpu_backend().make_current(gpu_of(devices_[r]));
      nccl_(nccl_.destroy, std::exchange(comms_[r], nullptr));
    }
  } catch (const std::exception&) {
    abort();
  }
}

std::shared_ptr<Transport> NcclLinks::make(const std::vector<Device>& devices) const {
  return std::make_shared<NcclLinks>(nccl_, devices, timeout_);
}

CUstream_st* NcclLinks::stream(int rank) const {
  return logical_device(devices_[static_cast<std::size_t>(rank)]).side_stream().native()->handle();
}

bool NcclLinks::takes(const Piece& piece) const {
  const bool bits =
      piece.op == ReduceOp::band || piece.op == ReduceOp::bor || piece.op == ReduceOp::bxor;
  if (piece.sources.size() == 1) return piece.divisor == 1 && piece.op != ReduceOp::premul_sum;
  // NCCL's minimum of a NaN and a number is the number; here it is the NaN.
  const bool selects = piece.op == ReduceOp::min || piece.op == ReduceOp::max;
  const bool loses_nan = selects && is_float(piece.dtype);
  // Reductions are of all ranks; to one of them, or to all.
  const bool all = piece.sources.size() == devices_.size();
  return all && !bits && !loses_nan &&
         (piece.targets.size() == 1 || piece.targets.size() == devices_.size());
}

void NcclLinks::queue(const std::vector<const Piece*>& pieces) {
  if (comms_.front() == nullptr) connect();
  try {
    Calls calls(nccl_);
    for (std::span<const Piece* const> rest = pieces; !rest.empty();) {
      const auto parts = rest.first(std::min(rest.size(), devices_.size()));
      const bool gathers = is_all_gather(parts, devices_.size());
      const bool is_whole = gathers || is_reduce_scatter(parts, devices_.size());
      if (gathers)
        all_gather(parts);
      else if (is_whole)
        reduce_scatter(parts);
      else
        queue(*rest.front());
      rest = rest.subspan(is_whole ? parts.size() : 1);
    }
    calls.end();
    settle(nccl_.group_end.name);
    for (const auto& [rank, op] : std::exchange(made_, {}))
      nccl_(nccl_.destroy_op, op, comm(rank));
  } catch (...) {
    made_.clear();
    abort();
    for (const Device d : devices_)  // NCCL does not say that a GPU is lost
      gpu_backend().check_context(gpu_of(d), nccl_.group_end.name);
    throw;
  }
}

void NcclLinks::queue(const Piece& piece) {
  if (piece.count == 0) return;
  if (piece.sources.size() > 1) {
    if (piece.targets.size() > 1)
      all_reduce(piece);
    else
      reduce(piece);
  } else if (piece.targets.size() >= devices_.size() - 1 && devices_.size() > 2) {
    broadcast(piece);
  } else {
    for (std::size_t i = 0; i < piece.targets.size(); ++i)
      send(piece, i);
  }
}

void NcclLinks::send(const Piece& piece, std::size_t target) {
  const int from = piece.source_ranks[0], to = piece.target_ranks[target];
  if (piece.sources[0] == piece.targets[target]) return;
  const auto count = static_cast<std::size_t>(piece.count);
  const NcclType type = nccl_type(piece.dtype);
  nccl_(nccl_.send, piece.sources[0], count, type, to, comm(from), stream(from));
  nccl_(nccl_.receive, piece.targets[target], count, type, from, comm(to), stream(to));
}

void NcclLinks::broadcast(const Piece& piece) {
  const int root = piece.source_ranks[0];
  for (int r = 0; r < static_cast<int>(devices_.size()); ++r) {
    const auto at = std::ranges::find(piece.target_ranks, r);
    // The root may keep what it has: then it is its own target.
    void* const to = at == piece.target_ranks.end()
                         ? const_cast<void*>(piece.sources[0])
                         : piece.targets[static_cast<std::size_t>(at - piece.target_ranks.begin())];
    nccl_(nccl_.broadcast,
          piece.sources[0],
          to,
          static_cast<std::size_t>(piece.count),
          nccl_type(piece.dtype),
          root,
          comm(r),
          stream(r));
  }
}

NcclOp NcclLinks::reduction(const Piece& piece, std::size_t source) {
  switch (piece.op) {
    case ReduceOp::product:
      return NcclOp::product;
    case ReduceOp::min:
      return NcclOp::min;
    case ReduceOp::max:
      return NcclOp::max;
    case ReduceOp::avg:
      return NcclOp::average;
    case ReduceOp::premul_sum:
      break;
    default:
      return NcclOp::sum;
  }
  // The factor in the type of the values: NCCL reads it at once.
  const double factor = piece.factors[source];
  float single = static_cast<float>(factor);
  Half half(single);
  BFloat16 brain(single);
  double whole = factor;
  void* scalar = &single;
  if (piece.dtype == DType::f64) scalar = &whole;
  if (piece.dtype == DType::f16) scalar = &half;
  if (piece.dtype == DType::bf16) scalar = &brain;
  const int rank = piece.source_ranks[source];
  NcclOp op{};
  nccl_(nccl_.make_factor, &op, scalar, nccl_type(piece.dtype), NcclResidence::host, comm(rank));
  made_.emplace_back(rank, op);
  return op;
}

void NcclLinks::reduce(const Piece& piece) {
  const int root = piece.target_ranks[0];
  for (std::size_t s = 0; s < piece.sources.size(); ++s) {
    const int rank = piece.source_ranks[s];
    nccl_(nccl_.reduce,
          piece.sources[s],
          rank == root ? piece.targets[0] : nullptr,
          static_cast<std::size_t>(piece.count),
          nccl_type(piece.dtype),
          reduction(piece, s),
          root,
          comm(rank),
          stream(rank));
  }
}

void NcclLinks::all_reduce(const Piece& piece) {
  for (std::size_t s = 0; s < piece.sources.size(); ++s) {
    const int rank = piece.source_ranks[s];
    const auto at = std::ranges::find(piece.target_ranks, rank) - piece.target_ranks.begin();
    nccl_(nccl_.all_reduce,
          piece.sources[s],
          piece.targets[static_cast<std::size_t>(at)],
          static_cast<std::size_t>(piece.count),
          nccl_type(piece.dtype),
          reduction(piece, s),
          comm(rank),
          stream(rank));
  }
}

void NcclLinks::all_gather(std::span<const Piece* const> parts) {
  const Piece& first = *parts.front();
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const int rank = static_cast<int>(r);
    nccl_(nccl_.all_gather,
          parts[r]->sources[0],
          first.targets[r],
          static_cast<std::size_t>(first.count),
          nccl_type(first.dtype),
          comm(rank),
          stream(rank));
  }
}

void NcclLinks::reduce_scatter(std::span<const Piece* const> parts) {
  const Piece& first = *parts.front();
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const int rank = static_cast<int>(r);
    nccl_(nccl_.reduce_scatter,
          first.sources[r],
          parts[r]->targets[0],
          static_cast<std::size_t>(first.count),
          nccl_type(first.dtype),
          reduction(first, r),
          comm(rank),
          stream(rank));
  }
}

void NcclLinks::settle(const char* call) {
  const auto end = Clock::now() + timeout_;
  for (const NcclComm comm : comms_) {
    for (NcclResult state = NcclResult::in_progress; state == NcclResult::in_progress;) {
      nccl_(nccl_.async_error, comm, &state);
      nccl_.check(state, call);
      if (state == NcclResult::success) break;
      if (Clock::now() > end) {
        throw Timeout(tandem::detail::concat(
            "NCCL: ", call, " did not end within ", timeout_.count(), " ms"));
      }
      std::this_thread::yield();
    }
  }
}

}  // namespace tandem::comm
