// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/process_engine.hpp"

#include <utility>

#include "comm/processes/collective_exchange.hpp"
#include "comm/processes/message_exchange.hpp"
#include "comm/processes/native_call.hpp"

namespace tandem::comm {
namespace {

constexpr std::int64_t kMessage = 0;  // messages are no collectives, which count from 1

}  // namespace

ProcessEngine::ProcessEngine(std::shared_ptr<ProcessMesh> mesh,
                             std::shared_ptr<ProcessAttendance> processes,
                             GroupOptions options)
    : Engine(processes),
      mesh_(std::move(mesh)),
      processes_(std::move(processes)),
      options_(std::move(options)) {}

// The work is not known before the other processes have said what their ranks have.
CollectivePlan ProcessEngine::plan(const Operation& /*op*/, const GroupOptions& /*options*/) const {
  CollectivePlan plan;
  plan.slices = 1;
  return plan;
}

void ProcessEngine::begin(const std::shared_ptr<Operation>& op) {
  if (op->message) {  // both ends are here
    for (std::int64_t slice = 0; slice < op->plan.slices; ++slice)
      op->plan.run(slice);
    return op->finish();
  }
  mesh_->count_collective();
  const std::scoped_lock lock(mutex_);  // the group fails before, or has this to end
  const auto group = processes_->membership();
  if (auto why = reason_to_stop(*group, op->number)) return op->fail(std::move(why));
  mesh_->begin(std::make_shared<CollectiveExchange>(
      op, group, options_, mesh_->next_channel(), natives_of(*group, *op)));
}

/// Collectives of a group begin in the same order in all processes.
std::vector<std::optional<ProcessLinks::Native>> ProcessEngine::natives_of(
    const Membership& group, const Operation& op) const {
  std::vector<std::optional<ProcessLinks::Native>> calls;
  if (group.natives == nullptr) return calls;
  for (const Signature& signature : op.signatures) {
    auto& call = calls.emplace_back(native_call(signature));
    if (call && !mesh_->has(*call)) call.reset();
    if (!call) continue;
    call->order = group.natives->order;
    call->number = group.natives->count.fetch_add(1);
  }
  return calls;
}

void ProcessEngine::begin_message(const std::shared_ptr<Operation>& op) {
  const std::scoped_lock lock(mutex_);
  const auto group = processes_->membership();
  if (auto why = reason_to_stop(*group, kMessage)) return op->fail(std::move(why));
  mesh_->begin(
      std::make_shared<MessageExchange>(op, group, mesh_->mailbox(group), mesh_->next_channel()));
}

/// Another process may have failed before this one has made the group, or has reset it.
std::shared_ptr<const Failure> ProcessEngine::reason_to_stop(const Membership& group,
                                                             std::int64_t number) const {
  return failure_ != nullptr ? failure_ : mesh_->early_word(group.group, number);
}

void ProcessEngine::help(Operation& op) noexcept {
  mesh_->help([&] { return op.state.load() != Operation::State::running; });
}

void ProcessEngine::abort(const Failure& why) noexcept {
  std::uint64_t group = 0;
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    group = processes_->membership()->group;
    is_first = failure_ == nullptr || (failure_->is_provisional && !why.is_provisional);
    if (is_first) failure_ = std::make_shared<const Failure>(why);
  }
  mesh_->stop(group, std::make_shared<const Failure>(why));
  if (is_first) mesh_->tell(group, why);
}

void ProcessEngine::restart() {
  const std::scoped_lock lock(mutex_);
  processes_->restart();
  failure_ = nullptr;
}

std::shared_ptr<Engine> ProcessEngine::split(const std::vector<int>& ranks,
                                             std::int64_t number) const {
  GroupOptions options = options_;
  options.algorithm = "direct";
  return std::make_shared<ProcessEngine>(
      mesh_, processes_->split(ranks, number), std::move(options));
}

}  // namespace tandem::comm
