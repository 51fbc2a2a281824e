// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/data_loader.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"

#include "core/even_share.hpp"

namespace tandem::datasets {

namespace {

using Clock = std::chrono::steady_clock;
using tandem::detail::concat;

std::int64_t batches_of(std::size_t samples, const LoaderOptions& options) {
  const auto n = static_cast<std::int64_t>(samples);
  const bool rest = n % options.batch_size != 0 && !options.drop_last;
  return n / options.batch_size + (rest ? 1 : 0);
}

}  // namespace

/// What the jobs of an epoch share; a job that hangs keeps it alive after the loader.
struct DataLoader::Epoch {
  std::shared_ptr<const Dataset> dataset;
  std::int64_t number;
  std::vector<std::int64_t> order;
  std::int64_t batch_size;
  std::int64_t part, parts;
  std::int64_t batches;
  std::atomic<bool> cancelled{false};  // jobs that have not begun need not begin

  /// The share of all parts together.
  Share whole(std::int64_t batch) const {
    const std::int64_t first = batch * batch_size;
    return {first, std::min(first + batch_size, static_cast<std::int64_t>(order.size()))};
  }
  Share own(std::int64_t batch) const { return even_share(whole(batch), part, parts); }
  std::vector<HostArray> prepare(std::int64_t batch) const {
    const Share range = own(batch);
    if (range.size() > 0) return samples(range);
    // No data set is asked for no samples: a part without rows has the form of one.
    const std::int64_t first = whole(batch).begin;
    std::vector<HostArray> none;
    for (const HostArray& one : samples({first, first + 1})) {
      Shape shape = one.shape;
      shape[0] = 0;
      none.emplace_back(one.dtype, shape);
    }
    return none;
  }
  std::vector<HostArray> samples(Share range) const {
    const auto begin = static_cast<std::size_t>(range.begin);
    return dataset->get_in_epoch(
        std::span(order).subspan(begin, static_cast<std::size_t>(range.size())), number);
  }
};

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  TANDEM_CHECK(dataset_ != nullptr, "DataLoader: the data set is null");
  TANDEM_CHECK(options_.batch_size > 0,
               "DataLoader: batch_size is ",
               options_.batch_size,
               "; it must be at least 1");
  TANDEM_CHECK(options_.parts > 0 && options_.part >= 0 && options_.part < options_.parts,
               "DataLoader: part is ",
               options_.part,
               " of ",
               options_.parts,
               "; it must be from 0 to the number of parts less one");
  TANDEM_CHECK(options_.unrepeated.value_or(0) >= 0,
               "DataLoader: unrepeated is ",
               options_.unrepeated.value_or(0),
               "; it may not be negative: give unrepeated_count(size, ranks, rank)");
  TANDEM_CHECK(options_.workers >= 0 && options_.workers <= 256,
               "DataLoader: workers is ",
               options_.workers,
               "; it must be from 0 to 256");
  TANDEM_CHECK(options_.prefetch > 0,
               "DataLoader: prefetch is ",
               options_.prefetch,
               "; it must be at least 1");
  TANDEM_CHECK(options_.deadline.count() > 0,
               "DataLoader: the deadline is ",
               options_.deadline.count(),
               " ms; it must be above 0");
  options_.deadline =
      std::min<std::chrono::milliseconds>(options_.deadline, std::chrono::hours(24 * 365));
  if (!options_.sampler) options_.sampler = sequential_sampler(dataset_->size());
  begin_epoch();
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(
        std::make_unique<Worker>("data loader " + std::to_string(i), Worker::Jobs::silent));
  }
}

DataLoader::~DataLoader() {
  forget();
}

std::optional<Batch> DataLoader::next() {
  begin_epoch();
  if (position_.batch >= epoch_->batches) {
    forget();
    position_ = {.epoch = position_.epoch + 1, .batch = 0};
    return std::nullopt;
  }
  const std::vector<HostArray> arrays =
      workers_.empty() ? epoch_->prepare(position_.batch) : take();
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  Batch batch;
  try {
    for (const HostArray& array : arrays)
      batch.push_back(to_tensor(array, options_.device));
  } catch (...) {
    forget();  // this batch is no longer among the pending ones
    throw;
  }
  whole_rows_ = epoch_->whole(position_.batch).size();
  const Share own = epoch_->own(position_.batch);
  repeated_rows_ = own.end - std::clamp(options_.unrepeated.value_or(own.end), own.begin, own.end);
  ++position_.batch;
  if (!workers_.empty()) prefetch();
  return batch;
}

void DataLoader::seek(LoaderPosition position) {
  TANDEM_CHECK(position.epoch >= 0 && position.batch >= 0,
               "DataLoader: cannot seek to epoch ",
               position.epoch,
               ", batch ",
               position.batch,
               "; neither may be negative");
  const LoaderPosition before = std::exchange(position_, position);
  forget();
  begin_epoch();
  if (position.batch <= epoch_->batches) return;
  const std::int64_t most = epoch_->batches;
  position_ = before;
  forget();
  throw InvalidArgument(
      concat("DataLoader: cannot seek to batch ",
             position.batch,
             " of epoch ",
             position.epoch,
             ", which has ",
             most,
             " batches; was the position saved with another batch_size or data set?"));
}

std::int64_t DataLoader::batches() const {
  if (epoch_) return epoch_->batches;
  return batches_of(options_.sampler(position_.epoch).size(), options_);
}

/// Makes epoch_ for position_.epoch where there is none.
void DataLoader::begin_epoch() {
  if (epoch_) return;
  auto epoch = std::make_shared<Epoch>();
  epoch->dataset = dataset_;
  epoch->number = position_.epoch;
  epoch->order = options_.sampler(position_.epoch);
  epoch->batch_size = options_.batch_size;
  epoch->part = options_.part;
  epoch->parts = options_.parts;
  epoch->batches = batches_of(epoch->order.size(), options_);
  TANDEM_CHECK(epoch->batches > 0 || epoch->order.empty(),
               "DataLoader: drop_last leaves no batch of ",
               options_.batch_size,
               " from ",
               epoch->order.size(),
               " samples; use a smaller batch_size");
  epoch_ = std::move(epoch);
}

/// Hands out batches until every worker has its share. Batch b is always worker b % n's.
void DataLoader::prefetch() {
  const std::size_t most = workers_.size() * static_cast<std::size_t>(options_.prefetch);
  while (pending_.size() < most) {
    const std::int64_t batch = position_.batch + static_cast<std::int64_t>(pending_.size());
    if (batch >= epoch_->batches) return;
    auto arrays = std::make_shared<std::vector<HostArray>>();
    Worker& worker = *workers_[static_cast<std::size_t>(batch) % workers_.size()];
    Ticket ticket = worker.submit([epoch = epoch_, batch, arrays] {
      if (!epoch->cancelled.load(std::memory_order_relaxed)) *arrays = epoch->prepare(batch);
    });
    pending_.push_back({.ticket = std::move(ticket), .arrays = std::move(arrays)});
  }
}

/// The batch at position_, once its worker has it.
std::vector<HostArray> DataLoader::take() {
  prefetch();
  std::exception_ptr error;
  try {
    error = pending_.front().ticket.outcome(Clock::now() + options_.deadline);
  } catch (const Timeout&) {
    throw Timeout(concat("DataLoader: batch ",
                         position_.batch,
                         " of epoch ",
                         position_.epoch,
                         " was not ready within ",
                         options_.deadline.count(),
                         " ms; the data set may hang, or need more workers or a longer deadline"));
  }
  if (error) {
    forget();
    std::rethrow_exception(std::move(error));
  }
  std::vector<HostArray> arrays = std::move(*pending_.front().arrays);
  pending_.pop_front();
  return arrays;
}

/// Drops what was prepared ahead.
void DataLoader::forget() noexcept {
  if (epoch_) epoch_->cancelled.store(true, std::memory_order_relaxed);
  epoch_.reset();
  pending_.clear();
}

}  // namespace tandem::datasets
