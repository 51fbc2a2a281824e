// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A program that asks why its first device is full, and prints the answer.

#include <fstream>
#include <iostream>
#include <string>

#include <tandem/report/memory_report.hpp>
#include <tandem/tandem.hpp>

using namespace tandem;

int main(int, char** argv) {
  nn::Sequential net(nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 10));
  optim::AdamW optimizer(net.named_parameters(), {.lr = 3e-3});
  parallel::DataParallel dp(
      net, {.devices = configure_devices("cpu:2"), .mode = parallel::Mode::server});
  const std::vector<Tensor> batch{randn({32, 64}), zeros({32}, {.dtype = DType::i64})};
  const auto loss = [](auto& replica, const std::vector<Tensor>& part) {
    return cross_entropy_sum(replica(part[0]), part[1]);
  };
  const auto memory =
      profile::record_memory(dp.devices(), [&] { dp.step(batch, loss, &optimizer); });
  const report::MemoryReport report(memory);
  std::cout << report.text();
  std::ofstream(argv[1]) << report.html();
  return report.text().find("optimizer") != std::string::npos && report.json().front() == '{' ? 0
                                                                                              : 1;
}
