// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "cuda/gpus.hpp"
#include "parallel/nets.hpp"

namespace tandem::cuda::test {

using parallel::test::NormMlp;

/// A model on the first of some devices, trained on all of them, and the same on the host: the
/// oracle. Each step is on the same rows.
class Training {
 public:
  explicit Training(const std::vector<Device>& devices, parallel::DataParallelOptions options = {})
      : devices_(devices) {
    manual_seed(3);
    host_ = std::make_unique<NormMlp>();
    host_optimizer_ = make_optimizer(*host_);
    set_default_device(devices.front());
    net_ = std::make_unique<NormMlp>();
    net_->load_state_dict(host_->state_dict());
    optimizer_ = make_optimizer(*net_);
    options.devices = devices;
    dp_ = std::make_unique<parallel::DataParallel<NormMlp>>(*net_, options);
    set_default_device(Device{});
    batch_ = parallel::test::make_batch(6, 1, DType::f64, false);
  }

  void step() { dp_->step(batch_, parallel::test::kLoss, optimizer_.get()); }
  void step_on_host() {
    host_optimizer_->zero_grad();
    cross_entropy((*host_)(batch_.x), batch_.labels).backward();
    host_optimizer_->step();
  }
  void step_on_both() {
    step();
    step_on_host();
  }
  /// It says that its update failed after the replicas had agreed to it, and does nothing more.
  bool is_half_way() {
    try {
      dp_->step(batch_, [](NormMlp&, const parallel::test::Batch&) -> WeightedSum { throw 1; });
    } catch (const InvalidArgument& e) {
      return std::string_view(e.what()).find("had agreed to it") != std::string_view::npos;
    } catch (const parallel::ReplicaError&) {
    }
    return false;
  }
  parallel::test::Values values() { return parallel::test::values_of(*net_); }
  /// How far the model is from the oracle's.
  double gap() { return parallel::test::difference(values(), parallel::test::values_of(*host_)); }
  /// Bytes in use by device.
  std::vector<std::size_t> in_use() const {
    std::vector<std::size_t> bytes;
    for (const Device d : devices_)
      bytes.push_back(logical_device(d).memory_stats().in_use);
    return bytes;
  }
  const parallel::test::Batch& batch() const { return batch_; }
  void set_batch(const parallel::test::Batch& batch) { batch_ = batch; }

 private:
  static std::unique_ptr<optim::SGD> make_optimizer(nn::Module& net) {
    return std::make_unique<optim::SGD>(net.named_parameters(),
                                        optim::SGDOptions{.lr = 0.01, .momentum = 0.9});
  }

  std::vector<Device> devices_;
  std::unique_ptr<NormMlp> host_, net_;
  std::unique_ptr<optim::SGD> host_optimizer_, optimizer_;
  std::unique_ptr<parallel::DataParallel<NormMlp>> dp_;
  parallel::test::Batch batch_;
};

}  // namespace tandem::cuda::test
