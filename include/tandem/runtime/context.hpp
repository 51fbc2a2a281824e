// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

class Generator;  // runtime/generator.hpp

/// The rows of the whole batch that the current replica works on: [begin, end).
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = -1;  ///< -1: all rows, since this is not a replica

  /// The number of rows in a replica's range.
  std::int64_t size() const noexcept { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// A flag that whoever fails first sets, once. Every wait checks it.
///
/// Thread-safe.
class AbortToken {
 public:
  AbortToken() = default;
  /// The flag is also set while `failed` says so: for failures that are noted elsewhere.
  ///
  /// @param failed  called in each look at the flag, on any thread.
  /// @param reason  the token's, unless `abort` has given one.
  AbortToken(std::function<bool()> failed, std::string reason);

  /// Sets the flag. If it is called several times, the first reason stays.
  void abort(std::string reason);
  bool aborted() const noexcept {
    return aborted_.load(std::memory_order_acquire) || (failed_ != nullptr && failed_());
  }
  std::string reason() const;
  /// Clears the flag for the next step.
  void reset() noexcept;

 private:
  std::atomic<bool> aborted_{false};
  const std::function<bool()> failed_;  // null: abort() alone sets the flag
  const std::string reason_of_failure_;
  mutable std::mutex mutex_;  // guards reason_
  std::string reason_;
};

/// The position of the random numbers in one top-level forward.
///
/// Used by one thread at a time. Each replica has its own.
struct ForwardFrame {
  std::uint64_t seed = 0;
  std::uint64_t forward = 0;  ///< number of top-level forwards before this one
  std::uint64_t call = 0;     ///< number of the wrapper's call, which meetings compare; 0: none
  std::unordered_map<std::string, int> calls = {};  ///< random draws so far, by module path
  bool drew = false;                                ///< whether there was a random draw
};

/// What the layer that records tapes keeps in a context, which carries it and knows no more of it.
struct ContextExtension {
  virtual ~ContextExtension() = default;
};

/// The state that travels with a call. ContextScope installs it on a thread, it is handed to
/// workers, and autograd nodes keep it so that backward sees the context of its forward.
struct Context {
  bool grad_enabled = true;
  bool captures_gradients = false;  ///< in a backward: it is autograd::grad's, so that the leaves
                                    ///< accumulate nothing
  bool retains_graph = false;       ///< in a backward: the tape stays for another backward
  Phase phase = Phase::none;
  int bucket = -1;  ///< the bucket of gradients or parameters being exchanged; -1: none
  Category category = Category::activation;  ///< the category of new tensors
  int replica = 0;                           ///< index of the device in its group
  RowRange rows;
  std::int64_t batch_rows = -1;  ///< rows of the whole batch, over all replicas; -1: no replica
  int row_dim = 0;               ///< the dimension that the rows of the batch are in
  int threads = 1;               ///< threads that a host kernel may use: its share of the cores
  KernelPath path = KernelPath::fastest;
  bool keeps_data = false;  ///< new memory has data on shape-only devices, too: it is for values
                            ///< that decide what the program does next
  std::optional<DType> autocast;  ///< the 16-bit type of products (ops/autocast.hpp); none: off
  std::shared_ptr<const std::string> module_path;  ///< "net.conv1"; null outside modules
  std::shared_ptr<ForwardFrame> frame;             ///< null outside a top-level forward
  bool recomputes = false;  ///< this is a checkpoint's second run; the first updated the buffers
  std::shared_ptr<Generator> generator;          ///< the rank's own; null: the process's
  std::shared_ptr<const ContextExtension> tape;  ///< null: nothing
  Deadline deadline;
  std::shared_ptr<const AbortToken> abort;  ///< null: none
};

/// The calling thread's context.
const Context& context() noexcept;
/// The calling thread's context, to keep or to hand to another thread.
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
  /// Installs a copy of the present context, changed by `change`.
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

/// Throws CommAborted if the context's abort token is set, and Timeout if its deadline has passed.
/// The text names `op`.
void check_alive(const char* op);

}  // namespace tandem
