// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/scatter_gather.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/parallel/parallel_apply.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// The parts of DataParallel as public functions; the cases are PyTorch's test_data_parallel.py's.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Sample {
  std::vector<Tensor> tensors;
  std::map<std::string, Tensor> named;
  std::string text;
  TANDEM_FIELDS(tensors, named, text)
};

Sample sample() {
  return {{arange(0, 8).reshape({4, 2}), arange(0, 4)}, {{"mask", arange(10, 14)}}, "same"};
}

TEST(ScatterTest, CutsEveryTensorOfANest) {
  const auto here = devices(3);
  const auto parts = scatter(sample(), here, std::vector<std::int64_t>{1, 0, 3});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0].tensors[0].to_host<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(parts[2].tensors[0].to_host<std::int64_t>(), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(parts[2].named.at("mask").to_host<std::int64_t>(), ElementsAre(11, 12, 13));
  EXPECT_EQ(parts[1].tensors[1].shape(), (Shape{0}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parts[i].tensors[0].device(), here[i]);
    EXPECT_EQ(parts[i].text, "same");
  }
}

TEST(ScatterTest, CutsAlongAnyDimension) {
  const Tensor x = arange(0, 8).reshape({2, 4});
  for (const int dim : {1, -1}) {
    const auto parts = scatter(x, devices(2), std::vector<std::int64_t>{3, 1}, dim);
    EXPECT_THAT(parts[0].to_host<std::int64_t>(), ElementsAre(0, 1, 2, 4, 5, 6));
    EXPECT_THAT(parts[1].to_host<std::int64_t>(), ElementsAre(3, 7));
    EXPECT_THAT(gather(std::span<const Tensor>(parts), devices(2)[1], dim).to_host<std::int64_t>(),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  }
}

TEST(ScatterTest, GradientsComeBackFromEveryPart) {
  Tensor x = tensor({1.0, 2.0, 3.0});
  x.requires_grad_();
  const auto parts = scatter(x, devices(2), std::vector<std::int64_t>{1, 2});
  const Tensor y =
      gather(std::span<const Tensor>({parts[0] * 10.0, parts[1] * 100.0}), devices(1)[0]);
  sum(y).backward();
  EXPECT_THAT(x.grad().to_host<double>(), ElementsAre(10, 100, 100));
}

TEST(ScatterTest, BadSizesSayWhatIsWrong) {
  const Tensor x = arange(0, 4);
  const auto cut = [&](std::vector<std::int64_t> sizes) {
    return thrown_text<Error>([&] { scatter(x, devices(2), sizes); });
  };
  EXPECT_THAT(cut({1, 2}), HasSubstr("add up to 3 rows, but the value has 4"));
  EXPECT_THAT(cut({1, 4}), HasSubstr("rows 1 to 5 of 4"));
  EXPECT_THAT(cut({4}), HasSubstr("2 devices but 1 sizes"));
  EXPECT_THAT(
      thrown_text<Error>([] { scatter(scalar(1), devices(1), std::vector<std::int64_t>{1}); }),
      HasSubstr("has no rows"));
}

TEST(GatherTest, ScalarsBecomeAVectorAndConstantsMustAgree) {
  const std::vector<Sample> parts = scatter(sample(), devices(2), std::vector<std::int64_t>{2, 2});
  EXPECT_EQ(gather(std::span<const Sample>(parts), devices(1)[0]).named.at("mask").shape(),
            (Shape{4}));
  const std::vector<Tensor> scalars{scalar(1), scalar(2).to(devices(2)[1])};
  EXPECT_THAT(gather(std::span<const Tensor>(scalars), devices(1)[0]).to_host<float>(),
              ElementsAre(1, 2));
  std::vector<Sample> differ = parts;
  differ[1].text = "other";
  EXPECT_THAT(thrown_text<Error>([&] { gather(std::span<const Sample>(differ), devices(1)[0]); }),
              HasSubstr("'other' in part 1 and 'same' in part 0"));
  differ = parts;
  differ[1].tensors.pop_back();
  EXPECT_THAT(thrown_text<Error>([&] { gather(std::span<const Sample>(differ), devices(1)[0]); }),
              HasSubstr("part 1 holds 2 tensors, but part 0 holds 3"));
}

TEST(ParallelApplyTest, EachModuleRunsOnItsDevicesThread) {
  manual_seed(3);
  Mlp a;
  Mlp b = nn::replicate(a, devices(2)[1]);
  const Tensor x = randn({4, 12}, {.dtype = DType::f64});
  const auto outputs = parallel_apply(std::vector<Mlp*>{&a, &b},
                                      std::vector{std::tuple(x), std::tuple(x.to(devices(2)[1]))},
                                      devices(2));
  const auto expected = a(x).to_doubles();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(outputs[i].device(), devices(2)[i]);
    EXPECT_THAT(outputs[i].to_doubles(),
                ::testing::Pointwise(::testing::DoubleNear(1e-14), expected));
  }
}

struct Picky : nn::Module {
  Tensor forward(const Tensor& x) {
    if (x.item() < 0) throw std::runtime_error("Badness!");
    threads.push_back(std::this_thread::get_id());
    return x * 2.0;
  }
  std::vector<std::thread::id> threads;
  TANDEM_MODULE(Picky)
};

TEST(ParallelApplyTest, ErrorsNameReplicaAndDeviceAndADeviceMayComeTwice) {
  std::vector<Picky> modules(3);
  const std::vector<Device> places{testing::device(1), testing::device(0), testing::device(1)};
  const auto run = [&](std::vector<double> values) {
    std::vector<std::tuple<Tensor>> inputs;
    for (std::size_t i = 0; i < 3; ++i)
      inputs.emplace_back(scalar(values[i], {.device = places[i]}));
    return parallel_apply(
        std::vector<Picky*>{&modules[0], &modules[1], &modules[2]}, inputs, places);
  };
  EXPECT_EQ(run({1, 2, 3})[2].item(), 6);
  EXPECT_EQ(modules[0].threads, modules[2].threads);
  EXPECT_NE(modules[0].threads, modules[1].threads);
  try {
    run({1, -2, -3});
    FAIL();
  } catch (const ReplicaError& e) {
    EXPECT_EQ(e.replica, 1);
    EXPECT_EQ(e.device, places[1]);
    EXPECT_THAT(e.what(), HasSubstr("Badness!"));
    EXPECT_THAT(e.others, ElementsAre(testing::device_name(1) + ": Badness!"));
  }
  EXPECT_THAT(thrown_text<Error>([&] {
                parallel_apply(
                    std::vector<Picky*>{&modules[0]}, std::vector<std::tuple<Tensor>>{}, places);
              }),
              HasSubstr("1 modules, 0 inputs and 3 devices"));
}

TEST(ParallelApplyTest, RefusedOnTheThreadOfOneOfItsDevicesBeforeAnyJobRuns) {
  std::vector<Picky> modules(2);
  const std::vector<Device> places{testing::device(0), testing::device(1)};
  std::vector<std::tuple<Tensor>> inputs;
  for (const Device place : places)
    inputs.emplace_back(scalar(1, {.device = place}));
  Ticket inside = logical_device(places[1]).worker().submit([&] {
    parallel_apply(std::vector<Picky*>{&modules[0], &modules[1]}, inputs, places);
  });
  EXPECT_THAT(thrown_text([&] { inside.wait(); }),
              HasSubstr("called from the thread of " + testing::device_name(1)));
  logical_device(places[0]).worker().submit([] {}).wait();
  EXPECT_THAT(modules[0].threads, ::testing::IsEmpty());
}

}  // namespace
}  // namespace tandem::parallel::test
