// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor parallel: each rank has a part of every weight, and all work on the same rows. The first
// layer is cut by its outputs and the second one by its inputs, so that one all-reduce is enough
// (Shoeybi et al., 2019, "Megatron-LM", section 3).
//
//   rank 0   x --> up[0:32]  --> relu --> down[:, 0:32]  --+
//                                                          +-- all_reduce --> + bias --> y
//   rank 1   x --> up[32:64] --> relu --> down[:, 32:64] --+
//
// Expected output:
//   a rank has 32 of 64 hidden units, 6.1 KiB of 12.1 KiB
//   output as on one device: yes, gradients: yes

#include <cstdio>
#include <mutex>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

constexpr std::int64_t kIn = 16, kHidden = 64, kOut = 8;
const TensorOptions kF64{.dtype = DType::f64};

struct Net : nn::Module {
  nn::Parameter up = randn({kHidden, kIn}, kF64), down = randn({kOut, kHidden}, kF64);
  nn::Parameter bias = randn({kOut}, kF64);
  Tensor forward(const Tensor& x) { return linear(relu(linear(x, up)), down, bias); }
  TANDEM_MODULE(Net, up, down, bias)
};

/// A rank's part of a Net.
struct Part : nn::Module {
  nn::Parameter up, down, bias;
  comm::Communicator* comm;

  Part(const Net& net, parallel::Rank& rank) : comm(&rank.comm()) {
    const std::int64_t units = kHidden / rank.size(), first = rank.rank() * units;
    up = net.up.detach().narrow(0, first, units).contiguous().to(rank.device());
    down = net.down.detach().narrow(1, first, units).contiguous().to(rank.device());
    bias = net.bias.detach().to(rank.device());
  }
  Tensor forward(const Tensor& x) {
    return comm::all_reduce(*comm, linear(relu(linear(x, up)), down)) + bias;
  }
  TANDEM_MODULE(Part, up, down, bias)
};

std::size_t nbytes(const nn::Module& net) {
  std::size_t sum = 0;
  for (const Tensor& parameter : net.parameters())
    sum += parameter.nbytes();
  return sum;
}

bool near(const Tensor& a, const Tensor& b) {
  return sum(abs(a.detach().to(b.device()) - b.detach())).item() < 1e-9;
}

}  // namespace

int main() {
  const std::vector<Device> devices = configure_devices("cpu:2");
  manual_seed(1);
  Net net;
  const Tensor x = randn({5, kIn}, kF64), y = net(x);
  mean(square(y)).backward();

  std::mutex mutex;  // of the two results
  bool outputs = true, gradients = true;
  parallel::run_ranks(devices, [&](parallel::Rank& rank) {
    Part part(net, rank);
    const Tensor own = part(x.to(rank.device()));
    // The backward of all_reduce adds up what the ranks' losses, which are equal, ask for.
    (mean(square(own)) / static_cast<double>(rank.size())).backward();
    // The bias comes after it, so each rank has a share of its gradient.
    const Tensor bias = part.bias.grad();
    rank.comm().all_reduce(bias);
    const std::int64_t units = part.up.size(0), first = rank.rank() * units;
    const std::lock_guard lock(mutex);
    outputs &= near(own, y);
    gradients &= near(part.up.grad(), net.up.grad().narrow(0, first, units)) &&
                 near(part.down.grad(), net.down.grad().narrow(1, first, units)) &&
                 near(bias, net.bias.grad());
    if (!rank.is_main()) return;
    std::printf("a rank has %d of %d hidden units, %s of %s\n",
                static_cast<int>(units),
                static_cast<int>(kHidden),
                format_nbytes(nbytes(part)).c_str(),
                format_nbytes(nbytes(net)).c_str());
  });
  std::printf("output as on one device: %s, gradients: %s\n",
              outputs ? "yes" : "no",
              gradients ? "yes" : "no");
}
