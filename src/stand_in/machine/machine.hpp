// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "stand_in/machine/failures.hpp"
#include "stand_in/machine/gate.hpp"
#include "stand_in/machine/host_knowledge.hpp"
#include "stand_in/machine/memory.hpp"
#include "stand_in/machine/reports.hpp"
#include "stand_in/machine/settings.hpp"
#include "stand_in/machine/streams.hpp"
#include "stand_in/machine/uses.hpp"

namespace tandem::stand_in {

/// Bytes that another process has and nobody tells; they count as free.
inline constexpr std::size_t kUntold = ~std::size_t{0};

/// GPUs on the host's memory.
///
/// Copies, events and collectives wait on lazy streams; a kernel runs when it is called, after what
/// its stream was given before. Clocks know what comes before what, so that an access without a
/// wait is reported however it ran. Whoever calls a member holds the mutex.
class Machine {
 public:
  /// The process's, with the environment's settings. Lives until the process has ended.
  static Machine& get();
  explicit Machine(const Settings& settings);

  /// Reports it, and ends the process.
  [[noreturn]] void fatal(const std::string& kind, const std::string& name, const std::string& why);

  /// The stream of a handle; the default one of `gpu` for CUDA's 0, 1 and 2, or null where these
  /// are refused.
  CUstream_st* stream(CUstream_st* handle, int gpu);
  CUstream_st* make_stream(int gpu, int level) { return streams.make(gpu, level); }
  /// Counts the stream's next task, which comes after all that the calling thread knows to be done.
  void next_task(CUstream_st* s);
  static void push(CUstream_st* s, Task task) { s->tasks.push_back(std::move(task)); }
  static void wait(CUstream_st* s, const std::shared_ptr<Mark>& mark);
  void record(CUstream_st* s, CUevent_st* event);

  /// Runs tasks of any streams until it is so, or none can run.
  ///
  /// @return  whether it is so.
  bool run(const std::function<bool()>& done);
  /// The same, and waits for other host threads up to the deadline. Ends the process if it never
  /// comes to that.
  void finish(const std::function<bool()>& done, const std::string& what);
  /// The host waits for the stream.
  void drain(CUstream_st* s);
  void drain_gpu(int gpu);
  /// Whether it is done, after some time has passed.
  bool query(const std::function<bool()>& done);

  /// A kernel of the calling thread begins on the stream, and has it until it ends.
  void begin_kernel(CUstream_st* s);
  static void end_kernel(CUstream_st* s) { s->kernel = {}; }

  /// @return  null: the GPU is full.
  void* allocate(int gpu, std::size_t nbytes);
  /// Waits for the GPU, as cudaFree does.
  ///
  /// @return  whether a block begins there.
  bool free(void* p);
  /// The same in the order of a stream: what uses the memory is to come after the one and before
  /// the other.
  void* allocate(CUstream_st* s, std::size_t nbytes, const char* what);
  bool free(CUstream_st* s, void* p, const char* what);
  /// What another process has of a GPU, by the process's number; 0: nothing any more.
  ///
  /// @return  whether the GPU has as much.
  bool occupy(int gpu, unsigned process, std::size_t nbytes);
  const std::map<unsigned, std::size_t>& others(int gpu) const {
    return others_[static_cast<std::size_t>(gpu)];
  }
  void forget_others(int gpu) { others_[static_cast<std::size_t>(gpu)].clear(); }
  std::size_t free_bytes(int gpu) const;
  /// Memory that has no address yet, or none any more.
  ///
  /// @return  whether the GPU has as much.
  bool claim(int gpu, std::size_t nbytes);
  void unclaim(int gpu, std::size_t nbytes) { used_[static_cast<std::size_t>(gpu)] -= nbytes; }
  /// Puts such memory where addresses are reserved.
  void map(const Memory::Block& block);
  /// Takes it away from where it begins.
  void unmap(const void* p);
  /// The same without its bytes, which Memory fills and clears when a stream comes to it.
  void put(const Memory::Block& block);
  Memory::Block take(const void* p);
  /// What this process has.
  std::size_t used(int gpu) const { return used_[static_cast<std::size_t>(gpu)]; }
  /// The stream's last task reads or writes the bytes. Reports what nothing puts before it. Memory
  /// that is not allocated is an illegal address, which stays the GPU's error.
  ///
  /// @return  whether the bytes are there.
  bool use(CUstream_st* s, const void* p, std::size_t nbytes, bool writes, const char* what);

  /// Whose memory the byte is, in words.
  std::string owner(const void* p) const;

  /// The error that a GPU stays in; 0: none.
  int& error(int gpu) { return streams.error(gpu); }

  /// What copies and collectives wait for that hang.
  std::shared_ptr<Mark> never = std::make_shared<Mark>();
  Gate mutex;
  Settings settings;
  bool lists_itself = true;  // among the processes of a GPU, as NVML does outside of containers
  bool has_default_streams = true;
  bool races_are_faults = false;  // a GPU that comes to one takes no more work
  Reports reports;
  Failures failures;
  Memory memory;
  Streams streams;
  std::set<CUevent_st*> events;
  int communicators = 0;                       // NCCL's
  std::set<int> contexts;                      // GPUs that the process has begun to use
  std::map<const void*, std::string> kernels;  // names by their host function

 private:
  const Memory::Block* block_at(const void* p) const;
  Memory::Block give_up(const Memory::Block& block);
  void report_race(const CUstream_st* s, bool writes, const char* what, const Conflict& conflict);

  Uses uses_;
  std::array<std::size_t, kMostGpus> used_ = {};
  std::array<std::map<unsigned, std::size_t>, kMostGpus> others_ = {};
};

}  // namespace tandem::stand_in
