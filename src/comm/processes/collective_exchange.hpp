// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/runtime/buffer.hpp"

#include "comm/operation.hpp"
#include "comm/processes/activity.hpp"
#include "comm/processes/graph_builder.hpp"
#include "comm/processes/opening.hpp"

namespace tandem::comm {

/// A collective over processes: the processes compare what they are about to do, then each does its
/// share.
class CollectiveExchange final : public Activity {
 public:
  /// @param options  live until the operation is ended.
  /// @param natives  see build_graph
  CollectiveExchange(std::shared_ptr<Operation> op,
                     std::shared_ptr<const Membership> group,
                     const GroupOptions& options,
                     std::uint32_t channel,
                     std::vector<std::optional<ProcessLinks::Native>> natives);

  std::uint64_t group() const noexcept override { return group_->group; }
  void start(ProcessLinks& links) override;
  /// @throws Desync  another process is about to do something else.
  bool advance(ProcessLinks& links) override;
  bool done() const noexcept override;
  int take_piece() override { return graph_.take_piece(); }
  void run(int piece) const override { graph_.run(piece); }
  void finish(int piece, ProcessLinks& links) override { graph_.finish(piece, links); }
  void fail(const std::shared_ptr<const Failure>& why) noexcept override;
  void complete() noexcept override;
  std::string who(int process) const override { return group_->who(process); }

  const Operation& operation() const noexcept { return *op_; }
  /// Processes of the group whose opening has not come.
  std::vector<int> missing() const;

 private:
  /// What has come from another process.
  struct Other {
    Opening opening;
    std::unique_ptr<ProcessLinks::Message> receives, sends, sends_rest;
    bool has_begun = false;
    bool has_come = false;
  };

  bool is_small() const;
  /// The sum of this process's ranks, or the root's data: what a small collective's opening has.
  std::vector<std::byte> own_data() const;
  bool look(int place, Other& other, ProcessLinks& links);
  void compare(int place, const Opening& opening) const;
  bool have_all_come() const;
  void open(ProcessLinks& links);
  void finish_small();
  void* room(std::size_t nbytes);

  const std::shared_ptr<Operation> op_;
  const std::shared_ptr<const Membership> group_;
  const GroupOptions& options_;
  std::uint32_t channel_;
  const std::vector<std::optional<ProcessLinks::Native>> natives_;  // by collective
  Opening own_;
  std::deque<Other> others_;  // by process of the group; this one's is not used
  std::vector<std::unique_ptr<Buffer>> rooms_;
  MessageGraph graph_;
  bool is_open_ = false;
};

}  // namespace tandem::comm
