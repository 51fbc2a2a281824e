// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/autograd/function.h>

#include "tandem/runtime/context.hpp"

#include "libtorch/exchange/replica_graph.hpp"

namespace tandem::libtorch {

class TorchSource;

/// Whether a node waits for those of the other replicas in its backward.
enum class Meets : std::uint8_t { no, yes };

/// A node of PyTorch's graph whose backward runs in the context of its forward in a replica, and
/// may meet those of the other replicas there.
class ReplicaNode : public torch::autograd::Node, public MeetingNode {
 public:
  std::string name() const override { return std::string(name_) + "Backward"; }
  bool meets() const noexcept override;

 protected:
  /// To be called in a replica's job, whose context is kept.
  ///
  /// @param name  for PyTorch's messages; a literal.
  ReplicaNode(const char* name, Meets meets, std::shared_ptr<TorchSource> source);

  /// f(), for apply().
  ///
  /// @throws CommAborted      the backward has failed on another device, or this one's graph ended.
  /// @throws InvalidArgument  it meets others, but PyTorch runs all replicas on one thread.
  std::vector<at::Tensor> run(const std::function<std::vector<at::Tensor>()>& f) const;
  const char* op() const noexcept { return name_; }
  const std::shared_ptr<TorchSource>& source() const noexcept { return source_; }

 private:
  const char* name_;
  Meets meets_;
  std::shared_ptr<const Context> forward_;
  std::shared_ptr<TorchSource> source_;
};

}  // namespace tandem::libtorch
