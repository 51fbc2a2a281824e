// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/collective.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/simulate.hpp"

#include "sim/links/library_times.hpp"
#include "sim/step/collective_player.hpp"
#include "sim/step/host_kernel_model.hpp"
#include "sim/step/kernel_model.hpp"
#include "sim/step/task_graph.hpp"

namespace tandem::sim {

/// What a record's threads did, as tasks of a machine's host and GPUs.
///
/// Threads are followed from one that no other has given a job, and others from where they were
/// given theirs. So the tasks, and their order, do not depend on how the threads were numbered or
/// scheduled.
class RecordReader {
 public:
  RecordReader(const profile::StepRecord& record,
               const Cluster& cluster,
               std::span<const Device> devices,
               const SimulateOptions& options);

  TaskGraph& graph() noexcept { return graph_; }
  /// When something was called, and when it was done; tasks of graph().
  struct Times {
    int called = -1;
    int done = -1;
  };
  /// The times of record.work[i].
  const Times& work(std::size_t i) const { return work_.at(i); }
  /// The times of record.transfers[i].
  const Times& transfer(std::size_t i) const { return transfers_.at(i); }
  /// A collective, with the GPUs that took part in it.
  struct Collective {
    int task = -1;
    std::vector<std::pair<int, std::size_t>> parts;  ///< GPU, and its part that begins, by arrival
  };
  /// A number of a thread that does not depend on which thread was seen first.
  int number_of(int thread) const;
  const std::map<std::uint64_t, Collective>& collectives() const noexcept { return collectives_; }
  /// When a collective's bytes went over the transfer's link; none: collectives are not played.
  std::optional<CollectivePlayer::OnLink> on_link(const profile::Transfer& moved) const;

 private:
  enum class What : std::uint8_t { work, transfer, read, job };
  struct Event {
    std::int64_t sequence;
    What what;
    std::size_t index;
  };
  struct Thread {
    std::vector<Event> events;
    std::size_t next = 0;
    int lane = -1;
    int number = -1;  // in the order in which they were found
    bool is_found = false;
  };
  struct Lanes {
    int work, collectives, copies;
  };
  /// The ranks that have come to a collective.
  struct Arrivals {
    std::vector<int> hosts, streams;  // tasks
  };

  void collect();
  /// Whether a thread uses the GPUs, or gives others jobs.
  bool is_part(const Thread& thread) const;
  void find_first();
  void follow();
  /// @return  false: the thread waits for another one.
  bool take(Thread& thread, const Event& event);
  bool take_work(Thread& thread, std::size_t i);
  bool take_exchange(Thread& thread, std::size_t i);
  bool take_transfer(Thread& thread, std::size_t i);
  /// A copy that a thread of a host's virtual devices makes itself.
  void copy_on_host(const Thread& thread, const profile::Transfer& moved, Times& times);
  /// A copy between two GPUs.
  bool copy_between(Thread& thread, std::size_t i);
  /// The last copy to a GPU from another one, if there is one.
  std::vector<int> last_copy(int gpu) const;
  void collect_uses();
  /// What has to have ended before the bytes that something uses are there; nothing: one of them
  /// is not known yet.
  std::optional<std::vector<int>> used_by(std::int64_t sequence) const;
  void take_read(Thread& thread, std::size_t i);
  bool take_job(Thread& thread, const JobEvent& event);
  /// How long a job takes to another thread, and its end to whoever waits.
  double hand_over() const;
  void begin_exchange(Thread& thread, std::size_t i);
  bool end_exchange(Thread& thread, std::size_t i);
  void start_collective(std::uint64_t id, Collective& collective);
  /// Sets how long a collective takes, in its task: by the library; or only what comes before the
  /// first step, if the collective is played.
  void set_time(const Collective& collective, Task& task);
  /// The bytes of all collectives that are coalesced with this one.
  std::size_t nbytes_of(const Collective& collective) const;
  /// How long a GPU copies bytes into or out of a bucket, if it does.
  double copying_seconds(std::size_t nbytes) const;
  /// As `copying_seconds`, for a GPU's part of an all-reduce.
  double bucket_seconds(const profile::WorkSpan& span) const;
  /// Adds such a copy to a GPU's stream of work, for its part of an all-reduce.
  void copy_bucket(std::size_t part, int called);
  /// The ranks of a collective on the machine.
  int ranks_of(const Exchange& exchange) const;

  std::optional<int> gpu_of(Device device) const;
  /// Adds a task of a thread.
  int on_host(const Thread& thread, double seconds, std::vector<int> after = {});
  /// Adds a task to a GPU's stream of work.
  int on_stream(int gpu, Task task);
  /// The place of a stream of work where it is when `called` has ended. It goes on after `after`.
  int mark_stream(int gpu, int called, std::vector<int> after = {});

  const profile::StepRecord& record_;
  const Cluster& cluster_;
  const int count_;     // of the machine's GPUs that take part
  const bool is_host_;  // threads do the work themselves
  KernelModel kernels_;
  std::optional<HostKernelModel> host_kernels_ = {};
  LibraryTimes library_;
  const double kernel_speed_;
  const bool copies_buckets_;
  std::map<Device, int> gpus_;
  std::optional<CollectivePlayer> player_;  // if collectives take what the algorithm that ran does
  TaskGraph graph_;
  std::vector<Lanes> lanes_;  // by GPU
  std::map<int, Thread> threads_;
  std::deque<int> found_;  // threads, in the order in which they were found
  std::map<std::uint64_t, int> thread_of_job_;
  std::set<std::uint64_t> given_;                   // jobs that were given during the record
  std::map<std::uint64_t, int> submitted_, ended_;  // by job: tasks
  std::map<std::uint64_t, std::size_t> awaited_;    // by exchange: parts that begin it
  std::map<std::uint64_t, Collective> collectives_;
  std::map<std::uint64_t, Arrivals> arrivals_;  // by exchange
  std::vector<Times> work_, transfers_;
  std::map<std::int64_t, std::vector<std::int64_t>> uses_;  // by user, see profile::DataUse
  std::map<std::int64_t, Event> by_sequence_;               // work and transfers
  std::map<int, int> last_copies_;                          // by GPU that gets them
};

}  // namespace tandem::sim
