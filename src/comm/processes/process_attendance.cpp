// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/process_attendance.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "comm/processes/collective_exchange.hpp"
#include "core/splitmix64.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

}  // namespace

ProcessAttendance::ProcessAttendance(std::shared_ptr<ProcessMesh> mesh,
                                     Backend backend,
                                     Membership membership,
                                     std::shared_ptr<RollCall> roll_call)
    : mesh_(std::move(mesh)),
      roll_call_(std::move(roll_call)),
      backend_(backend),
      group_(std::make_shared<const Membership>(std::move(membership))) {}

ProcessAttendance::~ProcessAttendance() {
  stop_listening();
}

std::shared_ptr<const Membership> ProcessAttendance::membership() const {
  const std::scoped_lock lock(mutex_);
  return group_;
}

void ProcessAttendance::attach(const std::shared_ptr<Meeting>& meeting) {
  const std::scoped_lock lock(mutex_);
  meeting_ = meeting;
  listen();
}

// Messages of before are of another group.
void ProcessAttendance::restart() {
  const std::scoped_lock lock(mutex_);
  stop_listening();
  group_ = std::make_shared<const Membership>(group_->ranks, splitmix64(group_->group, 1));
  listen();
}

void ProcessAttendance::listen() {
  mesh_->add(group_->group, meeting_);
  if (roll_call_ != nullptr) roll_call_->add(name_of(*group_), meeting_);
}

void ProcessAttendance::stop_listening() noexcept {
  mesh_->remove(group_->group);
  if (roll_call_ != nullptr) roll_call_->remove(name_of(*group_));
}

std::shared_ptr<ProcessAttendance> ProcessAttendance::split(const std::vector<int>& ranks,
                                                            std::int64_t number) const {
  const auto group = membership();
  const std::uint64_t which =
      splitmix64(static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(ranks.front()) + 1);
  return std::make_shared<ProcessAttendance>(
      mesh_,
      backend_,
      Membership(group->ranks.split(ranks), splitmix64(group->group, which)),
      roll_call_);
}

// Each backend counts its own groups.
std::string ProcessAttendance::name_of(const Membership& group) const {
  return concat(backend_ == Backend::mpi ? "mpi" : "gloo", '-', group.group);
}

std::string ProcessAttendance::group_name() const {
  return name_of(*membership());
}

bool ProcessAttendance::is_of(std::uint64_t group) const {
  return membership()->group == group;
}

void ProcessAttendance::retire(const Failure& why, std::int64_t reached) noexcept {
  mesh_->tell_left(membership()->group, why, reached);
}

std::vector<int> ProcessAttendance::missing(const Operation& op) const {
  std::vector<int> places;
  mesh_->look_at(membership()->group, [&](Activity& activity) {
    const auto* exchange = dynamic_cast<const CollectiveExchange*>(&activity);
    if (exchange != nullptr && &exchange->operation() == &op) places = exchange->missing();
  });
  return places;
}

bool ProcessAttendance::lacks_ranks(const Operation& op) const {
  return op.message.has_value() || !missing(op).empty();
}

void ProcessAttendance::ask(const Operation& op) {
  if (roll_call_ != nullptr && !op.message) roll_call_->ask(group_name(), op.number);
}

std::vector<std::int64_t> ProcessAttendance::answer(const Membership& group,
                                                    const Operation& op,
                                                    int place) const {
  if (roll_call_ == nullptr) return {};
  const int process = group.processes[static_cast<std::size_t>(place)];
  auto reached = roll_call_->answer(name_of(group), op.number, process);
  if (reached.size() != group.seats[static_cast<std::size_t>(place)].size()) reached.clear();
  return reached;
}

bool ProcessAttendance::have_answered(const Operation& op) const {
  if (roll_call_ == nullptr || op.message) return true;
  const auto group = membership();
  for (int place = 0; place < group->size(); ++place)
    if (place != group->own && answer(*group, op, place).empty()) return false;
  return true;
}

std::string ProcessAttendance::absent_ranks(const Membership& group,
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

std::string ProcessAttendance::absence_elsewhere(const Operation& op) const {
  const auto group = membership();
  std::string text;
  for (int place = 0; place < group->size(); ++place) {
    const std::string absent = place == group->own ? "" : absent_ranks(*group, op, place);
    if (!absent.empty()) text += concat(text.empty() ? "" : ", ", absent);
  }
  return text;
}

std::string ProcessAttendance::silence() const {
  const auto group = membership();
  std::string text;
  for (int place = 0; place < group->size(); ++place) {
    const std::string state = mesh_->state(group->processes[static_cast<std::size_t>(place)]);
    if (state.starts_with("no sign")) text += concat("; ", group->name(place), ": ", state);
  }
  return text;
}

std::string ProcessAttendance::absence(const Operation& op) const {
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
