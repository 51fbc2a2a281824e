// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/parallel/distributed_data_parallel.hpp"
#include "tandem/parallel/run_ranks.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {

inline constexpr auto kShort = RunRanksOptions{.timeout = std::chrono::seconds(20)};

/// Small buckets: several of them.
inline DistributedDataParallelOptions small_buckets() {
  return {.exchange = {.first_bucket_nbytes = 128, .bucket_nbytes = 512}};
}

/// Rows of the ranks, which are unequal; the batch's in all.
inline const std::vector<std::int64_t> kRows{5, 2, 4};
inline constexpr std::int64_t kBatch = 11;

inline Batch part_of(const Batch& batch, const Rank& rank) {
  std::int64_t begin = 0;
  for (int r = 0; r < rank.rank(); ++r)
    begin += kRows[static_cast<std::size_t>(r)];
  const std::int64_t rows = kRows[static_cast<std::size_t>(rank.rank())];
  return {batch.x.narrow(0, begin, rows).to(rank.device()),
          batch.labels.narrow(0, begin, rows).to(rank.device())};
}

/// Uses `second` where it is asked to.
struct Branches : nn::Module {
  Branches()
      : first(12, 5, {.dtype = DType::f64}),
        second(12, 5, {.dtype = DType::f64}),
        never(3, 3, {.dtype = DType::f64}) {}
  nn::Linear first, second, never;
  bool both = true;
  Tensor forward(const Tensor& x) {
    const Tensor y = first(x.flatten(1));
    return both ? y + second(x.flatten(1)) : y;
  }
  TANDEM_MODULE(Branches, first, second, never)
};

/// What the ranks left behind.
class Results {
 public:
  void put(const Rank& rank, Values values) {
    const std::scoped_lock lock(mutex_);
    by_rank_[rank.rank()] = std::move(values);
  }
  const std::map<int, Values>& by_rank() const noexcept { return by_rank_; }

 private:
  std::mutex mutex_;
  std::map<int, Values> by_rank_;
};

/// Runs `body(net, rank)` for each of three ranks, each with a copy of `alone`.
template <class Net, class Body>
void with_copies(const Net& alone, Body body) {
  auto copies = std::make_shared<std::vector<Net>>();
  for (std::size_t r = 0; r < kRows.size(); ++r)
    copies->push_back(nn::clone(alone));
  run_ranks(
      devices(3),
      [copies, body](Rank& rank) {
        Net& net = (*copies)[static_cast<std::size_t>(rank.rank())];
        net.to(rank.device());
        body(net, rank);
      },
      kShort);
}

/// What each rank threw, by rank; "" where it ended well.
template <class Body>
std::map<int, std::string> errors_of(Body body) {
  std::mutex mutex;
  std::map<int, std::string> texts;
  try {
    run_ranks(
        devices(3),
        [&](Rank& rank) {
          std::string text;
          std::exception_ptr error;
          try {
            body(rank);
          } catch (const std::exception& e) {
            text = e.what();
            error = std::current_exception();
          }
          {
            const std::scoped_lock lock(mutex);
            texts[rank.rank()] = text;
          }
          if (error != nullptr) std::rethrow_exception(error);
        },
        kShort);
  } catch (const RankError&) {
  }
  return texts;
}

}  // namespace tandem::parallel::test
