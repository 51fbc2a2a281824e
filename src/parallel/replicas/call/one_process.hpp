// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parallel/replicas/call/processes.hpp"

namespace tandem::parallel {

/// This process alone: what all devices have is what this process's devices have.
class OneProcess final : public Processes {
 public:
  /// It has no state, so that one is enough.
  static const OneProcess& get() noexcept;

  bool are_several() const noexcept override { return false; }
  int here() const noexcept override { return 1; }
  void share(ReplicaSource&, const std::vector<std::shared_ptr<optim::Arena>>&) const override {}
  void enter(Call&) const override {}
  void abort(const std::string&) const noexcept override {}
  void reset() const override {}
  WholeStep loss_of(const Call& call) const override;
  std::string failure_of(const Call::Part& part, const std::exception_ptr& error) const override;
  WholeBatch exchange(const Call::Part& part, std::int64_t own, std::int64_t here) const override;
  std::shared_ptr<RowGroup> row_group(const Call::Part& part,
                                      const ReplicaGroup& group) const override;
  Tensor sum(const Call& call, const Call::Part& part, const Tensor& x) const override;
  void note_used(Call::Part&, const std::vector<std::uint8_t>&) const override {}
  WholeStep agree(const Call::Part& part, const WholeStep& own) const override;
  BucketReducer::Groups groups_of(const Call::Part& part, bool are_alike) const override;
  comm::Communicator& all(const Call::Part& part) const override;
  std::vector<std::int64_t> gather(const Call::Part& part,
                                   const std::vector<std::int64_t>& own) const override;
};

}  // namespace tandem::parallel
