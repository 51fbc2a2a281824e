// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// 02_train.cpp on four devices: three lines differ, and the result is the same.
//
//              +--> cpu:0  32 rows, replica 0 = net --+
//   batch  ----+--> cpu:1  32 rows, replica 1 --------+----> logits (128, 10) on cpu:0 --> loss
//   (128)      +--> cpu:2  32 rows, replica 2 --------+
//              +--> cpu:3  32 rows, replica 3 --------+
//       gradients, each device sums its share --> AdamW updates that share --> net, replicas
//
// diff 02_train.cpp 03_data_parallel.cpp:
//   + parallel::DataParallel dp(net, {.devices = configure_devices("cpu:4")});
//   - const Tensor loss = cross_entropy(net(batch->at(0)), batch->at(1));
//   + const Tensor loss = cross_entropy(dp(batch->at(0)), batch->at(1));
//   - const double correct = accuracy(net, test);
//   + const double correct = accuracy(dp, test);
//
// Expected output:
//   epoch 1: loss 1.73, test accuracy 0.82
//   epoch 2: loss 0.71, test accuracy 0.85
//   epoch 3: loss 0.30, test accuracy 0.86
//   epoch 4: loss 0.19, test accuracy 0.87
//   epoch 5: loss 0.14, test accuracy 0.89

#include <cstdio>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

/// Fraction of the rows of `loader` whose largest logit is that of the label.
double accuracy(auto& model, datasets::DataLoader& loader) {
  const autograd::NoGrad off;
  double right = 0, rows = 0;
  while (const auto batch = loader.next()) {
    right += sum(eq(argmax(model(batch->at(0)), 1), batch->at(1))).item();
    rows += static_cast<double>(batch->at(1).numel());
  }
  return right / rows;
}

}  // namespace

int main() {
  manual_seed(1);
  const auto digits = datasets::load_digits(datasets::Split::train);
  datasets::DataLoader train(
      digits, {.batch_size = 128, .sampler = datasets::random_sampler(digits->size(), 1)});
  datasets::DataLoader test(datasets::load_digits(datasets::Split::test), {.batch_size = 360});

  nn::Sequential net(nn::Flatten(), nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 10));
  optim::AdamW optimizer(net.named_parameters(), {.lr = 3e-3});
  parallel::DataParallel dp(net, {.devices = configure_devices("cpu:4")});

  for (int epoch = 1; epoch <= 5; ++epoch) {
    double total = 0;
    while (const auto batch = train.next()) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(dp(batch->at(0)), batch->at(1));
      loss.backward();
      optimizer.step();
      total += loss.item();
    }
    const double mean_loss = total / static_cast<double>(train.batches());
    const double correct = accuracy(dp, test);
    std::printf("epoch %d: loss %.2f, test accuracy %.2f\n", epoch, mean_loss, correct);
  }
}
