// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/row_dropout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/dropout.hpp"
#include "ops/dropout.hpp"

namespace tandem::libtorch {
namespace {

constexpr std::int64_t kWords = 4;               // of a Philox block
constexpr std::int64_t kBlocksAtOnce = 1 << 20;  // for memory's sake
constexpr std::int64_t kLow = 0xFFFF'FFFF;       // a word, in an i64

at::Tensor lower(const at::Tensor& x) {
  return x & kLow;
}
at::Tensor upper(const at::Tensor& x) {
  return x.bitwise_right_shift(32).bitwise_and_(kLow);
}
std::uint64_t lower(std::uint64_t x) {
  return x & kLow;
}
std::uint64_t upper(std::uint64_t x) {
  return x >> 32;
}

/// Philox 4x32-10 of Random123, as kernels/random.inl uses it: the four words of blocks, each below
/// 2^32 in an integer of 64 bits.
///
/// @tparam Word  std::uint64_t, or at::Tensor (i64) for many blocks.
/// @source Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
template <class Word>
std::array<Word, kWords> philox(std::uint64_t key, const Word& draw, const Word& place) {
  constexpr int kRounds = 10;
  constexpr std::int64_t kFactors[] = {0xD251'1F53, 0xCD9E'8D57};
  constexpr std::uint32_t kBumps[] = {0x9E37'79B9, 0xBB67'AE85};
  std::array<Word, kWords> w{lower(place), upper(place), lower(draw), upper(draw)};
  std::array<std::uint32_t, 2> k{static_cast<std::uint32_t>(key),
                                 static_cast<std::uint32_t>(key >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const Word first = w[0] * kFactors[0], second = w[2] * kFactors[1];
    w = {(upper(second) ^ w[1]) ^ std::int64_t{k[0]},
         lower(second),
         (upper(first) ^ w[3]) ^ std::int64_t{k[1]},
         lower(first)};
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i] += kBumps[i];
  }
  return w;
}

/// The key of a whole mask, whose counter is row and place, as kernels/dropout.cpp has it.
std::uint64_t mask_key(const kernels::DropoutKey& key) {
  const auto words = philox<std::uint64_t>(key.seed, key.forward, key.path_hash);
  return words[1] << 32 | words[0];
}

/// What is kept of `rows` of `places` elements each.
at::Tensor keep_mask(const kernels::DropoutKey& key,
                     double p,
                     std::int64_t rows,
                     std::int64_t places,
                     const at::TensorOptions& on) {
  const std::int64_t blocks = (places + kWords - 1) / kWords, all = rows * blocks;
  const auto threshold = static_cast<std::int64_t>(p * 0x1p32);  // a word below it drops
  const std::uint64_t of_mask = mask_key(key);
  const at::Tensor mask = at::empty({all, kWords}, on.dtype(at::kBool));
  for (std::int64_t begin = 0; begin < all; begin += kBlocksAtOnce) {
    const std::int64_t end = std::min(all, begin + kBlocksAtOnce);
    const at::Tensor i = at::arange(begin, end, on.dtype(at::kLong));
    const at::Tensor row = i.div(blocks, "trunc").add_(key.first_row);
    const at::Tensor block = i.remainder(blocks);
    const auto words = philox(of_mask, row, block);
    const at::Tensor piece = mask.narrow(0, begin, end - begin);
    for (std::int64_t w = 0; w < kWords; ++w)
      piece.select(1, w).copy_(words[static_cast<std::size_t>(w)].ge(threshold));
  }
  return mask.view({rows, blocks * kWords}).narrow(1, 0, places);
}

}  // namespace

at::Tensor row_dropout(const at::Tensor& x, double p) {
  const int row_dim = row_dim_of(static_cast<int>(x.dim()));
  std::vector<std::int64_t> row_first = x.sizes().vec();
  std::rotate(row_first.begin(), row_first.begin() + row_dim, row_first.begin() + row_dim + 1);
  const std::int64_t rows = row_first.front();
  const kernels::DropoutKey key = next_dropout_key(rows);
  if (x.numel() == 0) return x.clone();
  at::Tensor mask;
  {
    const at::NoGradGuard off;
    mask = keep_mask(key, p, rows, x.numel() / rows, at::device(x.device()))
               .reshape(row_first)
               .movedim(0, row_dim);
  }
  return at::native_dropout_backward(x, mask, 1 / (1 - p));  // x times mask times the scale
}

}  // namespace tandem::libtorch
