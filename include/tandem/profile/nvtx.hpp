// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/runtime/observer.hpp"

namespace tandem::profile {

class NvtxDomain;

/// An observer that makes an NVTX range of each piece of work, for Nsight Systems. The range lasts
/// from the work's begin to its end, on the thread that does it, in the domain "tandem".
///
/// A range's name consists of phase, module path and op, as far as there are any: "forward layers.0
/// matmul". For work of a GPU, the range is the time in which the work was queued; the tool knows
/// which kernels were launched within it. Thread-safe.
/// @cost  a look-up in a table of names; only a branch if no tool watches the process.
class NvtxRanges final : public Observer {
 public:
  /// @throws InvalidArgument  this tandem was built without CUDA or without NVTX's headers.
  NvtxRanges();

  void on_work_begin(const Work& work, const Stream& stream) noexcept override;
  void on_work_end(const Work& work, const Stream& stream) noexcept override;

 private:
  std::shared_ptr<NvtxDomain> domain_;  // null if no tool watches
};

}  // namespace tandem::profile
