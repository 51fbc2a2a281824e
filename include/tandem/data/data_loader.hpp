// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/data/dataset.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/runtime/worker.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::datasets {

/// One tensor for each part of a sample; the first dimension counts the samples.
using Batch = std::vector<Tensor>;

/// How a DataLoader reads: `{.batch_size = 256, .sampler = random_sampler(set->size(), seed),
/// .workers = 2}`
struct LoaderOptions {
  std::int64_t batch_size = 1;
  /// Default: sequential.
  Sampler sampler = {};
  /// Leaves out a last batch of fewer samples than batch_size.
  bool drop_last = false;
  /// Threads that prepare batches; 0: next() prepares them itself.
  int workers = 1;
  /// Batches that each worker prepares ahead of the consumer.
  int prefetch = 2;
  /// Of the batches' tensors.
  Device device = {};
  /// Most time that next() waits for a batch.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
};

/// A place between two batches, to be kept in a checkpoint.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< batches of this epoch that were given out

  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// Gives out batches of a data set, prepared ahead by threads.
///
/// `while (auto batch = loader.next()) step(*batch);` is one epoch; after it the next begins. The
/// batches depend on the data set, the sampler and batch_size alone, never on workers or timing.
/// Used by one thread at a time.
class DataLoader {
 public:
  /// Starts the workers.
  ///
  /// @throws InvalidArgument  no data set, an option out of range, or drop_last that leaves no
  /// batch.
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  /// Waits for batches that are being prepared; one that hangs is left behind after two seconds.
  ~DataLoader();

  /// The next batch; nothing at the end of an epoch.
  ///
  /// The tensors are made by the calling thread, with category input. After an error the position
  /// is what it was, so that the next call tries the same batch again.
  /// @throws Timeout      the deadline passed.
  /// @throws OutOfMemory  the device's limit.
  ///                      What the data set throws passes through.
  std::optional<Batch> next();

  /// The batch that next() gives.
  LoaderPosition position() const noexcept { return position_; }
  /// Goes on from `position`.
  ///
  /// @throws InvalidArgument  negative, or beyond the end of its epoch.
  void seek(LoaderPosition position);
  /// Batches of the present epoch.
  std::int64_t batches() const;

 private:
  struct Epoch;
  /// A batch in a worker's hands.
  struct Pending {
    Ticket ticket;
    std::shared_ptr<std::vector<HostArray>> arrays;  // the worker's until the ticket is done
  };

  void begin_epoch();
  void prefetch();
  std::vector<HostArray> take();
  void forget() noexcept;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  LoaderPosition position_;
  std::shared_ptr<Epoch> epoch_;  // null until the first batch of an epoch is asked for
  std::deque<Pending> pending_;   // from position_.batch on, without gaps
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tandem::datasets
