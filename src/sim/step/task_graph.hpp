// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tandem/sim/path.hpp"

namespace tandem::sim {

/// Something that takes simulated time.
struct Task {
  enum class Kind : std::uint8_t {
    fixed,       ///< takes `seconds`
    kernel,      ///< takes `seconds`, and longer while a collective runs on its GPU
    collective,  ///< takes `seconds`, or as long as what runs during it, and slows down the kernels
                 ///< of its GPUs
    transfer,    ///< after its path's latency moves `nbytes`, and shares the path's parts
    meeting,  ///< takes `seconds` in the lanes of the last of `called`, before what is next there;
              ///< tasks that wait for nothing else help
  };
  Kind kind = Kind::fixed;
  std::vector<int> lanes = {};   ///< where it stands in line; it runs at the head of all of them
  std::vector<int> called = {};  ///< it gets in line when these have ended; none: from the start
  std::vector<int> after = {};   ///< tasks that have to have ended
  double seconds = 0;
  double nbytes = 0;
  Path path = {};
  std::vector<int> gpus = {};  ///< of a kernel or a collective
  int during = -1;  ///< the collective that it begins after, and that ends after it; -1: none
  double help = 0;  ///< by how much each task that helps in a meeting makes it faster

  double reached = 0;  ///< when it came to the head of its lanes
  double begin = 0;    ///< when it began
  double end = 0;
};

/// Tasks in lanes. A lane is a thread of the host or a stream of a GPU: its tasks run one after the
/// other, in the order in which they got in line.
class TaskGraph {
 public:
  int add_lane() { return lanes_++; }
  /// @return the task's number. What it comes after has been added before.
  int add(Task task) {
    tasks_.push_back(std::move(task));
    return static_cast<int>(tasks_.size()) - 1;
  }
  int lanes() const noexcept { return lanes_; }
  std::vector<Task>& tasks() noexcept { return tasks_; }
  const std::vector<Task>& tasks() const noexcept { return tasks_; }
  const Task& task(int t) const { return tasks_.at(static_cast<std::size_t>(t)); }

 private:
  int lanes_ = 0;
  std::vector<Task> tasks_;
};

/// Sets when the tasks begin and end, from 0 on. A pure function of the graph and the arguments,
/// bit for bit.
///
/// @param gpus            the number of GPUs
/// @param beside_collective  the speed of kernels while a collective runs on their GPU, from 0 to 1
/// @throws InternalError  the tasks wait for each other in a circle.
void run(TaskGraph& graph, int gpus, double beside_collective);

}  // namespace tandem::sim
