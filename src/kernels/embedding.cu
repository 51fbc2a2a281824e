// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.hpp"
#include "kernels/embedding.hpp"
#include "kernels/fill.hpp"
#include "kernels/workspace.hpp"

// Rows of one index form a chain, which its first one sums: in order, and without atomics.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kNoRow = -1;

/// The chain that row `i` is in.
struct LinkRows {
  std::int64_t n, padding;
  const std::int64_t* index;
  std::int64_t* next;  // (n): the following row of this index, or kNoRow
  bool* first;         // (n): no row before has this index, and it is not the padding

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t entry = index[i];
    std::int64_t after = i + 1, before = i - 1;
    while (after < n && index[after] != entry)
      ++after;
    while (before >= 0 && index[before] != entry)
      --before;
    next[i] = after < n ? after : kNoRow;
    first[i] = before < 0 && entry != padding;
  }
};

template <class T>
struct SumChain {
  std::int64_t width;
  const T* dy;
  const std::int64_t* index;
  const std::int64_t* next;
  const bool* first;
  T* dweight;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / width, column = i - row * width;
    if (!first[row]) return;
    T sum = T(0);
    for (std::int64_t r = row; r != kNoRow; r = next[r])
      sum += dy[r * width + column];
    dweight[index[row] * width + column] = sum;
  }
};

}  // namespace

void embedding_grad(const CudaStream& s,
                    const View& dy,
                    const View& index,
                    std::int64_t padding,
                    const View& dweight) {
  const std::int64_t n = dy.shape[0], width = dy.shape[1];
  fill(s, 0, dweight);
  const Workspace<std::int64_t> next(s.device, n);
  const Workspace<bool> first(s.device, n);
  for_each(s, n, LinkRows{n, padding, index.as<const std::int64_t>(), next.data(), first.data()});
  with_float(dy.dtype, [&]<class T>() {
    for_each(s,
             n * width,
             SumChain<T>{width,
                         dy.as<const T>(),
                         index.as<const std::int64_t>(),
                         next.data(),
                         first.data(),
                         dweight.as<T>()});
  });
}

}  // namespace tandem::kernels
