// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/runtime/stream.hpp"

#include "kernels/pool_axis.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// Windows of output columns that follow each other alike: of one width, at one distance.
struct ColumnRun {
  std::int64_t size = 0;    ///< output columns
  std::int64_t begin = 0;   ///< first input column of the first window
  std::int64_t stride = 1;  ///< input columns from one window to the next
  std::int64_t width = 0;
  std::int64_t count = 0;  ///< as Window's
};

/// A pooling over the planes of images; windows go over rows and columns separately.
///
/// The data lies as (image, row, column, channel): channels-last tensors as they are, row-major
/// ones with images = n * c and one channel.
struct Pooling {
  std::int64_t images = 0, channels = 1;
  std::int64_t h = 0, w = 0;
  PoolAxis row_axis, column_axis;
  std::vector<Window> rows, columns;        ///< theirs, one per output row and column
  std::vector<ColumnRun> column_runs = {};  ///< `columns` once more, where there is one channel
  bool tiles = false;                       ///< every input position is in exactly one window

  std::int64_t pixels() const noexcept {
    return images * static_cast<std::int64_t>(rows.size() * columns.size());
  }
};

/// y and the index (i32, h * w + column of the plane) of each maximum; the first of equals, NaN
/// above all.
void max_pool(
    const HostStream& s, const Pooling& p, const View& x, const View& y, const View& index);
void max_pool(
    const CudaStream& s, const Pooling& p, const View& x, const View& y, const View& index);
/// dx[index] += dy over all windows; the rest of dx becomes zero.
void max_pool_scatter(
    const HostStream& s, const Pooling& p, const View& dy, const View& index, const View& dx);
void max_pool_scatter(
    const CudaStream& s, const Pooling& p, const View& dy, const View& index, const View& dx);
/// y = x[index].
void max_pool_gather(
    const HostStream& s, const Pooling& p, const View& x, const View& index, const View& y);
void max_pool_gather(
    const CudaStream& s, const Pooling& p, const View& x, const View& index, const View& y);
/// y = mean of each window.
void avg_pool(const HostStream& s, const Pooling& p, const View& x, const View& y);
void avg_pool(const CudaStream& s, const Pooling& p, const View& x, const View& y);
/// The gradient of avg_pool.
void avg_pool_grad(const HostStream& s, const Pooling& p, const View& dy, const View& dx);
void avg_pool_grad(const CudaStream& s, const Pooling& p, const View& dy, const View& dx);

}  // namespace tandem::kernels
