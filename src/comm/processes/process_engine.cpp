// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/process_engine.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/processes/collective_exchange.hpp"
#include "comm/processes/message_exchange.hpp"
#include "comm/processes/native_call.hpp"
#include "core/splitmix64.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

constexpr std::int64_t kMessage = 0;  // messages are no collectives, which count from 1

}  // namespace

ProcessEngine::ProcessEngine(std::shared_ptr<ProcessMesh> mesh,
                             RankTable ranks,
                             GroupOptions options,
                             std::uint64_t group,
                             std::shared_ptr<RollCall> roll_call,
                             std::shared_ptr<NativeOrder> natives)
    : mesh_(std::move(mesh)), roll_call_(std::move(roll_call)), options_(std::move(options)) {
  Membership membership(std::move(ranks), group);
  membership.natives = std::move(natives);
  group_ = std::make_shared<const Membership>(std::move(membership));
}

ProcessEngine::~ProcessEngine() {
  mesh_->remove(group_->group);
  if (roll_call_ != nullptr) roll_call_->remove(name_of(*group_));
}

std::shared_ptr<const Membership> ProcessEngine::membership() const {
  const std::scoped_lock lock(mutex_);
  return group_;
}

void ProcessEngine::attach(const std::shared_ptr<Meeting>& meeting) {
  const std::scoped_lock lock(mutex_);
  meeting_ = meeting;
  mesh_->add(group_->group, meeting);
  if (roll_call_ != nullptr) roll_call_->add(name_of(*group_), meeting);
}

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
  if (auto why = reason_to_stop(op->number)) return op->fail(std::move(why));
  mesh_->begin(std::make_shared<CollectiveExchange>(
      op, group_, options_, mesh_->next_channel(), natives_of(*op)));
}

/// Collectives of a group begin in the same order in all processes.
std::vector<std::optional<ProcessLinks::Native>> ProcessEngine::natives_of(
    const Operation& op) const {
  std::vector<std::optional<ProcessLinks::Native>> calls;
  if (group_->natives == nullptr) return calls;
  for (const Signature& signature : op.signatures) {
    auto& call = calls.emplace_back(native_call(signature));
    if (call && !mesh_->has(*call)) call.reset();
    if (!call) continue;
    call->order = group_->natives->order;
    call->number = group_->natives->count.fetch_add(1);
  }
  return calls;
}

void ProcessEngine::begin_message(const std::shared_ptr<Operation>& op) {
  const std::scoped_lock lock(mutex_);
  if (auto why = reason_to_stop(kMessage)) return op->fail(std::move(why));
  mesh_->begin(
      std::make_shared<MessageExchange>(op, group_, mesh_->mailbox(group_), mesh_->next_channel()));
}

/// Another process may have failed before this one has made the group, or has reset it.
std::shared_ptr<const Failure> ProcessEngine::reason_to_stop(std::int64_t number) const {
  return failure_ != nullptr ? failure_ : mesh_->early_word(group_->group, number);
}

bool ProcessEngine::is_of(std::uint64_t group) const {
  const std::scoped_lock lock(mutex_);
  return group_->group == group;
}

void ProcessEngine::help(Operation& op) noexcept {
  mesh_->help([&] { return op.state.load() != Operation::State::running; });
}

void ProcessEngine::abort(const Failure& why) noexcept {
  std::uint64_t group = 0;
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    group = group_->group;
    is_first = failure_ == nullptr || (failure_->is_provisional && !why.is_provisional);
    if (is_first) failure_ = std::make_shared<const Failure>(why);
  }
  mesh_->stop(group, std::make_shared<const Failure>(why));
  if (is_first) mesh_->tell(group, why);
}

void ProcessEngine::retire(const Failure& why, std::int64_t reached) noexcept {
  mesh_->tell_left(membership()->group, why, reached);
}

// Messages of before are of another group.
void ProcessEngine::restart() {
  const std::scoped_lock lock(mutex_);
  mesh_->remove(group_->group);
  if (roll_call_ != nullptr) roll_call_->remove(name_of(*group_));
  group_ = std::make_shared<const Membership>(group_->ranks, splitmix64(group_->group, 1));
  mesh_->add(group_->group, meeting_);
  if (roll_call_ != nullptr) roll_call_->add(name_of(*group_), meeting_);
  failure_ = nullptr;
}

std::shared_ptr<Engine> ProcessEngine::split(const std::vector<int>& ranks,
                                             std::int64_t number) const {
  const auto group = membership();
  const std::uint64_t which =
      splitmix64(static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(ranks.front()) + 1);
  GroupOptions options = options_;
  options.algorithm = "direct";
  return std::make_shared<ProcessEngine>(mesh_,
                                         group->ranks.split(ranks),
                                         std::move(options),
                                         splitmix64(group->group, which),
                                         roll_call_);
}

// Each backend counts its own groups.
std::string ProcessEngine::name_of(const Membership& group) const {
  return concat(options_.backend == Backend::mpi ? "mpi" : "gloo", '-', group.group);
}

std::string ProcessEngine::group_name() const {
  return name_of(*membership());
}

std::vector<int> ProcessEngine::missing(const Operation& op) const {
  std::vector<int> places;
  mesh_->look_at(membership()->group, [&](Activity& activity) {
    const auto* exchange = dynamic_cast<const CollectiveExchange*>(&activity);
    if (exchange != nullptr && &exchange->operation() == &op) places = exchange->missing();
  });
  return places;
}

bool ProcessEngine::lacks_ranks(const Operation& op) const {
  return op.message.has_value() || !missing(op).empty();
}

void ProcessEngine::ask_who_has_come(const Operation& op) {
  if (roll_call_ != nullptr && !op.message) roll_call_->ask(group_name(), op.number);
}

std::vector<std::int64_t> ProcessEngine::answer(const Membership& group,
                                                const Operation& op,
                                                int place) const {
  if (roll_call_ == nullptr) return {};
  const int process = group.processes[static_cast<std::size_t>(place)];
  auto reached = roll_call_->answer(name_of(group), op.number, process);
  if (reached.size() != group.seats[static_cast<std::size_t>(place)].size()) reached.clear();
  return reached;
}

bool ProcessEngine::have_answered(const Operation& op) const {
  if (roll_call_ == nullptr || op.message) return true;
  const auto group = membership();
  for (int place = 0; place < group->size(); ++place)
    if (place != group->own && answer(*group, op, place).empty()) return false;
  return true;
}

std::string ProcessEngine::absent_ranks(const Membership& group,
                                        const Operation& op,
                                        int place) const {
  const auto reached = answer(group, op, place);
  std::string text;
  for (std::size_t i = 0; i < reached.size(); ++i)
    if (reached[i] < op.number)
      text += concat(text.empty() ? "" : ", ",
                     group.ranks.name(group.seats[static_cast<std::size_t>(place)][i]),
                     " (",
                     reached[i],
                     " collectives so far)");
  return text;
}

std::string ProcessEngine::absence_elsewhere(const Operation& op) const {
  const auto group = membership();
  std::string text;
  for (int place = 0; place < group->size(); ++place) {
    const std::string absent = place == group->own ? "" : absent_ranks(*group, op, place);
    if (!absent.empty()) text += concat(text.empty() ? "" : ", ", absent);
  }
  return text;
}

std::string ProcessEngine::silence() const {
  const auto group = membership();
  std::string text;
  for (int place = 0; place < group->size(); ++place) {
    const std::string state = mesh_->state(group->processes[static_cast<std::size_t>(place)]);
    if (state.starts_with("no sign")) text += concat("; ", group->name(place), ": ", state);
  }
  return text;
}

std::string ProcessEngine::absence(const Operation& op) const {
  const auto group = membership();
  std::string text;
  const auto add = [&](const std::string& who, int process) {
    text += concat(text.empty() ? "" : ", ", who, " (", mesh_->state(process), ")");
  };
  if (op.message) {
    const int other =
        op.signatures.front().kind == Collective::Kind::send ? op.message->to : op.source.load();
    if (other == any_source) return "a sender did not arrive";
    add(group->ranks.name(other), group->ranks.process(other));
  }
  for (const int place : missing(op)) {
    const int process = group->processes[static_cast<std::size_t>(place)];
    const std::string names = group->all_names(place);
    const std::string absent = absent_ranks(*group, op, place);
    if (!absent.empty())
      text += concat(text.empty() ? "" : ", ", absent);
    else if (!answer(*group, op, place).empty())
      add("the messages of " + names, process);
    else
      add(names.starts_with("ranks") ? "one of " + names : names, process);
  }
  return text.empty() ? "the messages did not end" : text + " did not arrive";
}

}  // namespace tandem::comm
