// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/shape.hpp"
#include "tandem/runtime/generator.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/random.hpp"

namespace tandem {

/// What the numbers of one draw are a function of, beside their places in the tensor.
struct DrawPosition {
  std::uint64_t seed = 0;
  std::uint64_t forward = 0;    ///< count of top-level forwards, or of draws outside of them
  std::uint64_t path_hash = 0;  ///< module path and call index; 0 outside of a forward
  bool in_forward = false;
};

/// Takes the calling thread's next position.
///
/// @param generator  null: the default one.
DrawPosition next_draw(Generator* generator = nullptr);

/// Whether `rows` of a tensor, along its dimension of rows, are those of this replica.
enum class RowMatch : std::uint8_t {
  equal,    ///< where there are as many
  multiple  ///< also where each row of the batch has become several
};
/// The first of `rows` rows of a tensor, counted in the whole batch, and the count of all of them.
///
/// Where they are not this replica's rows: 0 and `rows`.
struct BatchRowRange {
  std::int64_t first;
  std::int64_t total;
};
BatchRowRange batch_range(std::int64_t rows, RowMatch match);

/// Takes the next position for a tensor of random numbers, of which a replica's are the part of the
/// whole batch's.
///
/// @throws InvalidArgument  BatchRows::yes, but no dimension has the rows of the batch.
kernels::RandomPlace next_place(const char* op,
                                const Shape& shape,
                                const RandomOptions& options,
                                RowMatch match);

}  // namespace tandem
