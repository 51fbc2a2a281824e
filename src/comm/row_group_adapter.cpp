// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/row_group_adapter.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/copy.hpp"
#include "tensor/view_of.hpp"

namespace tandem::comm {

Tensor RowGroupAdapter::all_reduce_sum(const Tensor& x) {
  const Tensor y = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  dispatch_on_any(x.stream(),
                  make_work(Work::Kind::copy, "all_reduce_sum", {x}, {y}),
                  [&](auto& s) { kernels::copy(s, view_of(x), view_of(y)); });
  Collective sum = Collective::all_reduce(y, ReduceOp::sum);
  const Context& c = context();
  if (c.phase == Phase::backward && c.frame != nullptr && c.frame->call > 0)
    sum.purpose = tandem::detail::concat("call ", c.frame->call);
  comm_.start(std::move(sum)).wait();
  return y;
}

}  // namespace tandem::comm
