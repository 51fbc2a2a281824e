// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "autograd/outside_tensors.hpp"

namespace tandem::parallel {

/// What the replicas' tapes ended at outside of the module, by device; null where a device has not
/// run.
using OutsideByDevice = std::vector<std::shared_ptr<autograd::OutsideTensors>>;

/// A tensor from outside, with the leaves that stand for it.
struct OutsideTensor {
  Tensor outside;
  std::vector<Tensor> leaves;  ///< by device; undefined where it was not used
};

/// All of them, in the order in which the first device that uses one has found it.
std::vector<OutsideTensor> outside_tensors(const OutsideByDevice& devices);

/// Multiplies what one device has made of their gradients. @param own  its tensors; null: none
void scale_outside(const std::shared_ptr<autograd::OutsideTensors>& own, double factor);

/// Goes backward from them, by the sums of what the devices have made, times `factor`.
void pass_outside(const OutsideByDevice& devices, double factor);

}  // namespace tandem::parallel
