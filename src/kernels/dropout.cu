// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/dropout.hpp"
#include "kernels/random.inl"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kWords = 4;  // of a Philox block

/// One block of words of one row: the numbers are those of the host's kernel.
template <class T>
struct DropWords {
  std::uint64_t key;
  std::int64_t first_row;
  std::uint32_t threshold;  // a word below it drops
  compute_t<T> scale;
  Places<3> row;        // places of a row, in row-major order: x, y, mask
  std::int64_t length;  // elements of a row
  Divisor blocks;
  std::int64_t x_step, y_step, mask_step;  // between rows
  const T* x;
  T* y;
  bool* mask;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [r, block] = blocks.split(i);
    const auto words =
        philox(key, static_cast<std::uint64_t>(first_row + r), static_cast<std::uint64_t>(block));
    for (std::int64_t w = 0; w < kWords && block * kWords + w < length; ++w) {
      const Place<3> place = row(block * kWords + w);
      const bool keep = words.v[w] >= threshold;
      const auto value = load(x[r * x_step + place.at[0]]);
      y[r * y_step + place.at[1]] = keep ? store<T>(value * scale) : T(0);
      mask[r * mask_step + place.at[2]] = keep;
    }
  }
};

}  // namespace

void dropout(const CudaStream& s,
             double p,
             const DropoutKey& key,
             int row_dim,
             const View& x,
             const View& y,
             const View& mask) {
  if (x.numel() == 0) return;
  const View vx = without_dim(x, row_dim), vy = without_dim(y, row_dim),
             vm = without_dim(mask, row_dim);
  const KernelPlan row = make_row_major_plan({&vx, &vy, &vm});
  const std::int64_t blocks = (row.numel + kWords - 1) / kWords;
  with_any_float(x.dtype, [&]<class T>() {
    for_each(s,
             x.shape[row_dim] * blocks,
             DropWords<T>{wide(philox(key.seed, key.forward, key.path_hash), 0),
                          key.first_row,
                          static_cast<std::uint32_t>(p * 0x1p32),
                          static_cast<compute_t<T>>(1 / (1 - p)),
                          Places<3>(row),
                          row.numel,
                          Divisor(blocks),
                          x.strides[row_dim],
                          y.strides[row_dim],
                          mask.strides[row_dim],
                          x.as<const T>(),
                          y.as<T>(),
                          mask.as<bool>()});
  });
}

}  // namespace tandem::kernels
