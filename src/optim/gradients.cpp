// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/gradients.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "tandem/core/check.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/optimizer.hpp"

namespace tandem::optim {
namespace {

struct GradientRange {
  Arena* arena;
  int block;
  std::int64_t begin;
  std::int64_t end;

  friend bool operator<(const GradientRange& a, const GradientRange& b) {
    return std::tie(a.arena, a.block, a.begin) < std::tie(b.arena, b.block, b.begin);
  }
};

std::shared_ptr<ArenaSharing> ranks_of(const Tensor& x) {
  const auto arena = Arena::of(x);
  auto sharing = arena == nullptr ? nullptr : arena->sharing();
  return sharing != nullptr && sharing->parts() == ArenaSharing::Parts::ranks ? sharing : nullptr;
}

/// What this program has of an arena's blocks: all of them, or a rank's shares.
std::vector<ArenaSlice> own_slices(const Arena& arena) {
  const auto sharing = arena.sharing();
  const bool by_ranks = sharing != nullptr && sharing->parts() == ArenaSharing::Parts::ranks;
  return by_ranks ? sharing->slices() : arena.whole_slices();
}

/// Adds the gradients of elements [begin, end) of a block, as far as the slices have them.
void add_runs(const std::vector<ArenaSlice>& slices,
              const GradientRange& range,
              std::int64_t end,
              std::vector<Tensor>& runs) {
  for (const ArenaSlice& own : slices) {
    const std::int64_t from = std::max(range.begin, own.begin), to = std::min(end, own.end);
    const bool has_some = from < to || (from == to && range.begin == end);  // it may be empty
    if (own.block == range.block && has_some)
      runs.push_back(as_strided(own.grads, {to - from}, {1}, from - own.begin));
  }
}

}  // namespace

std::shared_ptr<ArenaSharing> ranks_of(const std::vector<Tensor>& params) {
  if (params.empty()) return nullptr;
  auto ranks = ranks_of(params.front());
  for (const Tensor& x : params)
    TANDEM_CHECK(
        ranks_of(x) == ranks,
        "gradients of ",
        params.size(),
        " parameters: ranks have shares of some of them (FullyShardedDataParallel) and not, "
        "or in another wrapper, of ",
        x.describe(),
        "; give the parameters of one wrapper at a time");
  return ranks;
}

std::vector<Tensor> gradient_runs(const std::vector<Tensor>& params) {
  std::vector<Tensor> runs;
  std::vector<GradientRange> ranges;
  std::unordered_set<const TensorImpl*> seen;
  for (const Tensor& x : params) {
    const Tensor grad = x.grad();
    if (!grad.defined() || !seen.insert(&x.impl()).second) continue;
    const auto arena = Arena::of(x);
    const ArenaPlace* at =
        arena == nullptr ? nullptr : &arena->layout().places()[*arena->place_of(x)];
    const bool inside = at != nullptr && arena->grads(at->block).defined() &&
                        &arena->grads(at->block).buffer() == &grad.buffer();
    if (inside)
      ranges.push_back({arena.get(), at->block, at->offset, at->offset + at->extent});
    else
      runs.push_back(grad.detach());
  }
  std::sort(ranges.begin(), ranges.end());
  std::map<const Arena*, std::vector<ArenaSlice>> slices;
  for (std::size_t first = 0, next; first < ranges.size(); first = next) {
    const GradientRange& p = ranges[first];
    std::int64_t end = p.end;
    for (next = first + 1; next < ranges.size(); ++next) {
      const GradientRange& q = ranges[next];
      if (q.arena != p.arena || q.block != p.block || q.begin != end) break;
      end = q.end;
    }
    const auto [own, is_new] = slices.try_emplace(p.arena);
    if (is_new) own->second = own_slices(*p.arena);
    add_runs(own->second, p, end, runs);
  }
  return runs;
}

void find_nonfinite(const Tensor& x, const Tensor& flag) {
  dispatch_on_any(
      x.stream(), make_work(Work::Kind::reduce, "find_nonfinite", {x}, {flag}), [&](auto& s) {
        kernels::find_nonfinite(
            s, x.dtype(), x.numel(), x.data(), static_cast<std::int32_t*>(flag.data()));
      });
}

bool has_nonfinite(const std::vector<Tensor>& grads, const ArenaSharing* ranks) {
  std::map<Device, Tensor> flags;
  for (const Tensor& x : grads) {
    const auto [at, is_new] = flags.try_emplace(x.device());
    if (is_new) at->second = zeros({}, {.dtype = DType::i32, .device = x.device()});
    find_nonfinite(x, at->second);
  }
  const bool here =
      std::ranges::any_of(flags, [](const auto& entry) { return entry.second.item_or(0) != 0; });
  if (ranks == nullptr) return here;
  const Tensor any =
      full({}, here ? 1 : 0, {.dtype = DType::i32, .device = ranks->slices().front().device});
  ranks->all_reduce(any, ArenaSharing::OverRanks::max);
  return any.item_or(0) != 0;
}

}  // namespace tandem::optim
