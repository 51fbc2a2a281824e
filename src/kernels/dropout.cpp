// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/dropout.hpp"

#include "kernels/random.inl"

namespace tandem::kernels {
namespace {

// The dimensions of a row, and where its elements are in each tensor.
struct RowDims {
  Shape shape;
  Strides x;
  Strides y;
  Strides mask;

  RowDims(int row_dim, const View& vx, const View& vy, const View& vm) {
    for (int d = 0; d < vx.shape.size(); ++d) {
      if (d == row_dim) continue;
      shape.push_back(vx.shape[d]);
      x.push_back(vx.strides[d]);
      y.push_back(vy.strides[d]);
      mask.push_back(vm.strides[d]);
    }
  }
  bool dense() const {
    return is_contiguous(shape, x) && is_contiguous(shape, y) && is_contiguous(shape, mask);
  }
};

// One Philox key for the whole mask: the counter is then free for row and place.
std::uint64_t mask_key(const DropoutKey& key) {
  return wide(philox(key.seed, key.forward, key.path_hash), 0);
}

constexpr std::int64_t kWords = 4;    // of a Philox block
constexpr std::int64_t kChunk = 256;  // words drawn at once, then used as vectors

template <class T>
struct Apply {
  std::uint32_t threshold;  // a word below it drops
  compute_t<T> scale;
  T* y;
  const T* x;
  bool* mask;

  void element(std::uint32_t word,
               std::int64_t at_x,
               std::int64_t at_y,
               std::int64_t at_mask) const {
    const bool keep = word >= threshold;
    y[at_y] = keep ? store<T>(load(x[at_x]) * scale) : T(0);
    mask[at_mask] = keep;
  }
  // Places [first, first + n) of a dense row.
  void dense(const std::uint32_t* words, std::int64_t first, std::int64_t n) const {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i)
      element(words[i], first + i, first + i, first + i);
  }
  void strided(const std::uint32_t* words,
               const RowDims& row,
               std::int64_t first,
               std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t place = first + i;
      std::int64_t at_x = 0, at_y = 0, at_mask = 0;
      for (int d = row.shape.size() - 1; d >= 0; --d) {
        const std::int64_t k = place % row.shape.data()[d];
        place /= row.shape.data()[d];
        at_x += k * row.x.data()[d];
        at_y += k * row.y.data()[d];
        at_mask += k * row.mask.data()[d];
      }
      element(words[i], at_x, at_y, at_mask);
    }
  }
};

template <class T>
void run(const HostStream& s,
         double p,
         const DropoutKey& key,
         int row_dim,
         const View& x,
         const View& y,
         const View& mask) {
  const RowDims row(row_dim, x, y, mask);
  const bool dense = row.dense();
  const std::int64_t places = numel(row.shape);
  const std::int64_t chunks = (places + kChunk - 1) / kChunk;
  const std::uint64_t k = mask_key(key);
  const auto threshold = static_cast<std::uint32_t>(p * 0x1p32);
  for_each_range(
      s, x.shape[row_dim] * chunks, kGrain / kChunk / 4, [&](std::int64_t begin, std::int64_t end) {
        std::uint32_t words[kChunk];
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t r = i / chunks;
          const std::int64_t first = i % chunks * kChunk;
          const std::int64_t n = std::min(kChunk, places - first);
          const Apply<T> apply{threshold,
                               static_cast<compute_t<T>>(1 / (1 - p)),
                               y.as<T>() + r * y.strides[row_dim],
                               x.as<const T>() + r * x.strides[row_dim],
                               mask.as<bool>() + r * mask.strides[row_dim]};
          for (std::int64_t w = 0; w < n; w += kWords) {
            const auto block = philox(k,
                                      static_cast<std::uint64_t>(key.first_row + r),
                                      static_cast<std::uint64_t>((first + w) / kWords));
            std::copy_n(block.v, kWords, words + w);
          }
          if (dense)
            apply.dense(words, first, n);
          else
            apply.strided(words, row, first, n);
        }
      });
}

}  // namespace

void dropout(const HostStream& s,
             double p,
             const DropoutKey& key,
             int row_dim,
             const View& x,
             const View& y,
             const View& mask) {
  if (x.numel() == 0) return;
  with_any_float(x.dtype, [&]<class T>() { run<T>(s, p, key, row_dim, x, y, mask); });
}

}  // namespace tandem::kernels
