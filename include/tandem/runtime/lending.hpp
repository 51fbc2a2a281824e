// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tandem {

/// Memory of another owner, for a buffer that adopts it.
struct AdoptedMemory {
  void* data = nullptr;  ///< in the host's memory; need not be aligned beyond its elements
  std::size_t nbytes = 0;
  bool is_read_only = false;
  /// Called once, when the buffer ends, by the thread that ends it. Must not throw. Null: nothing
  /// is called.
  std::function<void()> give_back = nullptr;
};

/// What a buffer shares with other libraries: memory that it has adopted from one, or has lent to
/// some. Thread-safe.
class Lending {
 public:
  /// The memory is tandem's own.
  Lending() = default;
  /// The memory belongs to another library, and goes back to it when this ends.
  explicit Lending(AdoptedMemory memory) noexcept;
  ~Lending() {
    if (give_back_) give_back_();
  }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  /// Whether the memory belongs to another owner.
  bool is_adopted() const noexcept { return is_adopted_; }
  bool is_read_only() const noexcept { return is_read_only_; }
  /// Notes that somebody outside of tandem gets the address, who may write to it unseen. The memory
  /// then stays in its place until end_loan().
  void lend() noexcept;
  void end_loan() noexcept { loans_.fetch_sub(1, std::memory_order_release); }
  bool is_lent() const noexcept { return loans_.load(std::memory_order_acquire) > 0; }
  /// Whether others have, or have had, the address.
  bool was_shared() const noexcept { return was_shared_.load(std::memory_order_relaxed); }

 private:
  const bool is_adopted_ = false;
  const bool is_read_only_ = false;
  std::atomic<bool> was_shared_{false};
  std::atomic<std::uint32_t> loans_{0};
  const std::function<void()> give_back_;  // of adopted memory; may be null
};

}  // namespace tandem
