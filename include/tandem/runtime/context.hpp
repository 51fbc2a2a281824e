// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/deadline.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {

class RowGroup;   // autograd/row_group.hpp: the replicas that share a batch
class Generator;  // runtime/generator.hpp
namespace autograd {
class Checkpoint;      // autograd/checkpoint.hpp: a part of a forward that backward runs again
class OutsideTensors;  // src/autograd/outside_tensors.hpp: where a replica's tapes end
}  // namespace autograd

/// Rows of the whole batch that the current replica works on: [begin, end).
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = -1;  ///< -1: all rows, no replica

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// Set once by whoever fails first; every wait looks at it.
///
/// Thread-safe.
class AbortToken {
 public:
  /// The first call wins.
  void abort(std::string reason);
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  std::string reason() const;
  /// For the next step.
  void reset() noexcept;

 private:
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;  // guards reason_
  std::string reason_;
};

/// One top-level forward: the position of its random numbers.
///
/// Used by one thread at a time; each replica has its own.
struct ForwardFrame {
  std::uint64_t seed = 0;
  std::uint64_t forward = 0;                        ///< count of top-level forwards before this one
  std::unordered_map<std::string, int> calls = {};  ///< random draws so far, by module path
  bool drew = false;                                ///< some of them were made
};

/// What travels with a call: installed on a thread by ContextScope, handed to workers, kept by
/// autograd nodes so that backward sees its forward's.
struct Context {
  bool grad_enabled = true;
  bool captures_gradients = false;  ///< in a backward: for autograd::grad, not for the leaves
  bool retains_graph = false;       ///< in a backward: the tape stays for another one
  Phase phase = Phase::none;
  int bucket = -1;  ///< of the gradients or parameters that are exchanged; -1: none
  Category category = Category::activation;  ///< of new tensors
  int replica = 0;                           ///< index of the device in its group
  RowRange rows;
  std::int64_t batch_rows = -1;  ///< of all replicas; -1: no replica
  int row_dim = 0;               ///< the dimension of the batch's rows
  int threads = 1;               ///< of a host device: its share of the cores
  KernelPath path = KernelPath::fastest;
  std::optional<DType> autocast;  ///< type of 16 bits for products (ops/autocast.hpp); none: off
  std::shared_ptr<const std::string> module_path;    ///< "net.conv1"; null outside modules
  std::shared_ptr<ForwardFrame> frame;               ///< null outside a top-level forward
  std::shared_ptr<RowGroup> row_group;               ///< null outside a data-parallel call
  std::shared_ptr<autograd::Checkpoint> checkpoint;  ///< that ops save for; null: the tape
  bool recomputes = false;  ///< a checkpoint's second run: buffers were updated by the first
  std::shared_ptr<Generator> generator;  ///< the rank's own; null: the process's
  /// The tapes of a replica end at tensors from outside of it; null: no replica.
  std::shared_ptr<autograd::OutsideTensors> outside;
  Deadline deadline;
  std::shared_ptr<const AbortToken> abort;  ///< null: none
};

/// The calling thread's context.
const Context& context() noexcept;
/// The same, to keep or to hand to another thread.
std::shared_ptr<const Context> share_context();
/// The module path of the calling thread; "" outside modules.
const std::string& current_module_path() noexcept;

/// Installs a context on this thread until the end of the scope.
///
/// `ContextScope scope([](Context& c) { c.phase = Phase::backward; });`
class ContextScope {
 public:
  /// @param context  null means the default context.
  explicit ContextScope(std::shared_ptr<const Context> context) noexcept;
  /// A copy of the present context, changed by `change`.
  template <class F>
  requires requires(F f, Context& c) { f(c); }
  explicit ContextScope(F&& change) : ContextScope(changed(std::forward<F>(change))) {}
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  template <class F>
  static std::shared_ptr<const Context> changed(F&& change) {
    auto next = std::make_shared<Context>(context());
    change(*next);
    return next;
  }

  std::shared_ptr<const Context> previous_;
};

/// Throws CommAborted or Timeout, naming `op`, where the context's token or deadline says so.
void check_alive(const char* op);

}  // namespace tandem
