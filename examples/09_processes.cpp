// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// 06_ddp.cpp in several processes, each with two devices: tandem launch --nproc 2 09_processes, or
// torchrun, mpirun or srun on as many hosts as there are. Only main() differs: the processes meet,
// and the ranks are the devices of all of them.
//
// With two processes, which have four ranks, rank 0 prints what 06 prints.
//
// Expected output:
//   [0] epoch 1: loss 1.73, test accuracy 0.82
//   [0] epoch 2: loss 0.70, test accuracy 0.84
//   [0] epoch 3: loss 0.30, test accuracy 0.86
//   [0] epoch 4: loss 0.18, test accuracy 0.87
//   [0] epoch 5: loss 0.13, test accuracy 0.89

#include <cstdio>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

/// Fraction of the rows of the test set whose largest logit is that of the label.
double accuracy(auto& model, Device device) {
  const autograd::NoGrad off;
  datasets::DataLoader loader(datasets::load_digits(datasets::Split::test),
                              {.batch_size = 360, .device = device});
  double right = 0, rows = 0;
  while (const auto batch = loader.next()) {
    right += sum(eq(argmax(model(batch->at(0)), 1), batch->at(1))).item();
    rows += static_cast<double>(batch->at(1).numel());
  }
  return right / rows;
}

void program(parallel::Rank& rank, auto net) {
  const auto digits = datasets::load_digits(datasets::Split::train);
  datasets::DataLoader loader(
      digits,
      {.batch_size = 32,
       .sampler = datasets::distributed_sampler(
           datasets::random_sampler(digits->size(), 1), rank.size(), rank.rank()),
       .device = rank.device()});
  net.to(rank.device());
  parallel::DistributedDataParallel ddp(net, rank);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 3e-3});

  for (int epoch = 1; epoch <= 5; ++epoch) {
    Tensor total = zeros({}, {.device = rank.device()});
    while (const auto batch = loader.next()) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(ddp(batch->at(0)), batch->at(1));
      loss.backward();
      optimizer.step();
      total = total + loss.detach();
    }
    rank.comm().all_reduce(total, comm::ReduceOp::avg);
    if (rank.is_main()) {
      const double mean_loss = total.item() / static_cast<double>(loader.batches());
      const double correct = accuracy(net, rank.device());
      std::printf("epoch %d: loss %.2f, test accuracy %.2f\n", epoch, mean_loss, correct);
    }
  }
}

}  // namespace

int main() {
  world::World world = world::World::from_environment();
  manual_seed(1);
  const nn::Sequential net(nn::Flatten(), nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 10));
  parallel::run_ranks(configure_devices("cpu:2"),
                      [&](parallel::Rank& rank) { program(rank, nn::clone(net)); },
                      {.world = &world});
}
