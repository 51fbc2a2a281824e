// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::testing {

inline constexpr DType kAllDTypes[]{DType::f32,
                                    DType::f64,
                                    DType::bf16,
                                    DType::f16,
                                    DType::i32,
                                    DType::i64,
                                    DType::u8,
                                    DType::boolean};

/// A 1-D tensor of `values`, which are exact in `dtype`.
inline Tensor make_tensor(const std::vector<double>& values, DType dtype, Device device) {
  return with_dtype(dtype, [&]<class T>() {
    const auto n = values.size();
    const auto host = std::make_unique<T[]>(n);  // not a vector: that of bool holds bits
    for (std::size_t i = 0; i < n; ++i)
      host[i] = static_cast<T>(values[i]);
    return from_host(std::span<const T>(host.get(), n), {static_cast<std::int64_t>(n)}, device);
  });
}

/// Small whole numbers that differ by rank and element, so that all sums are exact; 0 and 1 for
/// bool.
inline std::vector<double> rank_values(int rank, std::int64_t n, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>((rank + 1) * (i % 5 + 1) + (i * 7 + rank * 3) % 11);
    values[static_cast<std::size_t>(i)] =
        dtype == DType::boolean ? static_cast<double>((i + rank) % 3 == 0) : v;
  }
  return values;
}

/// The same as a tensor of the rank.
inline Tensor own(const comm::Communicator& comm, std::int64_t n, DType dtype = DType::f32) {
  return make_tensor(rank_values(comm.rank(), n, dtype), dtype, comm.device());
}

}  // namespace tandem::testing
