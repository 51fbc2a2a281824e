// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace tandem {

/// Everything that the next numbers of a Generator depend on.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t forwards = 0;
  std::uint64_t draws = 0;

  friend bool operator==(const GeneratorState&, const GeneratorState&) = default;
};

/// A source of random numbers (PyTorch's torch.Generator): a seed, and a position in its sequence.
///
/// Outside a module's forward, the position is the number of earlier draws. Inside a forward, the
/// position consists of the number of top-level forwards, the module's path, the call within the
/// module and the batch's row. So a step that fails uses up no numbers, and the numbers are the
/// same on any number of devices.
///
/// Thread-safe, but only one thread at a time may read or set the state as a whole.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) noexcept : seed_(seed) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Sets the seed, and resets the position to the start.
  void manual_seed(std::uint64_t seed) noexcept { set_state({.seed = seed}); }
  std::uint64_t seed() const noexcept { return seed_.load(std::memory_order_relaxed); }
  GeneratorState get_state() const noexcept;
  void set_state(const GeneratorState& state) noexcept;

  /// The number of top-level forwards that have been committed: those in training mode, and others
  /// that drew numbers.
  std::atomic<std::uint64_t>& forwards() noexcept { return forwards_; }
  /// The number of draws outside a module's forward so far.
  std::atomic<std::uint64_t>& draws() noexcept { return draws_; }

 private:
  std::atomic<std::uint64_t> seed_;
  std::atomic<std::uint64_t> forwards_{0};
  std::atomic<std::uint64_t> draws_{0};
};

/// The generator for draws that name none: the rank's own on the threads of parallel::run_ranks,
/// else the process's.
Generator& default_generator() noexcept;

/// Seeds the default generator (PyTorch's torch.manual_seed).
inline void manual_seed(std::uint64_t seed) noexcept {
  default_generator().manual_seed(seed);
}

}  // namespace tandem
