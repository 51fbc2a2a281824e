// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"

#include "parallel/replicas/call/processes.hpp"
#include "parallel/replicas/call/world_rank.hpp"

namespace tandem::parallel {

/// The processes that train one module together. Note [Processes], several_processes.cpp
class SeveralProcesses final : public Processes {
 public:
  /// @throws InvalidArgument  the processes have different numbers of devices, or options that
  ///         would make them exchange other things.
  SeveralProcesses(const std::vector<Device>& devices, const DataParallelOptions& options);

  bool are_several() const noexcept override { return true; }
  int here() const noexcept override { return here_; }
  void share(ReplicaSource& module,
             const std::vector<std::shared_ptr<optim::Arena>>& arenas) const override;
  void enter(Call& call) const override;
  void abort(const std::string& reason) const noexcept override;
  void reset() const override;
  WholeStep loss_of(const Call& call) const override;
  std::string failure_of(const Call::Part& part, const std::exception_ptr& error) const override;
  WholeBatch exchange(const Call::Part& part, std::int64_t own, std::int64_t here) const override;
  std::shared_ptr<RowGroup> row_group(const Call::Part& part,
                                      const ReplicaGroup& group) const override;
  Tensor sum(const Call& call, const Call::Part& part, const Tensor& x) const override;
  void note_used(Call::Part& part, const std::vector<std::uint8_t>& used) const override;
  WholeStep agree(const Call::Part& part, const WholeStep& own) const override;
  BucketReducer::Groups groups_of(const Call::Part& part, bool are_alike) const override;
  comm::Communicator& all(const Call::Part& part) const override;
  std::vector<std::int64_t> gather(const Call::Part& part,
                                   const std::vector<std::int64_t>& own) const override;

 private:
  WorldRank& rank(const Call::Part& part) const {
    return *ranks_[static_cast<std::size_t>(part.index())];
  }

  std::vector<std::unique_ptr<WorldRank>> ranks_;  // by device
  int here_;
};

}  // namespace tandem::parallel
