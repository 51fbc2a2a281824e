// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/context.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

// The one piece of thread-local state (design: what travels with a call stands in the context). A
// pointer, so that it outlives the destructors of the thread: a static object that ends at exit,
// after those of the main thread, still asks for its context.
constinit thread_local std::shared_ptr<const Context>* installed = nullptr;
constinit thread_local bool thread_ends = false;

struct Release {
  ~Release() {
    thread_ends = true;
    delete std::exchange(installed, nullptr);
  }
};

std::shared_ptr<const Context>& current() {
  if (installed == nullptr) {
    // Made anew at exit, it stays until the process is gone.
    if (!thread_ends) {
      static thread_local const Release release;
    }
    installed = new std::shared_ptr<const Context>;
  }
  if (*installed == nullptr) {
    auto fresh = std::make_shared<Context>();
    fresh->threads = core_count();
    *installed = std::move(fresh);
  }
  return *installed;
}

}  // namespace

AbortToken::AbortToken(std::function<bool()> failed, std::string reason)
    : failed_(std::move(failed)), reason_of_failure_(std::move(reason)) {}

void AbortToken::abort(std::string reason) {
  const std::scoped_lock lock(mutex_);
  if (aborted_.load(std::memory_order_relaxed)) return;
  reason_ = std::move(reason);
  aborted_.store(true, std::memory_order_release);
}

std::string AbortToken::reason() const {
  const std::scoped_lock lock(mutex_);
  return aborted_.load(std::memory_order_relaxed) ? reason_ : reason_of_failure_;
}

void AbortToken::reset() noexcept {
  const std::scoped_lock lock(mutex_);
  reason_.clear();
  aborted_.store(false, std::memory_order_release);
}

const Context& context() noexcept {
  return *current();
}

std::shared_ptr<const Context> share_context() {
  return current();
}

const std::string& current_module_path() noexcept {
  static const std::string kNoModule;
  const Context& c = context();
  return c.module_path == nullptr ? kNoModule : *c.module_path;
}

ContextScope::ContextScope(std::shared_ptr<const Context> context) noexcept
    : previous_(std::exchange(current(), std::move(context))) {}

ContextScope::~ContextScope() {
  current() = std::move(previous_);
}

void check_alive(const char* op) {
  const Context& c = context();
  if (c.abort != nullptr && c.abort->aborted()) {
    throw CommAborted(detail::concat(op, ": stopped because ", c.abort->reason()));
  }
  if (c.deadline.passed()) {
    throw Timeout(detail::concat(op,
                                 ": the step's deadline has passed: ",
                                 c.deadline.describe(),
                                 "; raise the deadline if a single piece of work takes that long"));
  }
}

}  // namespace tandem
