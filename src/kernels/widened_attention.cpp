// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/widened_attention.hpp"

#include <optional>

#include "kernels/widened_view.hpp"

namespace tandem::kernels {
namespace {

/// What attention reads, in f32.
class WideOperands {
 public:
  WideOperands(const HostStream& s, const Attention& a)
      : q_(s, a.q), k_(s, a.k), v_(s, a.v), form_(a) {
    form_.q = q_.view(), form_.k = k_.view(), form_.v = v_.view();
    if (a.mask.data == nullptr || a.mask.dtype == DType::boolean) return;
    form_.mask = mask_.emplace(s, a.mask).view();
  }
  const Attention& form() const noexcept { return form_; }

 private:
  WidenedView q_, k_, v_;
  std::optional<WidenedView> mask_ = {};
  Attention form_;
};

}  // namespace

void widened_attention(const HostStream& s, const Attention& a, const View& out, const View& lse) {
  const WideOperands in(s, a);
  const WideResult wide(s, out);
  attention(s, in.form(), wide.view(), lse);
  copy(s, wide.view(), out);
}

void widened_attention_grad(const HostStream& s,
                            const Attention& a,
                            const View& out,
                            const View& lse,
                            const View& dout,
                            const AttentionGrads& grads) {
  const WideOperands in(s, a);
  const WidenedView wide_out(s, out), wide_dout(s, dout);
  const WideResult dq(s, grads.dq), dk(s, grads.dk), dv(s, grads.dv);
  attention_grad(
      s, in.form(), wide_out.view(), lse, wide_dout.view(), {dq.view(), dk.view(), dv.view()});
  copy(s, dq.view(), grads.dq);
  copy(s, dk.view(), grads.dk);
  copy(s, dv.view(), grads.dv);
}

}  // namespace tandem::kernels
