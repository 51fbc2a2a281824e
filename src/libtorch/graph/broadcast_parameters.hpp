// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "tandem/libtorch/module_options.hpp"

#include "libtorch/versions/torch_differences.hpp"

namespace torch::autograd {
struct Node;
}

namespace tandem::libtorch {

/// Makes the parameters of replicas functions of the user's parameters in PyTorch's graph, so that
/// one backward over all devices gives the user's parameters their gradients.
///
/// The replicas' tensors stay where they are, inside modules, and their values are the caller's.
/// Attached, they are the outputs of one node a bucket, the broadcast. Its backward is the
/// reduction: the sum of each parameter's gradients over the devices. The node fires as soon as the
/// gradients of its bucket are there, as PyTorch's accumulation of gradients does, while the
/// replicas go on with the backward of earlier layers.
///
/// A node lives until a parameter of its bucket begins or ends to require grad, or gets another
/// place (module->to()). So the graphs of several calls have the same nodes, as graphs of one
/// device share the parameters, and backward goes through any of them in any order: with
/// retain_graph, with create_graph, or through several at the same time.
///
/// Values: a graph has saved the replicas' tensors themselves. After each write that changes
/// values the caller counts it in the tensors' version (bump_version), so that the backward of an
/// earlier graph is PyTorch's error ("modified by an inplace operation"), as on one device. Without
/// it the gradients would be silently wrong. A write of equal values must not be counted: it would
/// forbid two calls before the first backward. The memory of the user's parameters may be that of a
/// replica's.
///
/// A parameter that no replica has used gets no gradient, or zeros if others of its bucket get one
/// (UnusedGradients). PyTorch calls a hook on it nevertheless,
/// with an undefined tensor, if others of its bucket have been used.
///
/// Double backward enters a replica once a bucket (and once for its inputs, see enter_replica). So
/// replicas whose layers wait for each other need all parameters in one bucket for it, and either
/// the gradients of parameters or those of inputs in the penalty: otherwise they may wait for ever.
///
/// Not thread-safe: no forward, backward, or other call of the replicas may run during a call
/// here. Backward itself does not need the object any more.
class BroadcastParameters {
 public:
  /// gradients[d][i]: of the i-th parameter of the bucket on device d, on that device.
  using Gradients = std::vector<std::vector<at::Tensor>>;
  /// Sums the gradients of a bucket over the devices. Called by a thread of PyTorch's engine, that
  /// of the bucket's first device, with grad mode off.
  ///
  /// A gradient is undefined where a replica has not used the parameter, or where nobody asked for
  /// its gradient. They may share memory with tensors of the user's: never write into them. For the
  /// same bits in each run the sum goes in a fixed order.
  ///
  /// It may wait for other threads if none of them waits for the engine.
  /// @return  [i]: the sum, on the device and with the shape of the user's parameter. What is
  ///          returned where all gradients are undefined is dropped.
  using Reduce = std::function<std::vector<at::Tensor>(std::size_t bucket, Gradients gradients)>;

  /// @param parameters  [k]: the user's, each tensor once, of any shape and dtype, on any device.
  /// @param replicas    [d][k]: device d's tensors: neither views, nor made in inference mode (make
  ///                    them under c10::InferenceMode guard(false)), nor one of `parameters`. No
  ///                    other copies of these tensor handles should be made from now on, see
  ///                    attach.
  /// @param buckets     of indices k, each of them once, in the order in which backward makes the
  ///                    gradients.
  /// @param reduce      if empty, PyTorch's ops: copies to the parameter's device and sums in the
  ///                    order of the devices. Those are also used for backward with create_graph.
  /// @throws InvalidArgument  sizes, shapes or dtypes differ, or a tensor or an index occurs twice
  ///                          or is missing.
  BroadcastParameters(std::vector<at::Tensor> parameters,
                      std::vector<std::vector<at::Tensor>> replicas,
                      std::vector<std::vector<std::size_t>> buckets,
                      Reduce reduce = {},
                      UnusedGradients unused = UnusedGradients::none);

  /// To be called before each forward of the replicas, in every mode of grad and inference: the
  /// replicas' tensors require grad as the user's parameters do, and lead to them.
  ///
  /// Without grad they stay attached, since nothing is recorded then, and since graphs of earlier
  /// calls need their places. A tensor whose parameter is frozen becomes a leaf that does not
  /// require grad, once no graph has it saved: until then it still requires grad, which costs the
  /// computation of a gradient that nobody gets. Saved tensors are found by the number of handles,
  /// compared with that of the first call.
  /// @cost  a comparison for each tensor; nodes only if something has changed.
  void attach();
  /// For another way of training: the replicas' tensors are leaves again, which require grad as the
  /// user's parameters do. The next attach ends that.
  ///
  /// A graph of an earlier call that has saved them cannot go backward any more: PyTorch's error
  /// "saved tensor that has been detached in-place".
  void detach();

 private:
  struct Bucket {
    std::vector<std::size_t> members;
    NodePointer node;  // null if none of them requires grad
  };
  struct Replica {
    std::vector<at::Tensor> tensors;
    std::vector<std::size_t> handles;  // the fewest of each tensor when it was attached
  };

  void attach(std::size_t bucket);
  void release_frozen(const Bucket& bucket);

  std::vector<at::Tensor> parameters_;
  std::vector<Replica> replicas_;
  std::vector<Bucket> buckets_;
  std::shared_ptr<const Reduce> reduce_;
  UnusedGradients unused_;
};

}  // namespace tandem::libtorch
