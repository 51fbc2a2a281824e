// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/random.hpp"
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

struct Offsets {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t mask = 0;
};

Offsets place_in_row(const RowDims& row, bool dense, std::int64_t place) {
  if (dense) return {place, place, place};
  Offsets at;
  for (int d = row.shape.size() - 1; d >= 0; --d) {
    const std::int64_t i = place % row.shape.data()[d];
    place /= row.shape.data()[d];
    at.x += i * row.x.data()[d];
    at.y += i * row.y.data()[d];
    at.mask += i * row.mask.data()[d];
  }
  return at;
}

// One Philox key for the whole mask: the counter is then free for row and place.
std::uint64_t mask_key(const DropoutKey& key) {
  return wide(philox(key.seed, key.forward, key.path_hash), 0);
}

template <class T>
void run(const HostStream& s,
         double p,
         const DropoutKey& key,
         int row_dim,
         const View& x,
         const View& y,
         const View& mask) {
  constexpr std::int64_t kWords = 4;
  const RowDims row(row_dim, x, y, mask);
  const bool dense = row.dense();
  const std::int64_t places = numel(row.shape);
  const std::int64_t draws = (places + kWords - 1) / kWords;
  const std::int64_t rows = x.shape[row_dim];
  const std::uint64_t k = mask_key(key);
  const auto threshold = static_cast<std::uint64_t>(p * 0x1p32);  // a word below it drops
  const T scale = T(1 / (1 - p));
  for_each_range(s, rows * draws, kGrain / kWords, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t r = i / draws;
      const std::int64_t first = i % draws * kWords;
      const auto words = philox(k,
                                static_cast<std::uint64_t>(key.first_row + r),
                                static_cast<std::uint64_t>(first / kWords));
      for (std::int64_t w = 0; w < std::min(kWords, places - first); ++w) {
        const Offsets at = place_in_row(row, dense, first + w);
        const bool keep = words.v[w] >= threshold;
        const T value = x.as<const T>()[r * x.strides[row_dim] + at.x];
        y.as<T>()[r * y.strides[row_dim] + at.y] = keep ? value * scale : T(0);
        mask.as<bool>()[r * mask.strides[row_dim] + at.mask] = keep;
      }
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
  with_float(x.dtype, [&]<class T>() { run<T>(s, p, key, row_dim, x, y, mask); });
}

}  // namespace tandem::kernels
