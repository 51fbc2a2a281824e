// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tandem::parallel {

/// How the replicas' values of a buffer become the module's value at the end of a training forward.
///
/// Each replica writes to its own copy. A device without rows is left out. Running statistics that
/// are synchronised or merged (BatchNormSync) are already the same in all replicas by then.
enum class BufferMerge : std::uint8_t {
  first,  ///< the value of the first device that has rows; in PyTorch, always device 0's
  mean,   ///< the mean over the devices, weighted by their rows; float buffers only
  sum,    ///< the module's value plus what each replica added to it: counters, histograms
};

/// `{"*.codebook_use", BufferMerge::sum}`
struct BufferRule {
  std::string names;  ///< of buffers, as in the state dict; `*` matches any text
  BufferMerge merge = BufferMerge::first;
};

}  // namespace tandem::parallel
