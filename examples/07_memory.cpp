// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Why is device 0 full? This runs a language model with a large vocabulary on four devices, and
// shows what fills each device and what helps.
//
//   tokens (rows, 16) --> embedding --> head --> logits (rows, 16, 2000): 250 KiB per row
//
// profile::record_memory tells the peak of each device, and what it consisted of, by cause.
//
// Expected output:
//   loss of the gathered logits   37.23 MiB on cpu:0, 9.14 on the others: 4.07 times as much
//   the same with gpu0_bsz = 0    33.29 MiB on cpu:0, 12.10 on the others: 2.83 times as much
//   loss in the replica           9.88 MiB on cpu:0, 8.86 on the others: 1.12 times as much
//   and planned chunks            8.90 MiB on cpu:0, 9.35 on the others: 0.97 times as much
//   and mode sharded              9.12 MiB on cpu:0, 9.11 on the others: 1.00 times as much
//   and mode ddp                  9.88 MiB on cpu:0, 9.86 on the others: 1.00 times as much
//   largest on cpu:0 with gathered logits: activation

#include <cstdio>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

constexpr std::int64_t kRows = 64, kTokens = 16, kVocabulary = 2000, kWidth = 16;

struct LanguageModel : nn::Module {
  nn::Embedding embedding{kVocabulary, kWidth, {.dtype = DType::f64}};
  nn::Linear head{kWidth, kVocabulary, {.dtype = DType::f64}};
  Tensor forward(const Tensor& tokens) { return head(embedding(tokens)); }
  TANDEM_MODULE(LanguageModel, embedding, head)
};

using Batch = std::vector<Tensor>;  // the tokens, and the tokens that follow them

WeightedSum loss_of(const Tensor& logits, const Tensor& next) {
  return cross_entropy_sum(logits.flatten(0, 1), next.flatten());
}

enum class Loss { gathered, replica };

/// Measures the second of two steps, when all state already exists.
profile::MemoryProfile measure(Loss place, const parallel::DataParallelOptions& options) {
  manual_seed(1);
  LanguageModel net;
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  parallel::DataParallel dp(net, options);
  const Batch batch{randint(0, kVocabulary, {kRows, kTokens}),
                    randint(0, kVocabulary, {kRows, kTokens})};
  const auto step = [&] {
    if (place == Loss::replica) {
      dp.step(
          batch,
          [](LanguageModel& m, const Batch& part) { return loss_of(m(part[0]), part[1]); },
          &optimizer);
      return;
    }
    optimizer.zero_grad();
    const WeightedSum loss = loss_of(dp(batch[0]), batch[1]);
    (loss.sum / loss.weight).backward();
    optimizer.step();
  };
  step();
  return profile::record_memory(dp.devices(), step);
}

void report(const char* what, const profile::MemoryProfile& memory) {
  const auto mib = [](std::size_t nbytes) { return static_cast<double>(nbytes) / (1 << 20); };
  std::size_t others = 0;
  for (std::size_t d = 1; d < memory.devices.size(); ++d)
    others = std::max(others, memory.devices[d].peak);
  std::printf("%-29s %.2f MiB on cpu:0, %.2f on the others: %.2f times as much\n",
              what,
              mib(memory.devices[0].peak),
              mib(others),
              memory.imbalance());
}

}  // namespace

int main() {
  const std::vector<Device> devices = configure_devices("cpu:4");
  using parallel::ChunkPolicy;
  using parallel::Mode;
  const auto gathered = measure(Loss::gathered, {.devices = devices, .mode = Mode::server});
  report("loss of the gathered logits", gathered);
  report("the same with gpu0_bsz = 0",
         measure(Loss::gathered, {.devices = devices, .mode = Mode::server, .gpu0_bsz = 0}));
  report("loss in the replica", measure(Loss::replica, {.devices = devices, .mode = Mode::server}));
  for (const auto& [what, mode] : {std::pair("and planned chunks", Mode::server),
                                   std::pair("and mode sharded", Mode::sharded),
                                   std::pair("and mode ddp", Mode::ddp)}) {
    report(what,
           measure(Loss::replica,
                   {.devices = devices, .mode = mode, .chunks = ChunkPolicy::planned()}));
  }
  std::printf("largest on cpu:0 with gathered logits: %s\n",
              name(gathered.devices[0].at_peak.front().category));
  return 0;
}
