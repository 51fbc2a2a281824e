// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <cub/device/device_radix_sort.cuh>

#include "kernels/copy.inl"
#include "kernels/cuda/launch.hpp"
#include "runtime/cuda/check.hpp"

// The tests' stand-in for CUDA has a header of this name that sorts on the host.
namespace tandem::kernels {

/// sorted = keys in ascending order, positions = where each was; equal keys keep their order.
///
/// @param keys  (n), not negative. @param bits  of the largest key; fewer are sorted faster.
/// @param sorted, positions  (n).
/// @throws DeviceError
inline void sort_positions(const CudaStream& s,
                           std::int64_t n,
                           const std::int64_t* keys,
                           int bits,
                           std::int64_t* sorted,
                           std::int64_t* positions) {
  const Workspace<std::int64_t> unsorted(s.device, n);
  for_each(s, n, Arange<std::int64_t>{0, 1, unsorted.data(), 1});
  std::size_t nbytes = 0;
  const auto sort = [&](void* space) {
    TANDEM_CUDA(cub::DeviceRadixSort::SortPairs(
        space, nbytes, keys, sorted, unsorted.data(), positions, n, 0, bits, s.native));
  };
  sort(nullptr);  // asks for the size
  const Workspace<std::byte> space(s.device, static_cast<std::int64_t>(nbytes));
  sort(space.data());
}

}  // namespace tandem::kernels
