// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// Calls a function before somebody reads a gradient of a module's parameters.
class GradientReads {
 public:
  /// @param complete  makes the gradients what a reader expects. It is called on the reader's
  ///                  thread.
  explicit GradientReads(std::function<void()> complete) : complete_(std::move(complete)) {}
  GradientReads(const GradientReads&) = delete;
  GradientReads& operator=(const GradientReads&) = delete;

  /// Notices reads from here on, as long as `owner` lives. It keeps this object alive.
  void begin(const std::shared_ptr<const void>& owner);
  /// Notices reads of the gradients of an arena's parameters, if begin was called.
  void attach(const optim::Arena& arena) const;

  /// While it lives, gradients can be read as they lie: the function is not called.
  class AsTheyLie {
   public:
    explicit AsTheyLie(GradientReads& reads)
        : lies_(reads.lies_), before_(reads.lies_.exchange(true)) {}
    ~AsTheyLie() { lies_ = before_; }
    AsTheyLie(const AsTheyLie&) = delete;
    AsTheyLie& operator=(const AsTheyLie&) = delete;

   private:
    std::atomic<bool>& lies_;
    bool before_;
  };

 private:
  class Source;

  std::function<void()> complete_;
  std::shared_ptr<autograd::GradientSource> source_;  // null: reads are not noticed
  std::atomic<bool> lies_{false};
};

}  // namespace tandem::parallel
