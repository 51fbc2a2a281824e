// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/chunk_policy.hpp"

#include <cstdint>
#include <vector>

#include <nanobind/stl/vector.h>

#include "python/core/argument.hpp"

namespace tandem::python {
namespace nb = nanobind;

using parallel::ChunkPolicy;

ChunkPolicy read_chunks(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    return choice<ChunkPolicy>(value,
                               "chunks",
                               {{"even", ChunkPolicy::even()},
                                {"planned", ChunkPolicy::planned()},
                                {"free memory", ChunkPolicy::free_memory()},
                                {"torch chunk", ChunkPolicy::torch_chunk()}});
  }
  if (nb::isinstance<parallel::StepModel>(value))
    return ChunkPolicy::planned(nb::cast<parallel::StepModel>(value));
  std::vector<std::int64_t> sizes;
  if (nb::try_cast(value, sizes, false)) return ChunkPolicy::sizes(sizes);
  return ChunkPolicy::weights(as_argument<std::vector<double>>(
      value, "chunks", "a name, a StepModel, a list of sizes or a list of weights"));
}

}  // namespace tandem::python
