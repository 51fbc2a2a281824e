// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "optim/state_layout.hpp"

namespace tandem::optim::detail {

/// Cuts the places that an optimizer's members take in arenas into runs.
class RunCutter {
 public:
  /// The arguments outlive this object.
  RunCutter(std::vector<Member>& members, std::vector<ParameterRun>& runs)
      : members_(members), runs_(runs) {}

  /// Adds the runs in an arena's slices. Sets the place of each member in the arena, and its runs.
  void cut(const std::shared_ptr<Arena>& arena, const std::vector<ArenaSlice>& slices);

 private:
  /// @param taken  by place, the index of a member.
  void cut_slice(const std::shared_ptr<Arena>& arena,
                 const ArenaSlice& slice,
                 std::size_t index,
                 const std::map<std::size_t, std::size_t>& taken);

  std::vector<Member>& members_;
  std::vector<ParameterRun>& runs_;
};

}  // namespace tandem::optim::detail
