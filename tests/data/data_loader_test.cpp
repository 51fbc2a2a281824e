// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/data_loader.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::datasets {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Sample i is the number i; a test may do something else at the call for a sample.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}

  std::int64_t size() const override { return size_; }
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override {
    ++calls;
    if (on_get) on_get(indices.front());
    HostArray out(DType::i64, {static_cast<std::int64_t>(indices.size())});
    std::ranges::copy(indices, out.values<std::int64_t>().begin());
    return {out};
  }

  std::function<void(std::int64_t)> on_get;
  mutable std::atomic<int> calls = 0;

 private:
  std::int64_t size_;
};

using Values = std::vector<std::int64_t>;

Values values(const Batch& batch) {
  return batch.at(0).to_host<std::int64_t>();
}

std::vector<Values> epoch(DataLoader& loader) {
  std::vector<Values> out;
  while (const auto batch = loader.next())
    out.push_back(values(*batch));
  return out;
}

class DataLoaderTest : public ::testing::TestWithParam<int> {
 protected:
  int workers() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Workers, DataLoaderTest, ::testing::Values(0, 1, 2, 5));

TEST_P(DataLoaderTest, GivesEverySampleInOrder) {
  DataLoader loader(std::make_shared<Numbers>(7), {.batch_size = 3, .workers = workers()});
  EXPECT_EQ(loader.batches(), 3);
  EXPECT_THAT(epoch(loader), ElementsAre(Values{0, 1, 2}, Values{3, 4, 5}, Values{6}));
  EXPECT_EQ(loader.position(), (LoaderPosition{1, 0}));
  EXPECT_EQ(epoch(loader).size(), 3u);
}

TEST_P(DataLoaderTest, ItsThreadsTellNoObserverOfTheirJobs) {
  struct Jobs : Observer {
    void on_job(const JobEvent&) noexcept override { ++told; }
    std::atomic<int> told = 0;
  } jobs;
  {
    const Subscription subscription(jobs);
    DataLoader loader(std::make_shared<Numbers>(10), {.batch_size = 3, .workers = workers()});
    EXPECT_EQ(epoch(loader).size(), 4U);
  }
  EXPECT_EQ(jobs.told, 0) << "they may run while an observer is being ended";
}

TEST_P(DataLoaderTest, DropLastLeavesOutTheShortBatch) {
  DataLoader loader(std::make_shared<Numbers>(7),
                    {.batch_size = 3, .drop_last = true, .workers = workers()});
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_THAT(epoch(loader), ElementsAre(Values{0, 1, 2}, Values{3, 4, 5}));
  EXPECT_EQ(loader.batches(), 2);
}

TEST_P(DataLoaderTest, GivesAPartOfEachBatch) {
  const auto part = [&](int rank, int parts) {
    DataLoader loader(std::make_shared<Numbers>(7),
                      {.batch_size = 5, .part = rank, .parts = parts, .workers = workers()});
    EXPECT_EQ(loader.batches(), 2);
    EXPECT_EQ(loader.whole_rows(), 0);
    auto batches = epoch(loader);
    EXPECT_EQ(loader.whole_rows(), 2) << "of the last one";
    return batches;
  };
  EXPECT_THAT(part(0, 2), ElementsAre(Values{0, 1, 2}, Values{5}));
  EXPECT_THAT(part(1, 2), ElementsAre(Values{3, 4}, Values{6}));
  EXPECT_THAT(part(1, 3), ElementsAre(Values{2, 3}, Values{6}));
  EXPECT_THAT(part(2, 3), ElementsAre(Values{4}, IsEmpty()));
}

TEST_P(DataLoaderTest, TellsHowManyRowsAreRepeated) {
  const auto repeated = [&](std::int64_t unrepeated, int part, int parts) {
    DataLoader loader(std::make_shared<Numbers>(7),
                      {.batch_size = 4,
                       .part = part,
                       .parts = parts,
                       .unrepeated = unrepeated,
                       .workers = workers()});
    Values rows{loader.repeated_rows()};
    while (loader.next())
      rows.push_back(loader.repeated_rows());
    return rows;
  };
  EXPECT_THAT(repeated(7, 0, 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(repeated(6, 0, 1), ElementsAre(0, 0, 1));
  EXPECT_THAT(repeated(2, 0, 1), ElementsAre(0, 2, 3));
  EXPECT_THAT(repeated(100, 0, 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(repeated(5, 0, 2), ElementsAre(0, 0, 1));
  EXPECT_THAT(repeated(5, 1, 2), ElementsAre(0, 0, 1));
  EXPECT_THAT([&] { repeated(-1, 0, 1); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("unrepeated is -1")));
}

TEST_P(DataLoaderTest, ShuffledBatchesDoNotDependOnTheWorkers) {
  const Sampler sampler = random_sampler(50, 9);
  const auto slow_at_times = std::make_shared<Numbers>(50);
  slow_at_times->on_get = [](std::int64_t first) {
    for (std::int64_t i = 0; i < first % 5; ++i)  // a yield is long on a busy machine
      std::this_thread::yield();
  };
  DataLoader loader(slow_at_times,
                    {.batch_size = 4, .sampler = sampler, .workers = workers(), .prefetch = 3});
  for (std::int64_t e = 0; e < 2; ++e) {
    Values seen;
    for (const Values& batch : epoch(loader))
      seen.insert(seen.end(), batch.begin(), batch.end());
    EXPECT_EQ(seen, sampler(e)) << "epoch " << e;
  }
}

TEST_P(DataLoaderTest, GoesOnFromAnyPosition) {
  const LoaderOptions options{
      .batch_size = 4, .sampler = random_sampler(18, 1), .workers = workers()};
  const auto set = std::make_shared<Numbers>(18);
  DataLoader whole(set, options);
  std::vector<std::vector<Values>> expected{epoch(whole), epoch(whole)};
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t b = 0; b <= 5; ++b) {
      DataLoader resumed(set, options);
      resumed.next();  // what was prepared ahead of here must not show up later
      resumed.seek({.epoch = e, .batch = b});
      const auto& all = expected[static_cast<std::size_t>(e)];
      EXPECT_EQ(epoch(resumed), std::vector<Values>(all.begin() + b, all.end())) << e << ' ' << b;
      EXPECT_EQ(resumed.position(), (LoaderPosition{e + 1, 0}));
    }
  }
}

TEST_P(DataLoaderTest, AnExceptionOfTheDataSetReachesTheConsumerAndTheBatchCanBeTriedAgain) {
  const auto set = std::make_shared<Numbers>(10);
  std::atomic<bool> fail = true;
  set->on_get = [&](std::int64_t first) {
    if (first == 4 && fail) throw std::domain_error("sample 4 is broken");
  };
  DataLoader loader(set, {.batch_size = 2, .workers = workers()});
  EXPECT_EQ(values(*loader.next()), (Values{0, 1}));
  EXPECT_EQ(values(*loader.next()), (Values{2, 3}));
  EXPECT_THROW(loader.next(), std::domain_error);
  EXPECT_EQ(loader.position(), (LoaderPosition{0, 2}));
  EXPECT_THROW(loader.next(), std::domain_error);
  fail = false;
  EXPECT_THAT(epoch(loader), ElementsAre(Values{4, 5}, Values{6, 7}, Values{8, 9}));
}

TEST_P(DataLoaderTest, ADevicesLimitIsAnErrorAndNothingIsLost) {
  const Device small{DeviceType::cpu, 2};
  logical_device(small).set_limit(1024);
  DataLoader loader(std::make_shared<Numbers>(1000),
                    {.batch_size = 500, .workers = workers(), .device = small});
  EXPECT_THROW(loader.next(), OutOfMemory);
  logical_device(small).set_limit(SIZE_MAX);
  const auto batch = loader.next();
  EXPECT_EQ(values(*batch).front(), 0);
  EXPECT_EQ(batch->at(0).device(), small);
  const MemoryStats stats = logical_device(small).memory_stats();
  EXPECT_EQ(stats.by_category[static_cast<std::size_t>(Category::input)], 4000u);
  EXPECT_EQ(stats.in_use, 4000u);
}

TEST_P(DataLoaderTest, AnEmptyDataSetHasNoBatches) {
  DataLoader loader(std::make_shared<Numbers>(0), {.batch_size = 4, .workers = workers()});
  EXPECT_EQ(loader.batches(), 0);
  EXPECT_THAT(epoch(loader), IsEmpty());
  EXPECT_EQ(loader.position(), (LoaderPosition{1, 0}));
}

/// A door that a test opens; it opens by itself after a while, so that a failing test does not
/// hang.
class Door {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    condition_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, 10s, [&] { return open_; });
  }

 private:
  std::mutex mutex_;  // guards open_
  std::condition_variable condition_;
  bool open_ = false;
};

TEST(DataLoaderWaitTest, AHangingDataSetIsATimeoutThatNamesTheBatch) {
  const auto set = std::make_shared<Numbers>(4);
  Door door;
  set->on_get = [&](std::int64_t) { door.pass(); };
  DataLoader loader(set, {.batch_size = 2, .deadline = 50ms});
  try {
    loader.next();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Timeout& e) {
    EXPECT_THAT(e.what(), HasSubstr("batch 0 of epoch 0 was not ready within 50 ms"));
  }
  door.open();
  loader.seek({});
  for (int i = 0; i < 100 && set->calls < 2; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_THAT(epoch(loader), ElementsAre(Values{0, 1}, Values{2, 3}));
}

TEST(DataLoaderWaitTest, WorkersStayPrefetchBatchesAhead) {
  const auto set = std::make_shared<Numbers>(100);
  DataLoader loader(set, {.batch_size = 1, .workers = 2, .prefetch = 3});
  loader.next();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (set->calls < 7 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(set->calls, 7);  // the one that was taken, and 2 workers x 3
  loader.next();
  while (set->calls < 8 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(set->calls, 8);
}

TEST(DataLoaderWaitTest, WorkersRunTogether) {
  const auto set = std::make_shared<Numbers>(2);
  std::atomic<int> inside = 0;
  set->on_get = [&](std::int64_t) {  // each waits for the other
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (inside < 2 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    if (inside < 2) throw std::runtime_error("the other worker did not come");
  };
  DataLoader loader(set, {.batch_size = 1, .workers = 2});
  EXPECT_THAT(epoch(loader), ElementsAre(Values{0}, Values{1}));
}

TEST(DataLoaderWaitTest, BatchesThatNobodyWillTakeAreNotPrepared) {
  const auto set = std::make_shared<Numbers>(100);
  Door door;
  std::mutex mutex;  // guards order
  Values order;
  set->on_get = [&](std::int64_t first) {
    {
      const std::scoped_lock lock(mutex);
      order.push_back(first);
    }
    if (first == 1) door.pass();
  };
  DataLoader loader(set, {.batch_size = 1, .prefetch = 4});
  loader.next();  // now 1 waits at the door, and 2, 3, 4 behind it
  loader.seek({.epoch = 0, .batch = 50});
  door.open();
  loader.next();
  const std::scoped_lock lock(mutex);
  std::erase(order, 1);  // it may have begun before the seek, or not
  EXPECT_EQ(Values(order.begin(), order.begin() + 2), (Values{0, 50}));
}

TEST(DataLoaderOptionsTest, OutOfRangeIsRefused) {
  const auto set = std::make_shared<Numbers>(5);
  const auto text = [&](const LoaderOptions& options) -> std::string {
    try {
      DataLoader loader(set, options);
    } catch (const InvalidArgument& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(text({.batch_size = 0}), HasSubstr("batch_size is 0"));
  EXPECT_THAT(text({.part = 2, .parts = 2}), HasSubstr("part is 2 of 2"));
  EXPECT_THAT(text({.part = -1}), HasSubstr("part is -1 of 1"));
  EXPECT_THAT(text({.part = 0, .parts = 0}), HasSubstr("part is 0 of 0"));
  EXPECT_THAT(text({.workers = -1}), HasSubstr("workers is -1"));
  EXPECT_THAT(text({.prefetch = 0}), HasSubstr("prefetch is 0"));
  EXPECT_THAT(text({.deadline = 0ms}), HasSubstr("the deadline is 0 ms"));
  EXPECT_THAT(text({.batch_size = 6, .drop_last = true}),
              HasSubstr("leaves no batch of 6 from 5 samples"));
  EXPECT_THROW(DataLoader(nullptr, {}), InvalidArgument);
  EXPECT_THAT(text({.deadline = std::chrono::milliseconds::max()}),
              HasSubstr("nothing was thrown"));

  DataLoader loader(set, {.batch_size = 2});
  loader.next();
  EXPECT_THROW(loader.seek({.epoch = 0, .batch = 4}), InvalidArgument);
  EXPECT_THROW(loader.seek({.epoch = -1, .batch = 0}), InvalidArgument);
  EXPECT_EQ(loader.position(), (LoaderPosition{0, 1}));
  EXPECT_EQ(values(*loader.next()), (Values{2, 3}));
}

}  // namespace
}  // namespace tandem::datasets
