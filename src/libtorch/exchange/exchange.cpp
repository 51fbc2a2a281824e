// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/exchange.hpp"

#include <ATen/ATen.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/libtorch/nest.hpp"

#include "libtorch/kernels/host_views.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

[[noreturn]] void refuse(const at::Tensor& x, const char* why) {
  throw InvalidArgument(
      tandem::detail::concat("from_torch: ", parallel::LeafOps<at::Tensor>::describe(x), ' ', why));
}

}  // namespace

at::Tensor to_torch(const Tensor& x) {
  TANDEM_CHECK(!x.defined() || !x.buffer().lending().is_read_only(),
               "to_torch: ",
               x.describe(),
               " is lent by another library for reading only, and PyTorch would let its tensor be "
               "written to; hand over a clone()");
  return borrowed_by_torch(x);
}

at::Tensor to_torch(const Tensor& x, c10::Device on) {
  if (on.is_cuda()) return to_torch(x);  // it is there
  TANDEM_CHECK(on.is_cpu() || on.is_privateuseone(),
               "to_torch: ",
               x.describe(),
               " is in the host's memory, which device ",
               on.str(),
               " of PyTorch does not have; copy it with .to() instead");
  const at::Tensor host = to_torch(x);
  return on.is_cpu() ? host : moved_to_device(host, on);
}

Tensor from_torch(const at::Tensor& x) {
  if (x.defined() && x.is_cuda()) return from_torch(x, tandem_device(x.device()));
  const bool is_virtual = x.defined() && x.device().is_privateuseone();
  return from_torch(x, {DeviceType::cpu, is_virtual ? x.device().index() : 0});
}

Tensor from_torch(const at::Tensor& x, Device device) {
  if (!x.defined()) throw InvalidArgument("from_torch: the tensor is undefined");
  const bool is_virtual = x.device().is_privateuseone();
  if (!x.device().is_cpu() && !is_virtual && device.type == DeviceType::cpu)
    refuse(x, "is not on the host; move it with .cpu()");
  if (x.layout() != at::kStrided) refuse(x, "is not dense; use .to_dense()");
  if (x.requires_grad())
    refuse(x, "requires grad, which tandem's tape does not know; use .detach()");
  if (x.is_conj() || x.is_neg())
    refuse(x, "is a conjugate or negative that is not computed; use .resolve_conj().resolve_neg()");
  return borrowed_from_torch(is_virtual ? host_alias(x) : x, device);
}

}  // namespace tandem::libtorch
