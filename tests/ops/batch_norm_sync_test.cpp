// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/row_group.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/batch_norm.hpp"
#include "tandem/runtime/context.hpp"

#include "devices.hpp"
#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::Combine;
using ::testing::HasSubstr;
using testing::near;
using testing::thrown_text;
using ::testing::Values;

/// Where the replicas of a test meet: sums what each brings, in rank order.
class Meeting {
 public:
  explicit Meeting(int size) : parts_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(parts_.size()); }

  std::vector<double> sum(int rank, std::vector<double> part) {
    std::unique_lock lock(mutex_);
    parts_[static_cast<std::size_t>(rank)] = std::move(part);
    const std::int64_t round = round_;
    if (++arrived_ == size()) {
      total_.assign(parts_[0].size(), 0);
      for (const auto& p : parts_) {
        for (std::size_t i = 0; i < p.size(); ++i)
          total_.at(i) += p[i];
      }
      arrived_ = 0;
      ++round_;
      condition_.notify_all();
    } else if (!condition_.wait_for(
                   lock, std::chrono::seconds(20), [&] { return round_ != round; })) {
      throw Timeout("a replica of the test did not come");
    }
    return total_;
  }
  std::int64_t rounds() const { return round_; }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable condition_;
  std::vector<std::vector<double>> parts_;
  std::vector<double> total_;
  int arrived_ = 0;
  std::int64_t round_ = 0;
};

class Replica final : public RowGroup {
 public:
  Replica(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int size() const noexcept override { return meeting_.size(); }
  int rank() const noexcept override { return rank_; }
  Tensor all_reduce_sum(const Tensor& x) override {
    const std::vector<double> total = meeting_.sum(rank_, x.to_doubles());
    return from_host(std::span<const double>(total), x.shape(), x.device()).to(x.dtype());
  }

 private:
  Meeting& meeting_;
  int rank_;
};

/// Runs `f(rank, device)` in a thread for each replica, as a member of one row group.
void run_replicas(Meeting& meeting, const std::function<void(int, Device)>& f) {
  const std::vector<Device> devices = testing::devices(meeting.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < meeting.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const ContextScope scope([&](Context& c) {
        c.threads = 1;
        autograd::change_tape_context(c, [&](autograd::TapeContext& t) {
          t.row_group = std::make_shared<Replica>(meeting, rank);
        });
      });
      f(rank, devices[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& t : threads)
    t.join();
}

constexpr double kSyncEps = 1e-5;

struct Result {
  std::vector<double> y, dx, dw, db, mean, var;
  double count = 0;
};

Result run_norm(const Tensor& rows,
                const Tensor& dy,
                const Tensor& weight,
                NormActivation activation,
                autograd::BackwardOptions options) {
  const Tensor x = rows.detach().requires_grad_();
  const Tensor w = weight.detach().requires_grad_(), b = (weight.detach().clone()).requires_grad_();
  const auto [y, statistics] =
      batch_norm(x, w, b, kSyncEps, BatchNormSync::synchronised, activation);
  const auto g = autograd::grad({y}, {x, w, b}, {dy}, options);
  return {y.to_doubles(),
          g[0].to_doubles(),
          g[1].to_doubles(),
          g[2].to_doubles(),
          statistics.mean.to_doubles(),
          statistics.var.to_doubles(),
          statistics.count_of_all.defined() ? statistics.count_of_all.item()
                                            : static_cast<double>(statistics.count)};
}

class SyncTest : public ::testing::TestWithParam<
                     std::tuple<std::vector<std::int64_t>, DType, NormActivation, bool>> {};

// Replicas of uneven rows against one device with all of them: outputs and input gradients row by
// row, parameter gradients as their sum (the wrapper's reduction).
TEST_P(SyncTest, ReplicasAreOneBatch) {
  const auto& [rows, dtype, activation, formula] = GetParam();
  const double close = dtype == DType::f64 ? 1e-13 : 2e-5;
  std::int64_t total = 0;
  for (const std::int64_t n : rows)
    total += n;
  const Tensor x = (randn({total, 3, 4, 2}, {.dtype = DType::f64}).to(dtype)),
               dy = randn(x.shape(), {.dtype = dtype});
  const Tensor w = randn({3}, {.dtype = dtype});
  const autograd::BackwardOptions options{.create_graph = formula};
  const Result one = run_norm(x, dy, w, activation, options);

  Meeting meeting(static_cast<int>(rows.size()));
  std::vector<Result> parts(rows.size());
  run_replicas(meeting, [&, &rows = rows, activation = activation](int rank, Device device) {
    std::int64_t begin = 0;
    for (int r = 0; r < rank; ++r)
      begin += rows[static_cast<std::size_t>(r)];
    const std::int64_t n = rows[static_cast<std::size_t>(rank)];
    const auto mine = [&](const Tensor& t) {
      return t.narrow(0, begin, n).contiguous(MemoryFormat::channels_last).to(device);
    };
    parts[static_cast<std::size_t>(rank)] =
        run_norm(mine(x), mine(dy), w.to(device), activation, options);
  });

  Result all;
  all.dw.resize(3);
  all.db.resize(3);
  for (const Result& p : parts) {
    all.y.insert(all.y.end(), p.y.begin(), p.y.end());
    all.dx.insert(all.dx.end(), p.dx.begin(), p.dx.end());
    for (std::size_t c = 0; c < 3; ++c) {
      all.dw[c] += p.dw.at(c);
      all.db[c] += p.db.at(c);
    }
    EXPECT_EQ(p.count, one.count);
    EXPECT_EQ(p.mean, parts[0].mean) << "all replicas merge the same parts: the same bits";
    EXPECT_EQ(p.var, parts[0].var);
    EXPECT_TRUE(near(p.mean, one.mean, close));
    EXPECT_TRUE(near(p.var, one.var, close));
  }
  EXPECT_TRUE(near(all.y, one.y, close));
  EXPECT_TRUE(near(all.dx, one.dx, close));
  EXPECT_TRUE(near(all.dw, one.dw, close));
  EXPECT_TRUE(near(all.db, one.db, close));
  if (!formula) {
    EXPECT_EQ(meeting.rounds(), 2) << "one all-reduce in forward, one in backward";
  }
}

INSTANTIATE_TEST_SUITE_P(Chunks,
                         SyncTest,
                         Combine(Values(std::vector<std::int64_t>{2, 5},
                                        std::vector<std::int64_t>{3, 0, 1},
                                        std::vector<std::int64_t>{1, 1, 1, 6}),
                                 Values(DType::f64, DType::f32),
                                 Values(NormActivation::none, NormActivation::relu),
                                 Values(false, true)));

TEST(BatchNormSync, PerReplicaMeetsNobody) {
  Meeting meeting(2);
  const Tensor x = randn({4, 3}, {.dtype = DType::f64});
  std::vector<double> alone = batch_norm(x, {}, {}, kSyncEps).y.to_doubles();
  run_replicas(meeting, [&](int rank, Device device) {
    const Tensor in =
        (rank == 0 ? x : randn({6, 3}, {.dtype = DType::f64})).to(device).detach().requires_grad_();
    const Tensor y = batch_norm(in, {}, {}, kSyncEps, BatchNormSync::per_replica).y;
    autograd::grad({y.sum()}, {in});
    if (rank == 0) {
      EXPECT_EQ(y.to_doubles(), alone);
    }
  });
  EXPECT_EQ(meeting.rounds(), 0);
}

TEST(BatchNormSync, OneRowAltogetherIsRefusedByAll) {
  Meeting meeting(2);
  run_replicas(meeting, [&](int rank, Device device) {
    const Tensor x = randn({rank, 3}, {.device = device});
    EXPECT_THAT(thrown_text([&] { batch_norm(x, {}, {}, kSyncEps); }),
                HasSubstr("one value per channel"));
  });
}

}  // namespace
}  // namespace tandem
