// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tandem::parallel {

/// How the replicas' values of a buffer become the module's, when a forward in training ends.
///
/// Replicas write copies of their own. A device without rows has no say. Running statistics that
/// are synchronised or merged (BatchNormSync) are the same in all replicas by then.
enum class BufferMerge : std::uint8_t {
  first,  ///< those of the first device that has rows, as in PyTorch: device 0's
  mean,   ///< the mean over the devices, weighted by their rows; float buffers
  sum,    ///< what each replica has added to the module's, added up: counters, histograms
};

/// `{"*.codebook_use", BufferMerge::sum}`
struct BufferRule {
  std::string names;  ///< of buffers, as in the state dict; `*` stands for any text
  BufferMerge merge = BufferMerge::first;
};

}  // namespace tandem::parallel
