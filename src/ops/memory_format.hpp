// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The format of a 4-D tensor; of one that is not dense, the one that its strides are nearest to.
///
/// A tensor that is dense in both ways (one channel, one pixel) counts as channels-last, the fast
/// one.
inline MemoryFormat format_of(const Tensor& x) {
  if (x.is_contiguous(MemoryFormat::channels_last)) return MemoryFormat::channels_last;
  if (x.is_contiguous()) return MemoryFormat::contiguous;
  return x.strides()[1] < x.strides()[3] ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

}  // namespace tandem
