// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/task_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <string>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

/// Lets time pass over a graph: from one end of a task to the next.
class Clock {
 public:
  Clock(TaskGraph& graph, int gpus, double beside_collective)
      : tasks_(graph.tasks()),
        beside_collective_(beside_collective),
        lanes_(static_cast<std::size_t>(graph.lanes())),
        collectives_(static_cast<std::size_t>(gpus)) {
    waits_.resize(tasks_.size());
    followers_.resize(tasks_.size());
    calls_.resize(tasks_.size());
    called_by_.resize(tasks_.size());
    left_.resize(tasks_.size());
    rates_.resize(tasks_.size(), 1);
    inside_.resize(tasks_.size());
    left_inside_.resize(tasks_.size());
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const Task& task = tasks_[t];
      has_meetings_ = has_meetings_ || task.kind == Task::Kind::meeting;
      called_by_[t] = static_cast<int>(task.called.size());
      waits_[t] = static_cast<int>(task.after.size() + std::max<std::size_t>(1, task.lanes.size()));
      for (const int before : task.after)
        followers_[at(before)].push_back(static_cast<int>(t));
      for (const int call : task.called)
        calls_[at(call)].push_back(static_cast<int>(t));
      if (task.during < 0) continue;
      ++waits_[t];
      inside_[at(task.during)].push_back(static_cast<int>(t));
      ++left_inside_[at(task.during)];
    }
  }

  void run() {
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      if (called_by_[t] == 0) get_in_line(static_cast<int>(t));
    for (;;) {
      begin_ready();
      if (running_.empty()) break;
      advance();
    }
    TANDEM_ASSERT(ended_ == tasks_.size(),
                  "tasks of a simulation wait for each other: ",
                  tasks_.size() - ended_,
                  " of ",
                  tasks_.size(),
                  " have not run");
  }

 private:
  static std::size_t at(int t) noexcept { return static_cast<std::size_t>(t); }
  void get_in_line(int t) {
    if (tasks_[at(t)].lanes.empty()) come_to_head(t);
    for (const int lane : tasks_[at(t)].lanes) {
      auto& line = lanes_[at(lane)];
      line.push_back(t);
      if (line.front() == t) come_to_head(t);
    }
  }
  void come_to_head(int t) {
    tasks_[at(t)].reached = now_;
    less_to_wait_for(t);
  }
  void less_to_wait_for(int t) {
    if (--waits_[at(t)] == 0) ready_.push_back(t);
    rates_are_old_ = rates_are_old_ || has_meetings_;  // it may help now
  }
  void begin_ready() {
    while (!ready_.empty()) {
      const int t = ready_.front();
      ready_.pop_front();
      Task& task = tasks_[at(t)];
      task.begin = now_;
      left_[at(t)] = task.kind == Task::Kind::transfer ? task.path.latency() : task.seconds;
      if (task.kind == Task::Kind::collective)
        for (const int gpu : task.gpus)
          ++collectives_[at(gpu)];
      rates_are_old_ = true;
      if (inside_[at(t)].empty()) running_.push_back(t);
      for (const int part : inside_[at(t)])
        less_to_wait_for(part);
    }
  }
  /// How fast a task goes: of `seconds`, or of bytes once a transfer moves.
  double rate(int t) const {
    const Task& task = tasks_[at(t)];
    if (task.kind == Task::Kind::kernel && collectives_[at(task.gpus.front())] > 0)
      return beside_collective_;
    if (task.kind == Task::Kind::meeting) return 1 + task.help * helpers(t);
    if (!moves(t)) return 1;
    double slowest = std::numeric_limits<double>::infinity();
    for (const PathPart& part : task.path.parts)
      slowest = std::min(slowest, part.bandwidth / static_cast<double>(sharers_.at(part.name)));
    return slowest;
  }
  /// How many tasks wait for the end of this one, and for nothing else.
  double helpers(int t) const {
    return static_cast<double>(
        std::ranges::count_if(followers_[at(t)], [&](int f) { return waits_[at(f)] == 1; }));
  }
  bool moves(int t) const { return std::ranges::binary_search(moving_, t); }
  void set_rates() {
    if (!std::exchange(rates_are_old_, false)) return;
    sharers_.clear();
    for (const int t : moving_)
      for (const PathPart& part : tasks_[at(t)].path.parts)
        ++sharers_[part.name];
    for (const int t : running_)
      rates_[at(t)] = rate(t);
  }
  void advance() {
    set_rates();
    double step = std::numeric_limits<double>::infinity();
    for (const int t : running_)
      step = std::min(step, left_[at(t)] / rates_[at(t)]);
    now_ += step;
    std::vector<int> still;
    std::vector<int> over;
    for (const int t : running_) {
      // What ends now ends exactly: the difference would leave a rest of rounding.
      const bool ends = left_[at(t)] / rates_[at(t)] <= step;
      left_[at(t)] = ends ? 0 : left_[at(t)] - step * rates_[at(t)];
      (ends ? over : still).push_back(t);
    }
    running_ = std::move(still);
    for (const int t : over)
      end(t);
  }
  void end(int t) {
    Task& task = tasks_[at(t)];
    if (task.kind == Task::Kind::transfer && !moves(t)) {  // its latency is over
      left_[at(t)] = task.nbytes;
      moving_.insert(std::ranges::upper_bound(moving_, t), t);
      running_.push_back(t);
      rates_are_old_ = true;
      return;
    }
    task.end = now_;
    ++ended_;
    if (task.kind == Task::Kind::transfer) std::erase(moving_, t);
    if (task.kind == Task::Kind::collective)
      for (const int gpu : task.gpus)
        --collectives_[at(gpu)];
    rates_are_old_ = rates_are_old_ || task.kind != Task::Kind::fixed;
    const int meeting = last_call_of(t);
    for (const int lane : task.lanes) {
      auto& line = lanes_[at(lane)];
      line.pop_front();
      if (meeting >= 0) line.push_front(meeting);
      if (!line.empty()) come_to_head(line.front());
    }
    for (const int next : followers_[at(t)])
      less_to_wait_for(next);
    for (const int next : calls_[at(t)])
      if (--called_by_[at(next)] == 0 && next != meeting) get_in_line(next);
    if (task.during >= 0 && --left_inside_[at(task.during)] == 0) end(task.during);
  }
  /// The meeting for which only this task was missing, which gets its lanes; -1: none.
  int last_call_of(int t) {
    for (const int next : calls_[at(t)]) {
      if (tasks_[at(next)].kind != Task::Kind::meeting || called_by_[at(next)] > 1) continue;
      tasks_[at(next)].lanes = tasks_[at(t)].lanes;
      waits_[at(next)] =
          static_cast<int>(tasks_[at(next)].after.size() + tasks_[at(t)].lanes.size());
      return next;
    }
    return -1;
  }

  std::vector<Task>& tasks_;
  const double beside_collective_;
  std::vector<std::deque<int>> lanes_;
  std::vector<int> collectives_;  // by GPU: how many run
  std::vector<int> waits_;        // by task: lanes and tasks that it waits for
  std::vector<std::vector<int>> followers_;
  std::vector<std::vector<int>> calls_;   // by task: those that it calls
  std::vector<int> called_by_;            // by task: how many of its calls have not ended
  std::vector<std::vector<int>> inside_;  // by collective: what runs during it
  std::vector<int> left_inside_;          // how much of that has not ended
  std::vector<double> left_;              // by task: seconds, or bytes
  std::vector<double> rates_;             // by task
  std::deque<int> ready_;
  std::vector<int> running_;
  std::vector<int> moving_;  // transfers whose latency is over, sorted
  std::map<std::string, int> sharers_;
  bool rates_are_old_ = true;
  bool has_meetings_ = false;
  double now_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace

void run(TaskGraph& graph, int gpus, double beside_collective) {
  Clock(graph, gpus, beside_collective).run();
}

}  // namespace tandem::sim
