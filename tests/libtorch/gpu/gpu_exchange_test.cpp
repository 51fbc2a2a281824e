// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Collectives of PyTorch's GPUs beside those of the host.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/factories.hpp"

#include "gpu/gpu_values.hpp"
#include "gpu/gpus.hpp"

namespace tandem::libtorch::test {
namespace {

using Ranks = std::vector<std::unique_ptr<comm::Communicator>>;

/// By copies between GPUs and sums, and by NCCL.
class TorchGpusExchangeTest : public GpusTest, public ::testing::WithParamInterface<comm::Backend> {
 protected:
  Ranks group() const { return comm::make_group(devices(), {.backend = GetParam()}); }
  Ranks host_group() const {
    std::vector<Device> hosts;
    for (int r = 0; r < gpus_; ++r)
      hosts.push_back({DeviceType::cpu, r});
    return comm::make_group(hosts);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends,
                         TorchGpusExchangeTest,
                         ::testing::Values(comm::Backend::local, comm::Backend::nccl),
                         [](const auto& each) { return comm::name(each.param); });

/// By copies alone.
class GpuCopiesTest : public GpusTest {};

std::vector<double> pattern(std::int64_t n, int rank) {
  std::vector<double> all(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 3) % 5);
  return all;
}

/// What each rank has after all collectives on tensors of about n elements, some of uneven parts.
std::vector<std::vector<double>> after_all(Ranks& ranks, std::int64_t n) {
  const auto size = static_cast<int>(ranks.size());
  std::vector<std::vector<double>> found(ranks.size());
  const auto part_of = [&](int r) { return r == 1 ? 0 : n + r; };
  std::int64_t whole = 0;
  for (int r = 0; r < size; ++r)
    whole += part_of(r);
  on_each(size, [&](int r) {
    comm::Communicator& comm = *ranks[static_cast<std::size_t>(r)];
    const Device device = comm.device();
    const auto keep = [&](const Tensor& x) {
      const auto all = x.to_doubles();
      found[static_cast<std::size_t>(r)].insert(
          found[static_cast<std::size_t>(r)].end(), all.begin(), all.end());
    };
    const Tensor part = values(pattern(part_of(r), r), device);
    Tensor all = values(std::vector<double>(static_cast<std::size_t>(whole), -1), device);
    comm.all_gather(part, all);
    keep(all);
    all.mul_(r + 1);
    comm.reduce_scatter(all, part, comm::ReduceOp::avg);
    keep(part);
    const Tensor x = values(pattern(n, r), device), y = values(pattern(2 * n, r), device);
    comm.coalesced({comm::Collective::all_reduce(x, comm::premul_sum(r + 0.5)),
                    comm::Collective::broadcast(y, size - 1)});
    keep(x);
    keep(y);
    comm.coalesced({comm::Collective::all_reduce(x, comm::ReduceOp::max),
                    comm::Collective::all_reduce(y, comm::ReduceOp::sum)});
    keep(x);
    keep(y);
  });
  return found;
}

TEST_P(TorchGpusExchangeTest, ReductionsAreThoseOfTheHost) {
  using comm::ReduceOp;
  auto ranks = group();
  std::vector<Device> hosts;
  for (int r = 0; r < gpus_; ++r)
    hosts.push_back({DeviceType::cpu, r});
  auto host_ranks = comm::make_group(hosts);
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      if (op == ReduceOp::avg && !is_float(dtype)) continue;  // refused
      for (const std::int64_t n : {0, 1, 3, 1001}) {
        SCOPED_TRACE(::testing::Message()
                     << name(dtype) << ' ' << static_cast<int>(op) << ' ' << n);
        std::vector<Tensor> there, here;
        for (int r = 0; r < gpus_; ++r) {
          std::vector<double> all(static_cast<std::size_t>(n));
          for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(r) * 3) % 5);
          there.push_back(values(all, gpu(r), dtype));
          here.push_back(values(all, {DeviceType::cpu, r}, dtype));
        }
        on_each(gpus_, [&](int r) { ranks[r]->all_reduce(there[r], op); });
        on_each(gpus_, [&](int r) { host_ranks[r]->all_reduce(here[r], op); });
        for (int r = 0; r < gpus_; ++r)
          EXPECT_EQ(there[r].to_doubles(), here[r].to_doubles()) << r;
      }
    }
  }
}

TEST_P(TorchGpusExchangeTest, OtherCollectivesAreThoseOfTheHost) {
  auto ranks = group();
  std::vector<Tensor> x;
  for (int r = 0; r < gpus_; ++r)
    x.push_back(values({r + 0.5, r + 1.5}, gpu(r)));
  on_each(gpus_, [&](int r) { ranks[r]->broadcast(x[r], 1); });
  for (const Tensor& each : x)
    EXPECT_EQ(each.to_doubles(), (std::vector<double>{1.5, 2.5}));
  std::vector<double> all;
  for (int r = 0; r < gpus_; ++r)
    all.insert(all.end(), {r + 0.5, r * 2.0});
  on_each(gpus_, [&](int r) {
    const Tensor part = values({r + 0.5, r * 2.0}, gpu(r));
    const Tensor whole = values(std::vector<double>(all.size(), -1), gpu(r));
    ranks[r]->all_gather(part, whole);
    EXPECT_EQ(whole.to_doubles(), all);
    ranks[r]->reduce_scatter(whole, part);
    EXPECT_EQ(part.to_doubles(), (std::vector<double>{gpus_ * (r + 0.5), gpus_ * r * 2.0}));
    const Tensor sum = values({r + 1.0}, gpu(r));
    ranks[r]->reduce(sum, comm::ReduceOp::sum, 1);
    EXPECT_EQ(sum.to_doubles()[0], r == 1 ? gpus_ * (gpus_ + 1) / 2.0 : r + 1.0);
  });
}

TEST_P(TorchGpusExchangeTest, WorkBeforeAndAfterIsInOrder) {
  auto ranks = group();
  for (int round = 0; round < 4; ++round) {
    std::vector<Tensor> x;
    for (int r = 0; r < gpus_; ++r)
      x.push_back(values(std::vector<double>(1001, r + 1), gpu(r)));
    on_each(gpus_, [&](int r) {
      x[r].mul_(2);
      ranks[r]->all_reduce(x[r]);
      x[r].mul_(-1);
    });
    for (const Tensor& sum : x)
      EXPECT_EQ(sum.to_doubles()[1000], -gpus_ * (gpus_ + 1.0));
  }
}

// Small ones go through one GPU, large ones in shares.
TEST_P(TorchGpusExchangeTest, UnevenPartsOfAnySizeAreThoseOfTheHost) {
  auto ranks = group();
  auto host_ranks = host_group();
  for (const std::int64_t n : {1, 5, 1001, 70'000})
    EXPECT_EQ(after_all(ranks, n), after_all(host_ranks, n)) << n;
}

/// Bytes by link of what each rank does.
std::map<std::pair<int, int>, std::size_t> links_of(Ranks& ranks,
                                                    const std::function<void(int)>& act) {
  const profile::StepRecord record =
      profile::record([&] { on_each(static_cast<int>(ranks.size()), act); });
  std::map<std::pair<int, int>, std::size_t> links;
  for (const auto& [link, traffic] : profile::traffic(record))
    links[{link.source.index, link.destination.index}] = traffic.nbytes;
  return links;
}

TEST_F(GpuCopiesTest, SmallCollectivesGoThroughOneGpu) {
  auto ranks = comm::make_group(devices());
  std::vector<Tensor> x, all;
  for (int r = 0; r < gpus_; ++r) {
    x.push_back(values(pattern(100, r), gpu(r)));
    all.push_back(values(pattern(100 * gpus_, r), gpu(r)));
  }
  std::map<std::pair<int, int>, std::size_t> of_sum, of_parts;
  for (int r = 1; r < gpus_; ++r) {
    of_sum[{0, r}] = of_sum[{r, 0}] = 400;
    of_parts[{0, r}] = 400U * static_cast<unsigned>(gpus_);
    of_parts[{r, 0}] = 400;
  }
  const auto index = [](int r) { return static_cast<std::size_t>(r); };
  EXPECT_EQ(links_of(ranks, [&](int r) { ranks[index(r)]->all_reduce(x[index(r)]); }), of_sum);
  EXPECT_EQ(
      links_of(ranks, [&](int r) { ranks[index(r)]->all_gather(x[index(r)], all[index(r)]); }),
      of_parts);
}

TEST_F(GpuCopiesTest, LargeOnesGoBetweenAll) {
  auto ranks = comm::make_group(devices());
  std::vector<Tensor> x;
  for (int r = 0; r < gpus_; ++r)
    x.push_back(values(pattern(40'000, r), gpu(r)));
  const auto links =
      links_of(ranks, [&](int r) { ranks[static_cast<std::size_t>(r)]->all_reduce(x[r]); });
  EXPECT_EQ(links.size(), static_cast<std::size_t>(gpus_ * (gpus_ - 1)));
  for (const auto& [link, nbytes] : links)
    EXPECT_EQ(nbytes, 2 * 160'000U / static_cast<unsigned>(gpus_));
}

}  // namespace
}  // namespace tandem::libtorch::test
