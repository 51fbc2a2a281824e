// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::stand_in {

/// NCCL's numbers of its operations; all from kFactorSum on are sums of values by a factor of each
/// rank.
enum NcclOp : int { kSum, kProduct, kMaximum, kMinimum, kAverage, kFactorSum };

/// Bytes of an element of one of NCCL's types; 0: it is none, or one of eight bits that the
/// stand-in has not got.
std::size_t nccl_size(int type);
/// "f32"
const char* nccl_type_name(int type);
/// "sum"
const char* nccl_op_name(int op);

/// What a rank gives to a reduction.
struct Given {
  const void* values;
  const void* factor;  // of kFactorSum, in the values' type
};

/// Puts the reduction of n elements of each rank to `to`, which may be one of them.
void reduce_elements(int type, int op, const std::vector<Given>& from, void* to, std::size_t n);

}  // namespace tandem::stand_in
