// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/runtime/observer.hpp"

namespace tandem::profile {

class NvtxDomain;

/// While it is subscribed, each piece of work is a range of NVTX, for Nsight Systems: from its
/// begin to its end, on the thread that does it, in the domain "tandem".
///
/// A range's name is phase, module path and op, those that there are: "forward layers.0 matmul". Of
/// a GPU's work it is the time to queue it; the tool knows which kernels were launched within.
/// Thread-safe. @cost  a look into a table of names; a branch where no tool watches the process.
class NvtxRanges final : public Observer {
 public:
  /// @throws InvalidArgument  this tandem was built without CUDA, or NVTX's headers.
  NvtxRanges();

  void on_work_begin(const Work& work, const Stream& stream) noexcept override;
  void on_work_end(const Work& work, const Stream& stream) noexcept override;

 private:
  std::shared_ptr<NvtxDomain> domain_;  // null where no tool watches
};

}  // namespace tandem::profile
