// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/embedding.hpp"

#include <algorithm>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

void embedding_grad(const HostStream& s,
                    const View& dy,
                    const View& index,
                    std::int64_t padding,
                    const View& dweight) {
  const std::int64_t n = dy.shape[0], width = dy.shape[1], vocabulary = dweight.shape[0];
  if (dweight.numel() == 0) return;
  // A thread has columns of its own, so that rows are summed in order without a lock.
  const std::int64_t grain = std::max<std::int64_t>(16, kGrain / (n + vocabulary));
  with_float(dy.dtype, [&]<class T>() {
    const auto* const row_of = index.as<const std::int64_t>();
    for_each_range(s, width, grain, [&](std::int64_t begin, std::int64_t end) {
      T* const to = dweight.as<T>();
      for (std::int64_t v = 0; v < vocabulary; ++v)
        std::fill_n(to + v * width + begin, end - begin, T(0));
      for (std::int64_t i = 0; i < n; ++i) {
        if (row_of[i] == padding) continue;
        T* const row = to + row_of[i] * width;
        const T* const from = dy.as<const T>() + i * width;
#pragma GCC ivdep
        for (std::int64_t c = begin; c < end; ++c)
          row[c] += from[c];
      }
    });
  });
}

}  // namespace tandem::kernels
