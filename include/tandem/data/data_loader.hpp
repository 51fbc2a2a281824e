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

/// One tensor for each part of a sample. The first dimension counts the samples.
using Batch = std::vector<Tensor>;

/// How a DataLoader reads.
///
///     {.batch_size = 256, .sampler = random_sampler(set->size(), seed), .workers = 2}
struct LoaderOptions {
  std::int64_t batch_size = 1;
  /// The order of the samples. The default is sequential.
  Sampler sampler = {};
  /// Takes part `part` of `parts` even parts of each batch, as a batch is cut for devices: for
  /// processes that train together. A part may be empty.
  int part = 0, parts = 1;
  /// How many of the sampler's samples come before the first one that another rank has already
  /// (unrepeated_count); none: all. See repeated_rows.
  std::optional<std::int64_t> unrepeated = std::nullopt;
  /// Drops the last batch if it has fewer than batch_size samples.
  bool drop_last = false;
  /// The number of threads that prepare batches, at most 256. With 0, next() prepares them itself.
  int workers = 1;
  /// The number of batches that each worker prepares ahead of the consumer.
  int prefetch = 2;
  /// The device of the batches' tensors.
  Device device = {};
  /// The longest time that next() waits for a batch.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
};

/// A position between two batches, which a checkpoint keeps.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< the number of batches of this epoch that were given out

  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// Gives out batches of a data set, which threads prepare ahead.
///
/// `while (auto batch = loader.next()) step(*batch);` runs one epoch; then the next one begins. The
/// batches depend only on the data set, the sampler, batch_size, part and drop_last, and never on
/// workers or timing. One thread may use a loader at a time.
class DataLoader {
 public:
  /// Starts the workers.
  ///
  /// @throws InvalidArgument  if there is no data set, an option is out of range, or drop_last
  ///                          leaves no batch.
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  /// Waits for batches that are being prepared. One that hangs is abandoned after two seconds.
  ~DataLoader();

  /// The next batch, or nothing at the end of an epoch.
  ///
  /// The calling thread makes the tensors, in the category `input`. An error leaves the position
  /// unchanged, so the next call tries the same batch again.
  /// @throws Timeout      if the deadline has passed.
  /// @throws OutOfMemory  if the device's limit is exceeded.
  /// @throws  what the data set throws.
  std::optional<Batch> next();

  /// The samples of the batch that next() gave last, of all its parts; 0: it has given none.
  std::int64_t whole_rows() const noexcept { return whole_rows_; }
  /// How many rows at the end of the batch that next() gave last are repeated ones, by
  /// LoaderOptions::unrepeated. Rank::gather_for_metrics leaves them out.
  std::int64_t repeated_rows() const noexcept { return repeated_rows_; }

  /// The position of the batch that next() will give.
  LoaderPosition position() const noexcept { return position_; }
  /// Continues from `position`.
  ///
  /// @throws InvalidArgument  if `position` is negative, or beyond the end of its epoch.
  void seek(LoaderPosition position);
  /// The number of batches of the present epoch.
  std::int64_t batches() const;

 private:
  struct Epoch;
  /// A batch in a worker's hands.
  struct Pending {
    Ticket ticket;
    std::shared_ptr<std::vector<HostArray>> arrays;  // only the worker's until the ticket is done
  };

  void begin_epoch();
  void prefetch();
  std::vector<HostArray> take();
  void forget() noexcept;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  LoaderPosition position_;
  std::int64_t whole_rows_ = 0, repeated_rows_ = 0;
  std::shared_ptr<Epoch> epoch_;  // null after an epoch or an error, until next() or seek()
  std::deque<Pending> pending_;   // from position_.batch on, without gaps
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tandem::datasets
