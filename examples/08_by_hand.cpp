// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of DataParallel, written by hand: what `mode = classic` does in every step, and
// PyTorch's torch.nn.parallel.data_parallel() before it. After ten steps the parameters are the
// wrapper's, bit for bit.
//
//   batch --scatter--> cpu:0  32 rows, net        --+
//                      cpu:1  32 rows, replica 1  --+--gather--> logits on cpu:0 --> loss
//                      cpu:2  32 rows, replica 2  --+
//                      cpu:3  32 rows, replica 3  --+
//                      gradients of all replicas --sum--> cpu:0 --> AdamW --> net
//
// Expected output:
//   step 1: loss 2.30 by hand, 2.30 by the wrapper
//   step 10: loss 1.06 by hand, 1.06 by the wrapper
//   parameters that differ: 0

#include <cstdio>
#include <span>
#include <tuple>
#include <vector>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

auto make_net() {
  manual_seed(1);
  return nn::Sequential(nn::Flatten(), nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 10));
}

using Net = decltype(make_net());

/// Takes one step on all devices, as DataParallel does in mode classic. Returns the loss.
Tensor step_by_hand(Net& net,
                    optim::Optimizer& optimizer,
                    const std::vector<Device>& devices,
                    const Tensor& images,
                    const Tensor& labels) {
  // 1. Gradients of the step before are dropped.
  optimizer.zero_grad();
  // 2. The batch is cut into chunks, one for each device.
  const auto count = static_cast<std::int64_t>(devices.size());
  const std::vector<std::int64_t> chunks(devices.size(), images.size(0) / count);
  // 3. Each device gets its rows of the batch.
  std::vector<std::tuple<Tensor>> inputs;
  for (const Tensor& rows : parallel::scatter(images, devices, chunks))
    inputs.emplace_back(rows);
  // 4. Each device gets a copy of the model; device 0 has the model itself.
  std::vector<Net> replicas;
  for (std::size_t d = 1; d < devices.size(); ++d)
    replicas.push_back(nn::replicate(net, devices[d]));
  std::vector<Net*> modules{&net};
  for (Net& replica : replicas)
    modules.push_back(&replica);
  // 5. All devices compute at once, each in a thread of its own.
  const std::vector<Tensor> outputs = parallel::parallel_apply(modules, inputs, devices);
  // 6. The outputs are gathered on device 0,
  const Tensor logits = parallel::gather(std::span(outputs), devices[0]);
  // 7. which alone computes the loss: one reason why its memory is the first to be full.
  const Tensor loss = cross_entropy(logits, labels);
  // 8. The gradient goes back through the gather into every replica, on all devices at once.
  loss.backward();
  // 9. The replicas' gradients are added to the model's on device 0.
  const std::vector<Tensor> parameters = net.parameters();
  for (Net& replica : replicas) {
    const std::vector<Tensor> others = replica.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p)
      parameters[p].grad().add_(others[p].grad().to(devices[0]));
  }
  // 10. Device 0 updates the model. The replicas are thrown away.
  optimizer.step();
  return loss;
}

}  // namespace

int main() {
  const std::vector<Device> devices = configure_devices("cpu:4");
  const auto digits = datasets::load_digits(datasets::Split::train);
  datasets::DataLoader train(digits, {.batch_size = 128});
  const auto batch = train.next().value();

  Net by_hand = make_net();
  optim::AdamW hand_optimizer(by_hand.named_parameters(), {.lr = 3e-3});
  Net net = make_net();
  optim::AdamW optimizer(net.named_parameters(), {.lr = 3e-3});
  parallel::DataParallel dp(net, {.devices = devices, .mode = parallel::Mode::classic});

  for (int step = 1; step <= 10; ++step) {
    const Tensor a = step_by_hand(by_hand, hand_optimizer, devices, batch.at(0), batch.at(1));
    optimizer.zero_grad();
    const Tensor b = cross_entropy(dp(batch.at(0)), batch.at(1));
    b.backward();
    optimizer.step();
    if (step == 1 || step == 10)
      std::printf("step %d: loss %.2f by hand, %.2f by the wrapper\n", step, a.item(), b.item());
  }
  double differ = 0;
  for (std::size_t p = 0; p < net.parameters().size(); ++p)
    differ += sum(ne(by_hand.parameters()[p], net.parameters()[p])).item();
  std::printf("parameters that differ: %.0f\n", differ);
}
