// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Where the host waits for a GPU, and where it must not.

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <sys/prctl.h>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/core/error.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/ops/embedding.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"

#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "cuda/training.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using WaitsTest = GpusTest;

/// Questions that the host has asked the driver since the last reset: whether work has ended.
int questions() {
  auto counts = stand_in::call_counts();
  return counts["cudaStreamQuery"] + counts["cudaEventQuery"];
}

TEST_F(WaitsTest, StatisticsOfAllReplicasStayOnTheGpu) {
  testing::Group group = comm::make_group(std::vector{gpu(0), gpu(2)});
  const auto train = [](comm::Communicator& comm, BatchNormSync sync) {
    nn::BatchNorm1d norm(3, {.sync = sync, .dtype = DType::f64, .device = comm.device()});
    const Tensor x =
        tensor_of(count_from(comm.rank(), 12), comm.device()).reshape({4, 3}).requires_grad_();
    const auto rows = std::make_shared<comm::RowGroupAdapter>(comm);
    const ContextScope scope([&](Context& c) {
      autograd::change_tape_context(c, [&](autograd::TapeContext& t) { t.row_group = rows; });
    });
    if (comm.rank() == 0) stand_in::reset();
    comm.barrier();
    norm(x).backward(x.detach());
    comm.barrier();
    if (comm.rank() != 0) return;
    EXPECT_EQ(questions(), 0);
    EXPECT_GT(stand_in::call_counts()["cudaLaunchKernel"], 0);
  };
  testing::run_ranks(group, [](comm::Communicator& comm) {  // it tries the peers
    comm.all_reduce(tensor_of({1}, comm.device()));
  });
  for (const BatchNormSync sync : {BatchNormSync::merged, BatchNormSync::synchronised})
    testing::run_ranks(group, [&](comm::Communicator& comm) { train(comm, sync); });
}

TEST_F(WaitsTest, AnIndexThatCameFromTheHostIsCheckedWithoutTheGpu) {
  const Tensor words = tensor<std::int64_t>({0, 6, 3, 2}).to(gpu(1));
  const Tensor labels = tensor<std::int32_t>({4, -100, 0, 1}).to(gpu(1));
  const Tensor weight = randn({7, 5}, {.device = gpu(1)}).requires_grad_();
  stand_in::reset();
  const Tensor rows = words.reshape({2, 2}).slice(1, {.start = 1}).flatten();
  cross_entropy(embedding(words, weight), labels, Reduction::sum, {.ignore_index = -100})
      .backward();
  embedding(rows, weight);
  EXPECT_EQ(questions(), 0);
  EXPECT_GT(stand_in::call_counts()["cudaLaunchKernel"], 0);
}

TEST_F(WaitsTest, ManyNumbersAreNotLookedThroughOnTheHost) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const TensorOptions bytes{.dtype = DType::u8, .device = Device{}};
  EXPECT_TRUE(zeros({kMost}, bytes).to(gpu(1)).buffer().integers());
  EXPECT_FALSE(zeros({kMost + 1}, bytes).to(gpu(1)).buffer().integers());
}

TEST_F(WaitsTest, AnIndexThatTheGpuHasWrittenIsLookedAtThere) {
  Tensor words = tensor<std::int64_t>({0, 1}).to(gpu(1));
  const Tensor weight = randn({2, 3}, {.device = gpu(1)});
  embedding(words, weight);
  words.fill_(2);
  EXPECT_THAT(testing::thrown_text([&] { embedding(words, weight); }),
              ::testing::HasSubstr("index 2 in row 0"));
}

/// Counts what the host reads of devices.
class ReadCounter final : public Observer {
 public:
  void on_read(const char* op, Device device, std::size_t) noexcept override {
    const std::scoped_lock lock(mutex_);
    ++counts_[to_string(device) + ' ' + op];
  }
  std::map<std::string, int> counts() const { return counts_; }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

TEST_F(WaitsTest, AStepReadsOfEachGpuOnlyTheLossAndItsWeight) {
  Training training({gpu(0), gpu(2)});
  training.step();
  ReadCounter reads;
  {
    const Subscription subscription(reads);
    training.step();
  }
  EXPECT_THAT(
      reads.counts(),
      ::testing::ElementsAre(std::pair("cuda:0 to_host", 2), std::pair("cuda:2 to_host", 2)));
}

TEST_F(WaitsTest, AThreadSleepsAfterwardsAsItDidBefore) {
  const int before = prctl(PR_GET_TIMERSLACK);
  EXPECT_TRUE(are_peers(0, 1));
  stand_in::set_peers(stand_in::Peers::hanging);
  const Tensor x = tensor_of({1, 2}, gpu(0)).to(gpu(2));
  {
    const ContextScope late(
        [](Context& c) { c.deadline = Deadline(std::chrono::milliseconds(5)); });
    EXPECT_THAT(testing::thrown_text<Timeout>([&] { x.to_doubles(); }),
                ::testing::HasSubstr("deadline"));
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before);
}

}  // namespace
}  // namespace tandem::cuda::test
