// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "autograd/outside_tensors.hpp"

namespace tandem::parallel {

/// The tensors outside of the module at which the replicas' tapes ended, by device; null for a
/// device that has not run.
using OutsideByDevice = std::vector<std::shared_ptr<autograd::OutsideTensors>>;

/// A tensor from outside, with the leaves that stand for it.
struct OutsideTensor {
  Tensor outside;
  std::vector<Tensor> leaves;  ///< by device; undefined if the device did not use it
};

/// All outside tensors, ordered by device and then as that device found them, without repeats.
std::vector<OutsideTensor> outside_tensors(const OutsideByDevice& devices);

/// Multiplies one device's gradients of outside tensors. @param own  its tensors; null: none
void scale_outside(const std::shared_ptr<autograd::OutsideTensors>& own, double factor);

/// Goes backward from the outside tensors, with the sums of the devices' gradients times `factor`.
void pass_outside(const OutsideByDevice& devices, double factor);

}  // namespace tandem::parallel
