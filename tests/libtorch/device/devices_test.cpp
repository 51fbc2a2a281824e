// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Virtual devices as devices of PyTorch: memory, links, random numbers, errors.

#include "tandem/libtorch/devices.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>

#include "tandem/runtime/observer.hpp"

#include "libtorch/registered_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchDevicesTest : public RegisteredDevicesTest {};

TEST_F(TorchDevicesTest, MemoryIsTheDevicesToTheByteAndAllComesBack) {
  const std::size_t before = in_use(1), of_host = in_use(0);
  {
    const torch::Tensor x = torch::ones({10, 10}, torch::TensorOptions(device(1)));
    EXPECT_EQ(in_use(1) - before, 400u);
    {
      const torch::Tensor normal = torch::layer_norm(x, {10});  // a kernel of the host allocates
      EXPECT_EQ(in_use(1) - before, 800u);
    }
    torch::Tensor w = torch::ones({10, 10}, torch::TensorOptions(device(1))).requires_grad_();
    const torch::Tensor y = torch::matmul(x, w);
    EXPECT_EQ(in_use(1) - before, 1200u);
    y.square().sum().backward();
    EXPECT_EQ(w.grad().cpu().sum().item<float>(), 2 * 10 * 10 * 10 * 10);
  }
  EXPECT_EQ(in_use(1), before);
  EXPECT_EQ(in_use(0), of_host) << "plain tensors of the host are nobody's";
}

TEST_F(TorchDevicesTest, PeaksAreToTheByte) {
  LogicalDevice& one = logical_device({DeviceType::cpu, 1});
  one.reset_peak();
  const std::size_t before = one.memory_stats().peak;
  {
    const torch::Tensor x = torch::ones({100}, torch::TensorOptions(device(1)));
    const torch::Tensor y = x + x;
  }
  const torch::Tensor small = torch::ones({10}, torch::TensorOptions(device(1)));
  EXPECT_EQ(one.memory_stats().peak - before, 800u);
  one.reset_peak();
  EXPECT_EQ(one.memory_stats().peak - before, 40u);
}

TEST_F(TorchDevicesTest, ALimitIsPyTorchsOutOfMemoryErrorAndTheDeviceWorksOn) {
  LogicalDevice& limited = logical_device({DeviceType::cpu, 2});
  const torch::Tensor held = torch::zeros({250}, torch::TensorOptions(device(2)));
  limited.set_limit(limited.memory_stats().in_use + 1100);
  EXPECT_THAT(thrown_text<c10::OutOfMemoryError>(
                  [&] { torch::zeros({1000}, torch::TensorOptions(device(2))); }),
              AllOf(HasSubstr("cpu:2"), HasSubstr("4000"), HasSubstr("activation")));
  EXPECT_THROW(held.repeat({4}), c10::OutOfMemoryError) << "inside of a kernel of the host";
  EXPECT_EQ((held + 1).sum().item<float>(), 250);
  limited.set_limit(SIZE_MAX);
}

TEST_F(TorchDevicesTest, DevicesDoNotMix) {
  const torch::Tensor a = torch::ones({2}, torch::TensorOptions(device(0))),
                      b = torch::ones({2}, torch::TensorOptions(device(1)));
  EXPECT_THAT(thrown_text<c10::Error>([&] { a + b; }),
              AllOf(HasSubstr("Expected all tensors to be on the same device"),
                    HasSubstr("tandem:0"),
                    HasSubstr("tandem:1")));
  const std::map<std::string, std::function<void()>> ops{
      {"cat",
       [&] {
         torch::cat({a, b});
       }},
      {"where", [&] { torch::where(a > 0, a, b); }},
      {"mul with the host", [&] { a* torch::ones({2}); }},
      {"matmul", [&] { torch::matmul(a, b); }},
      {"linear",
       [&] {
         torch::linear(a, torch::ones({3, 2}, torch::TensorOptions(device(1))));
       }},
      {"mse_loss", [&] { torch::mse_loss(a, b); }},
      {"layer_norm", [&] { torch::layer_norm(a, {2}, b, b); }},
      {"index_select", [&] { a.index_select(0, torch::zeros({1}, torch::kLong)); }},
      {"embedding",
       [&] {
         torch::embedding(torch::ones({3, 2}, torch::TensorOptions(device(1))),
                          torch::zeros({1}, torch::TensorOptions(torch::kLong).device(device(2))));
       }},
      {"conv1d",
       [&] {
         torch::conv1d(a.view({1, 1, 2}), torch::ones({1, 1, 1}, torch::TensorOptions(device(1))));
       }},
      {"in place", [&] { at::Tensor(a).add_(b); }},
  };
  for (const auto& [name, op] : ops)
    EXPECT_THAT(thrown_text<c10::Error>(op), HasSubstr("same device")) << name;
  EXPECT_THAT(thrown_text<c10::Error>([&] { a* torch::ones({2}); }),
              AllOf(HasSubstr("tandem:0"), HasSubstr("cpu")));
  EXPECT_EQ(a.index({torch::zeros({1}, torch::kLong)}).numel(), 1) << "indices are moved";
  // As between GPUs: a number is not a tensor of the host, and a copy is what moves.
  EXPECT_EQ((a * torch::tensor(3.0)).cpu().sum().item<float>(), 6);
  at::Tensor(a).copy_(b * 2);
  EXPECT_EQ(a.cpu().sum().item<float>(), 4);
  EXPECT_THROW(torch::ones({1}, torch::TensorOptions(torch::Device("tandem:64"))), c10::Error);
  EXPECT_EQ(torch::Device("tandem:3"), device(3));
}

/// Counts bytes by link.
class Links final : public Observer {
 public:
  void on_copy(const CopyEvent& copy) noexcept override {
    bytes[to_string(copy.source) + " -> " + to_string(copy.destination)] += copy.nbytes;
  }
  std::map<std::string, std::size_t> bytes;
};

TEST_F(TorchDevicesTest, CopiesBetweenDevicesAreCounted) {
  const torch::Tensor x = torch::ones({100});
  Links links;
  {
    const Subscription subscription(links);
    const torch::Tensor there = x.to(device(1));
    const torch::Tensor other = there.to(device(2)).to(torch::kDouble);
    other.cpu();
    there.clone();
  }
  EXPECT_THAT(links.bytes,
              ::testing::ElementsAre(std::pair("cpu:0 -> cpu:1", 400u),
                                     std::pair("cpu:1 -> cpu:2", 400u),
                                     std::pair("cpu:2 -> cpu:0", 800u)));
}

TEST_F(TorchDevicesTest, EachDeviceHasRandomNumbersOfItsOwnThatFollowTheSeed) {
  const auto draw = [](int d) {
    const torch::Tensor x = torch::ones({64}, torch::TensorOptions(device(d)));
    const torch::Tensor y = torch::dropout(x, 0.5, true);
    return torch::cat({y, torch::rand_like(x)}).cpu();
  };
  torch::manual_seed(5);
  const torch::Tensor first = draw(1), second = draw(1);
  torch::manual_seed(5);
  torch::randn({7});  // of the host
  draw(2);
  EXPECT_TRUE(torch::equal(first, draw(1)));
  EXPECT_TRUE(torch::equal(second, draw(1)));
  EXPECT_FALSE(torch::equal(first, second));
}

TEST_F(TorchDevicesTest, OutTensorsAreResizedOnTheDevice) {
  const torch::Tensor x = torch::ones({30}, torch::TensorOptions(device(1)));
  torch::Tensor out = torch::empty({0}, torch::TensorOptions(device(1)));
  torch::add_out(out, x, x);
  EXPECT_EQ(out.sizes(), x.sizes());
  EXPECT_EQ(out.sum().item<float>(), 60);
  x.resize_({60});
  EXPECT_EQ(x.slice(0, 0, 30).sum().item<float>(), 30);
}

TEST_F(TorchDevicesTest, AutocastComputesIn16Bits) {
  const torch::Tensor x = torch::ones({4, 4}, torch::TensorOptions(device(1)));
  at::autocast::set_autocast_dtype(at::kPrivateUse1, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kPrivateUse1, true);
  const torch::Tensor y = torch::matmul(x, x), z = torch::softmax(y, 1);
  at::autocast::set_autocast_enabled(at::kPrivateUse1, false);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(z.scalar_type(), torch::kFloat);
}

TEST_F(TorchDevicesTest, OneGraphMayCrossDevices) {
  const torch::Tensor w = torch::randn({4, 4}).requires_grad_(), x = torch::randn({3, 4});
  const auto loss = [&](torch::Device a, torch::Device b) {
    const torch::Tensor first = torch::matmul(x.to(a), w.to(a)).tanh();
    return torch::matmul(first.to(b), w.to(b)).square().sum();
  };
  const auto gradient = [&](const torch::Tensor& y) { return torch::autograd::grad({y}, {w})[0]; };
  const torch::Tensor host = gradient(loss(torch::kCPU, torch::kCPU));
  EXPECT_LE(gap(host, gradient(loss(device(1), device(2)))), 1e-5);
}

TEST(LateDevicesTest, ComeAfterBackwardsWithFewer) {
  const auto goes_backward = [](torch::Device where) {
    const torch::Tensor w = torch::ones({3}, torch::TensorOptions().device(where));
    w.requires_grad_().square().sum().backward();
    return w.grad().cpu().sum().item<double>() == 6;
  };
  EXPECT_TRUE(goes_backward(torch::kCPU));
  for (const int more : {1, 2, 5}) {
    const int count = std::min(registered_devices() + more, kMaxTorchDevices);
    register_devices(count);
    EXPECT_EQ(registered_devices(), count);
    for (int i = 0; i < registered_devices(); ++i)
      EXPECT_TRUE(goes_backward(device(i))) << i;
  }
}

TEST_F(TorchDevicesTest, BadCountsAndDevicesAreRefused) {
  EXPECT_THAT(thrown_text([] { register_devices(0); }), HasSubstr("0 devices; expected 1 to 64"));
  EXPECT_THAT(thrown_text([] { register_devices(65); }), HasSubstr("65 devices"));
  EXPECT_NO_THROW(register_devices(2));
  EXPECT_THAT(thrown_text([] {
                torch_device({DeviceType::cpu, 64});
              }),
              AllOf(HasSubstr("cpu:64"), HasSubstr("register_devices")));
}

}  // namespace
}  // namespace tandem::libtorch::test
