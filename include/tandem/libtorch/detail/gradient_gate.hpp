// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace tandem::libtorch {

/// The outputs of one replica, behind one node of PyTorch's graph, so that all gradients enter the
/// replica at the same time.
///
/// The engine runs the nodes of a device on one thread, the latest node first among those that have
/// their gradients. If the gradients of two outputs arrived one after the other, the order of
/// nodes would depend on time, and two replicas whose layers wait for each other (a synchronised
/// batch norm) could wait in different layers for ever. Behind the node all replicas have one
/// order, in which gradients are also summed: the same bits in every run.
///
/// To be called on the thread that ran the replica's forward, as its last op. An undefined gradient
/// stays undefined, and double backward goes through a node of the same kind.
///
/// Two backward passes at the same time over replicas that wait for each other are the caller's to
/// exclude: no node can order them.
/// @param outputs  tensors of any shape; undefined ones, and those that do not require grad, come
///                 back as they are.
/// @return  tensors that share the outputs' memory and version counters.
/// @cost    a node; no copy.
std::vector<at::Tensor> leave_replica(std::vector<at::Tensor> outputs);

/// The inputs of one replica, behind one node: the way into the replica for double backward, whose
/// gradients start at the gradients of the inputs. The rest is as in leave_replica.
///
/// To be called on the replica's thread before its first op. In a first backward the gradients of
/// the inputs leave the replica together.
std::vector<at::Tensor> enter_replica(std::vector<at::Tensor> inputs);

/// Tensors of several devices on other devices, behind one node: its backward moves all gradients
/// at the same time. It belongs between a replica's gate and what joins or splits tensors.
///
/// With a node for each tensor, the thread of a device could enter its replica, and wait there for
/// the others, before it has moved their gradients to them.
/// @param devices  by tensor. A tensor that is there already shares its memory with the result.
std::vector<at::Tensor> move_together(std::vector<at::Tensor> tensors,
                                      const std::vector<c10::Device>& devices);

}  // namespace tandem::libtorch
