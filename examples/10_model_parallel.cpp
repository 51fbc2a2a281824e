// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Model parallel: the two halves of a net on two devices, for a net that fits neither. The
// activations go from device to device, and on the way back their gradients.
//
//   cpu:0   x --> body --> h --+        +--> gradient of h --> body's gradients --> AdamW
//                              | to()   | its backward
//   cpu:1                      +--> h --> head --> loss --> head's gradients --> AdamW
//
// One device works while the other waits: this divides memory, and takes as long as one device
// does. A pipeline of micro-batches or DataParallel keep both at work.
//
// Expected output:
//   parameters: cpu:0 16.2 KiB, cpu:1 2.5 KiB
//   step 1: loss 2.31 on one device, 2.31 on two
//   step 2: loss 1.96 on one device, 1.96 on two
//   step 3: loss 1.66 on one device, 1.66 on two
//   the same weights: yes

#include <cstdio>
#include <string>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

struct Net : nn::Module {
  nn::Linear body{64, 64}, head{64, 10};
  Tensor forward(const Tensor& x) { return head(relu(body(x)).to(head.weight.device())); }
  TANDEM_MODULE(Net, body, head)
};

/// The bytes of a half's parameters.
std::string size_of(const nn::Linear& half) {
  return to_string(half.weight.device()) + " " +
         format_nbytes(half.weight.nbytes() + half.bias.nbytes());
}

/// An optimizer has the parameters of one device.
struct Halves {
  Net& net;
  optim::AdamW body{net.body.named_parameters(), {.lr = 0.01}};
  optim::AdamW head{net.head.named_parameters(), {.lr = 0.01}};

  double step(const Tensor& x, const Tensor& labels) {
    body.zero_grad();
    head.zero_grad();
    const Tensor logits = net(x);
    const Tensor loss = cross_entropy(logits, labels.to(logits.device()));
    loss.backward();
    body.step();
    head.step();
    return loss.item();
  }
};

bool same(const Tensor& a, const Tensor& b) {
  return a.to_host<float>() == b.to_host<float>();
}

}  // namespace

int main() {
  configure_devices("cpu:2");
  manual_seed(1);
  Net one, two = nn::clone(one);
  two.head.to({DeviceType::cpu, 1});
  std::printf("parameters: %s, %s\n", size_of(two.body).c_str(), size_of(two.head).c_str());

  Halves single{one}, split{two};
  const Tensor x = randn({32, 64}), labels = randint(0, 10, {32});
  for (int step = 1; step <= 3; ++step) {
    const double expected = single.step(x, labels), loss = split.step(x, labels);
    std::printf("step %d: loss %.2f on one device, %.2f on two\n", step, expected, loss);
  }
  const bool alike =
      same(one.body.weight, two.body.weight) && same(one.head.weight, two.head.weight);
  std::printf("the same weights: %s\n", alike ? "yes" : "no");
}
