// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::parallel::test {

enum class Lasts : std::uint8_t { once, for_ever };

/// Lets allocations on a device fail, until the end of its scope. Begin and end it while nothing
/// runs.
class FailingAllocations {
 public:
  FailingAllocations(Device device, Lasts lasts) : device_(logical_device(device)) {
    device_.set_wrapper([left = left_, lasts](Allocator& inner) {
      return std::make_unique<Failing>(inner, left, lasts);
    });
  }
  ~FailingAllocations() { device_.set_wrapper(nullptr); }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// From now on the `k`-th allocation fails, and, if it lasts for ever, all after it.
  void begin_at(int k) { *left_ = k; }
  void end() { *left_ = INT32_MAX; }

 private:
  using Left = std::shared_ptr<std::atomic<int>>;

  class Failing final : public Allocator {
   public:
    Failing(Allocator& inner, Left left, Lasts lasts)
        : inner_(inner), left_(std::move(left)), lasts_(lasts) {}
    void* allocate(std::size_t nbytes, Category category) override {
      const int now = left_->fetch_sub(1);
      if (now == 1 || (now < 1 && lasts_ == Lasts::for_ever))
        throw OutOfMemory("test", nbytes, 0, 0, {});
      return inner_.allocate(nbytes, category);
    }
    void deallocate(void* p, std::size_t nbytes, Category category) noexcept override {
      inner_.deallocate(p, nbytes, category);
    }

   private:
    Allocator& inner_;
    Left left_;
    Lasts lasts_;
  };

  LogicalDevice& device_;
  Left left_ = std::make_shared<std::atomic<int>>(INT32_MAX);
};

}  // namespace tandem::parallel::test
