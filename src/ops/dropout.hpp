// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/dropout.hpp"

namespace tandem {

/// What a mask of the calling module is a function of; moves the position of the random numbers on
/// by one call. @param rows  of the batch, in the tensor that is masked.
kernels::DropoutKey next_dropout_key(std::int64_t rows);
/// The dimension of the batch's rows in a tensor of so many, as the wrapper has it; else the first.
int row_dim_of(int ndim);

}  // namespace tandem
