// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/gradients.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "tandem/optim/arena.hpp"
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

}  // namespace

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
  for (std::size_t first = 0, next; first < ranges.size(); first = next) {
    const GradientRange& p = ranges[first];
    std::int64_t end = p.end;
    for (next = first + 1; next < ranges.size(); ++next) {
      const GradientRange& q = ranges[next];
      if (q.arena != p.arena || q.block != p.block || q.begin != end) break;
      end = q.end;
    }
    runs.push_back(as_strided(p.arena->grads(p.block), {end - p.begin}, {1}, p.begin));
  }
  return runs;
}

void find_nonfinite(const Tensor& x, const Tensor& flag) {
  dispatch(x.stream(), make_work(Work::Kind::reduce, "find_nonfinite", {x}, {flag}), [&](auto& s) {
    kernels::find_nonfinite(
        s, x.dtype(), x.numel(), x.data(), static_cast<std::int32_t*>(flag.data()));
  });
}

bool has_nonfinite(const std::vector<Tensor>& grads) {
  std::map<Device, Tensor> flags;
  for (const Tensor& x : grads) {
    const auto [at, is_new] = flags.try_emplace(x.device());
    if (is_new) at->second = zeros({}, {.dtype = DType::i32, .device = x.device()});
    find_nonfinite(x, at->second);
  }
  return std::ranges::any_of(flags, [](const auto& entry) { return entry.second.item() != 0; });
}

}  // namespace tandem::optim
