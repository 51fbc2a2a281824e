// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/exchange.hpp"

#include <sstream>

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>

#include "tandem/core/check.hpp"
#include "tandem/tensor/dlpack.hpp"

namespace tandem::libtorch {
namespace {

/// "Float (2, 3) on cpu".
std::string describe(const at::Tensor& x) {
  std::ostringstream text;
  text << x.scalar_type() << ' ' << x.sizes() << " on " << x.device();
  return text.str();
}

[[noreturn]] void refuse(const at::Tensor& x, const char* why) {
  throw InvalidArgument(tandem::detail::concat("from_torch: ", describe(x), ' ', why));
}

}  // namespace

at::Tensor to_torch(const Tensor& x) {
  return at::fromDLPackVersioned(to_dlpack(x));
}

Tensor from_torch(const at::Tensor& x) {
  if (!x.defined()) throw InvalidArgument("from_torch: the tensor is undefined");
  if (!x.device().is_cpu()) refuse(x, "is not on the host; move it with .cpu()");
  if (x.layout() != at::kStrided) refuse(x, "is not dense; use .to_dense()");
  if (x.requires_grad())
    refuse(x, "requires grad, which tandem's tape does not know; use .detach()");
  if (x.is_conj() || x.is_neg())
    refuse(x, "is a conjugate or negative that is not computed; use .resolve_conj().resolve_neg()");
  return from_dlpack(at::toDLPackVersioned(x));
}

}  // namespace tandem::libtorch
