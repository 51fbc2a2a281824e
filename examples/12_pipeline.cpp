// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// A pipeline: each device has a stage of the net, and a batch goes through in micro-batches, so
// that the stages work at the same time. Where a stage waits for its neighbours is the bubble. Two
// stages and four micro-batches, if a forward (F) takes one slot of time and a backward (B) two:
//
//   GPipe  rank 0   F0 F1 F2 F3 .. .. .. B0 B0 B1 B1 B2 B2 B3 B3     holds 4 micro-batches
//          rank 1   .. F0 F1 F2 F3 B0 B0 B1 B1 B2 B2 B3 B3 .. ..
//
//   1F1B   rank 0   F0 F1 .. .. B0 B0 F2 B1 B1 F3 B2 B2 .. B3 B3     holds 2
//          rank 1   .. F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 .. ..
//
// The share of the bubble is (p - 1) / (m + p - 1) for p stages and m micro-batches (Huang et al.,
// 2019, "GPipe"; Narayanan et al., 2019, "PipeDream"). Messages carry the slot at which they were
// sent, so the ranks count it.
//
// Expected output:
//   GPipe,  8 micro-batches: bubble 0.27, by the formula 0.27; rank 0 holds 8
//   1F1B,   8 micro-batches: bubble 0.27, by the formula 0.27; rank 0 holds 4
//   GPipe, 16 micro-batches: bubble 0.16, by the formula 0.16; rank 0 holds 16
//   1F1B,  16 micro-batches: bubble 0.16, by the formula 0.16; rank 0 holds 4
//   gradients as on one device: yes

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

constexpr std::int64_t kWidth = 16, kRows = 32;
const TensorOptions kF64{.dtype = DType::f64};

struct Action {
  enum { forward, backward } kind;
  int part;  // the micro-batch
};

/// `ahead` forwards, then a backward and a forward in turn, then what is left of the backwards.
std::vector<Action> schedule(int parts, int ahead) {
  std::vector<Action> actions;
  for (int part = 0; part < ahead; ++part)
    actions.push_back({Action::forward, part});
  for (int part = 0; part < parts; ++part) {
    actions.push_back({Action::backward, part});
    if (ahead + part < parts) actions.push_back({Action::forward, ahead + part});
  }
  return actions;
}

/// A rank's part of the net, and of the work.
struct Stage {
  parallel::Rank& rank;
  nn::Linear layer;
  int parts;
  double now = 0, busy = 0;                            // in slots
  std::size_t most = 0;                                // micro-batches held at once
  std::map<int, std::pair<Tensor, Tensor>> held = {};  // inputs and outputs
  std::vector<comm::Handle> sent = {};

  bool is_last() const { return rank.rank() == rank.size() - 1; }

  void forward(int part, const Tensor& rows, const Tensor& labels) {
    const Tensor x = rank.is_main() ? rows : receive(rank.rank() - 1, part).requires_grad_();
    const Tensor y = is_last() ? cross_entropy(layer(x), labels) / parts : relu(layer(x));
    work(1);
    held[part] = {x, y};
    most = std::max(most, held.size());
    if (!is_last()) send(y.detach(), rank.rank() + 1, part);
  }

  void backward(int part) {
    const Tensor gradient = is_last() ? Tensor() : receive(rank.rank() + 1, part);
    const auto [x, y] = held.extract(part).mapped();
    y.backward(gradient);
    work(2);
    if (!rank.is_main()) send(x.grad(), rank.rank() - 1, part);
  }

  void work(double slots) {
    now += slots;
    busy += slots;
  }

  void send(const Tensor& x, int to, int part) {
    sent.push_back(rank.comm().start_send(x, to, 2 * part));
    sent.push_back(rank.comm().start_send(tensor({now}, rank.device()), to, 2 * part + 1));
  }

  Tensor receive(int from, int part) {
    Tensor x = empty({kRows / parts, kWidth}, {.dtype = DType::f64, .device = rank.device()});
    const Tensor slot = tensor({0.0}, rank.device());
    rank.comm().recv(x, from, 2 * part);
    rank.comm().recv(slot, from, 2 * part + 1);
    now = std::max(now, slot.item());
    return x;
  }
};

void run(Stage& stage, const std::vector<Action>& schedule, const Tensor& x, const Tensor& labels) {
  const std::int64_t rows = kRows / stage.parts;
  const auto part_of = [&](const Tensor& all, int part) {
    return all.narrow(0, part * rows, rows).to(stage.rank.device());
  };
  for (const auto& [kind, part] : schedule) {
    if (kind == Action::backward)
      stage.backward(part);
    else
      stage.forward(part, part_of(x, part), part_of(labels, part));
  }
  for (comm::Handle& handle : stage.sent)
    handle.wait();
}

/// The share of all ranks' slots until the last one ends in which a rank does nothing.
double bubble(const Stage& stage) {
  const Tensor own = tensor({stage.busy, stage.now}, stage.rank.device()).unsqueeze(0);
  const std::vector<double> all = stage.rank.gather_for_metrics(own).to_doubles();
  double busy = 0, end = 0;
  for (std::size_t r = 0; r < all.size(); r += 2) {
    busy += all[r];
    end = std::max(end, all[r + 1]);
  }
  return 1 - busy / (stage.rank.size() * end);
}

bool near(const Tensor& a, const Tensor& b) {
  return sum(abs(a.detach().to(b.device()) - b.detach())).item() < 1e-9;
}

}  // namespace

int main() {
  const std::vector<Device> devices = configure_devices("cpu:4");
  manual_seed(1);
  std::vector<nn::Linear> net;
  for (std::size_t s = 0; s < devices.size(); ++s)
    net.emplace_back(kWidth, kWidth, nn::LinearOptions{.dtype = DType::f64});
  const Tensor x = randn({kRows, kWidth}, kF64), labels = randint(0, kWidth, {kRows});
  cross_entropy(net[3](relu(net[2](relu(net[1](relu(net[0](x))))))), labels).backward();

  std::atomic<bool> alike = true;
  const auto train = [&](parallel::Rank& rank, int parts, bool in_turn) {
    const nn::Linear& alone = net[static_cast<std::size_t>(rank.rank())];
    Stage stage{rank, nn::clone(alone), parts};
    stage.layer.to(rank.device());
    const int ahead = in_turn ? std::min(parts, rank.size() - rank.rank()) : parts;
    run(stage, schedule(parts, ahead), x, labels);
    if (!near(stage.layer.weight.grad(), alone.weight.grad())) alike = false;
    const double counted = bubble(stage);
    if (!rank.is_main()) return;
    std::printf("%s %2d micro-batches: bubble %.2f, by the formula %.2f; rank 0 holds %zu\n",
                in_turn ? "1F1B, " : "GPipe,",
                parts,
                counted,
                (rank.size() - 1.0) / (parts + rank.size() - 1.0),
                stage.most);
  };
  for (const int parts : {8, 16})
    for (const bool in_turn : {false, true})
      parallel::run_ranks(devices, [&](parallel::Rank& rank) { train(rank, parts, in_turn); });
  std::printf("gradients as on one device: %s\n", alike ? "yes" : "no");
}
