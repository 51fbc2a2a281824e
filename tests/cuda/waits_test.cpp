// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Where the host waits for a GPU, and where it must not.

#include <chrono>

#include <gmock/gmock.h>
#include <sys/prctl.h>

#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/core/error.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/runtime/context.hpp"

#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using WaitsTest = GpusTest;

TEST_F(WaitsTest, MergedStatisticsStayOnTheGpu) {
  testing::Group group = comm::make_group(std::vector{gpu(0), gpu(2)});
  const auto forward = [](comm::Communicator& comm) {
    nn::BatchNorm1d norm(
        3, {.sync = BatchNormSync::merged, .dtype = DType::f64, .device = comm.device()});
    const Tensor x = tensor_of(count_from(comm.rank(), 12), comm.device()).reshape({4, 3});
    const auto rows = std::make_shared<comm::RowGroupAdapter>(comm);
    const ContextScope scope([&](Context& c) { c.row_group = rows; });
    if (comm.rank() == 0) stand_in::reset();
    comm.barrier();
    norm(x);
    comm.barrier();
    if (comm.rank() != 0) return;
    auto counts = stand_in::call_counts();
    EXPECT_EQ(counts["cudaStreamQuery"] + counts["cudaEventQuery"], 0);
    EXPECT_GT(counts["cudaLaunchKernel"], 0);
  };
  testing::run_ranks(group, [](comm::Communicator& comm) {  // it tries the peers
    comm.all_reduce(tensor_of({1}, comm.device()));
  });
  testing::run_ranks(group, forward);
}

TEST_F(WaitsTest, AThreadSleepsAfterwardsAsItDidBefore) {
  const int before = prctl(PR_GET_TIMERSLACK);
  EXPECT_TRUE(peers(0, 1));
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
