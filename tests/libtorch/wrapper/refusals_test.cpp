// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What cannot be trained on several devices is refused by name, with the remedy, before anything
// changes. What must not even compile is in scripted_module.cpp and wrapped_wrapper.cpp; PyTorch
// has no module in C++ for DistributedDataParallel that could be inside.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <torch/optim/lbfgs.h>

#include "tandem/config.hpp"
#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "libtorch/device/torch_version.hpp"
#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using parallel::ReplicaError;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Sees to it that a module is at the end as it was: the same tensors over the same memory with the
/// same values, without gradients.
class Unchanged {
 public:
  explicit Unchanged(const torch::nn::Module& module) : module_(module) {
    for (const at::Tensor& x : tensors())
      before_.push_back({x, x.data_ptr(), x.detach().clone()});
  }
  ~Unchanged() {
    const auto now = tensors();
    EXPECT_EQ(now.size(), before_.size());
    for (std::size_t i = 0; i < std::min(now.size(), before_.size()); ++i) {
      EXPECT_TRUE(now[i].is_same(before_[i].tensor)) << i;
      EXPECT_EQ(now[i].data_ptr(), before_[i].data) << i;
      EXPECT_TRUE(torch::equal(now[i], before_[i].values)) << i;
      EXPECT_FALSE(now[i].grad().defined()) << i;
    }
  }
  Unchanged(const Unchanged&) = delete;
  Unchanged& operator=(const Unchanged&) = delete;

 private:
  struct Before {
    at::Tensor tensor;
    void* data;
    at::Tensor values;
  };
  std::vector<at::Tensor> tensors() const {
    auto all = module_.parameters();
    for (const at::Tensor& x : module_.buffers())
      all.push_back(x);
    return all;
  }

  const torch::nn::Module& module_;
  std::vector<Before> before_;
};

/// What wrapping `net` says.
template <class Holder>
std::string refusal(const Holder& net, const parallel::DataParallelOptions& options) {
  return thrown_text([&] { const DataParallel dp(net, options); });
}

TEST(RefusedDevicesTest, NonsenseIsNamed) {
  const auto refused = [](const std::string& text) {
    return thrown_text([&] { configure_devices(text); });
  };
  if (!has_cuda) {
    EXPECT_THAT(refused("cuda:0x2"),
                AllOf(HasSubstr("'cuda:0x2'"),
                      HasSubstr("has no CUDA; use cpu devices"),
                      HasSubstr("DataParallel(module, devices='cuda:0x2')")));
  }
  for (const std::string text : {"cpu:0x2", "cpu:-1", "cpu:0", "tandem:2", "cuda:0y2", "cuda:0x0"})
    EXPECT_THAT(refused(text), HasSubstr(text)) << text;
  EXPECT_THAT(refused("tandem:2"), HasSubstr("neither cpu nor cuda"));
}

TEST(RefusedDevicesTest, ThoseThatAreNotThereOrThereTwice) {
  Mlp net;
  const Unchanged same(*net);
  EXPECT_THAT(refusal(net, {.devices = {{DeviceType::cpu, -1}}}), HasSubstr("cpu:-1"));
  EXPECT_THAT(refusal(net, {.devices = {{DeviceType::cpu, 0}, {DeviceType::cpu, 70}}}),
              AllOf(HasSubstr("cpu:70"), HasSubstr("register_devices")));
  EXPECT_THAT(
      refusal(net, {.devices = {{DeviceType::cpu, 1}, {DeviceType::cpu, 0}, {DeviceType::cpu, 1}}}),
      AllOf(HasSubstr("cpu:1"), HasSubstr("twice")));
  EXPECT_THAT(refusal(net, {.devices = {{DeviceType::cuda, 0}}}),
              AllOf(HasSubstr("that has virtual devices"), HasSubstr("in a process of its own")));
}

TEST(RefusedModulesTest, AParameterOnAnotherDevice) {
  struct MixedImpl : torch::nn::Module {
    MixedImpl() {
      register_parameter("here", torch::ones({2}));
      register_parameter(
          "there",
          torch::ones({2}, torch::TensorOptions().device(torch_device({DeviceType::cpu, 3}))));
    }
    static at::Tensor forward(const at::Tensor& x) { return x; }
  };
  register_devices(8);
  const auto net = std::make_shared<MixedImpl>();
  const Unchanged same(*net);
  EXPECT_THAT(refusal(net, {.devices = test_devices(2)}),
              AllOf(HasSubstr("'there' is on tandem:3, but the first device is cpu:0"),
                    HasSubstr("move all of it to")));
  EXPECT_THAT(refusal(net, {.devices = {{DeviceType::cpu, 2}, {DeviceType::cpu, 3}}}),
              HasSubstr("'there' is on tandem:3, but the first device is cpu:2"));
}

TEST(RefusedModulesTest, ThoseWithoutTensorsInMemory) {
  struct EmptyImpl : torch::nn::Module {
    EmptyImpl() { register_parameter("weight", torch::ones({2}, torch::kMeta)); }
    static at::Tensor forward(const at::Tensor& x) { return x; }
  };
  EXPECT_THAT(refusal(std::make_shared<EmptyImpl>(), {.devices = test_devices(2)}),
              AllOf(HasSubstr("'weight' is on meta"), HasSubstr("move all of it to")));
  EXPECT_THAT(refusal(std::shared_ptr<MlpImpl>(), {.devices = test_devices(2)}),
              HasSubstr("null pointer"));
}

TEST(RefusedModulesTest, OneThatFailsToClone) {
  struct StubbornImpl : torch::nn::Module {
    explicit StubbornImpl(int) {}
    std::shared_ptr<Module> clone(const std::optional<torch::Device>&) const override {
      TORCH_CHECK(false, "I am one of a kind");
    }
    static at::Tensor forward(const at::Tensor& x) { return x; }
  };
  EXPECT_THAT(refusal(std::make_shared<StubbornImpl>(1), {.devices = test_devices(2)}),
              AllOf(HasSubstr("StubbornImpl cannot be cloned"), HasSubstr("one of a kind")));
}

TEST(RefusedModulesTest, OneThatIsWrappedOrHasAPartThatIs) {
  Mlp net;
  const parallel::DataParallelOptions options{.devices = test_devices(2)};
  auto of_part = std::make_unique<DataParallel<torch::nn::LinearImpl>>(net->second, options);
  {
    const Unchanged same(*net);
    EXPECT_THAT(
        refusal(net, options),
        AllOf(HasSubstr("'second'"), HasSubstr("already wrapped"), HasSubstr("destroy it")));
  }
  of_part.reset();
  DataParallel dp(net, options);
  const Unchanged same(*net);
  EXPECT_THAT(refusal(net, options),
              HasSubstr("the module (tandem::libtorch::test::MlpImpl) is already wrapped"));
  EXPECT_THAT(refusal(net->first, options), HasSubstr("already wrapped"));
  const std::shared_ptr<MlpImpl> replica(&dp.replica(1), [](MlpImpl*) {});
  EXPECT_THAT(refusal(replica, {.devices = {{DeviceType::cpu, 1}, {DeviceType::cpu, 2}}}),
              HasSubstr("is a replica"));
  dp(torch::ones({3, 6}));
}

TEST(RefusedInputsTest, RowsThatDiffer) {
  struct TwoInputsImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return linear(x) + linear(y); }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(2, 2));
  };
  const auto net = std::make_shared<TwoInputsImpl>();
  DataParallel dp(net, {.devices = test_devices(2)});
  const Unchanged same(*net);
  EXPECT_THAT(thrown_text([&] {
                dp(torch::ones({4, 2}), torch::ones({5, 2}));
              }),
              AllOf(HasSubstr("4"), HasSubstr("5"), HasSubstr("replicate")));
  const auto loss = [](TwoInputsImpl& m, const Batch& b) { return m.forward(b.x, b.y).sum(); };
  EXPECT_THAT(thrown_text([&] {
                dp.step(Batch{torch::ones({3, 2}), torch::ones({4, 2})}, loss);
              }),
              AllOf(HasSubstr("3"), HasSubstr("4"), HasSubstr("replicate")));
}

TEST(RefusedLossesTest, ThoseWithoutAGraph) {
  Mlp net;
  for (const at::Tensor& p : net->parameters())
    p.requires_grad_(false);
  DataParallel dp(net, {.devices = test_devices(2)});
  const Unchanged same(*net);
  const Batch batch{torch::ones({4, 6}), torch::ones({4, 3})};
  const auto text = thrown_text<ReplicaError>([&] { dp.step(batch, squared_error); });
  EXPECT_THAT(text, AllOf(HasSubstr("no graph"), HasSubstr("are all parameters frozen?")));
}

TEST(RefusedOptimizersTest, OneThatDoesNotTreatEachElementAlike) {
  for (const Mode mode : {Mode::classic, Mode::server, Mode::sharded, Mode::ddp}) {
    Mlp net;
    DataParallel dp(net, {.devices = test_devices(2), .mode = mode});
    const Batch batch{torch::ones({4, 6}), torch::ones({4, 3})};
    const Unchanged same(*net);
    Optimizer<torch::optim::LBFGS> optimizer(net->parameters(), torch::optim::LBFGSOptions(0.1));
    EXPECT_THAT(thrown_text([&] { dp.step(batch, squared_error, optimizer); }),
                AllOf(HasSubstr("torch::optim::LBFGS does not treat each element alike"),
                      HasSubstr("use PyTorch's own class"),
                      HasSubstr("SGD, Adam, AdamW, RMSprop and Adagrad")))
        << name(mode);
  }
}

TEST(RefusedLibrariesTest, AnotherVersionOfPyTorch) {
  const auto version = [](std::uint64_t major, std::uint64_t minor, std::uint64_t patch) {
    return major << 56 | minor << 48 | patch << 40;
  };
  const auto built = version(2, 15, 0);
  EXPECT_NO_THROW(check_torch_version(built, version(2, 15, 1)));
  for (const auto& [found, text] : {std::pair{version(2, 16, 1), "PyTorch 2.16.1"},
                                    std::pair{version(2, 14, 0), "PyTorch 2.14.0"},
                                    std::pair{version(3, 15, 0), "PyTorch 3.15.0"}}) {
    EXPECT_THAT(thrown_text([&, &other = found] { check_torch_version(built, other); }),
                AllOf(HasSubstr("built with PyTorch 2.15.0"),
                      HasSubstr(text),
                      HasSubstr("TANDEM_TORCH_DIR")));
  }
  EXPECT_NO_THROW(check_torch_version());  // the one that is here
}

/// In a process where another library has the place of foreign devices.
[[noreturn]] void wrap_beside_another_backend() {
  c10::register_privateuse1_backend("other");
  const auto refused = [](const auto& f) {
    try {
      f();
    } catch (const InvalidArgument& e) {
      std::fprintf(stderr, "%s\n", e.what());
      return true;
    }
    return false;
  };
  const Mlp net;
  const bool as_expected = refused([] { register_devices(2); }) &&
                           refused([&] { DataParallel(net, {.devices = test_devices(2)}); }) &&
                           registered_devices() == 0 && c10::get_privateuse1_backend() == "other" &&
                           net->parameters()[0].device().is_cpu();
  std::_Exit(as_expected ? 0 : 1);
}

TEST(RefusedLibrariesTest, AnotherForeignBackend) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own from the start
  EXPECT_EXIT(wrap_beside_another_backend(),
              ::testing::ExitedWithCode(0),
              "'other' has taken it; use GPUs, or a process without the other library");
}

}  // namespace
}  // namespace tandem::libtorch::test
