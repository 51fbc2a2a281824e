// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>

#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/element.hpp"
#include "kernels/gelu.inl"
#include "kernels/linear_gelu.hpp"
#include "kernels/unary.hpp"

namespace tandem::kernels {
namespace {

/// One column: its gradients are written where they are asked for, once, and added up.
template <class T, class Grad>
struct GradColumn {
  using Total = double;
  Grad grad;
  std::int64_t columns;
  const T* dy;
  const T* pre;
  T* dpre;
  T* dbias;

  struct Run {
    const GradColumn& of;
    std::int64_t column;
    compute_t<T> sum;
    struct Value {
      T dy, pre;
      std::int64_t at;
    };
    TANDEM_HD Value load(std::int64_t row) const {
      const std::int64_t i = row * of.columns + column;
      return {of.dy[i], of.pre[i], i};
    }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& value : values) {
        const auto g = of.grad(kernels::load(value.dy), kernels::load(value.pre));
        of.dpre[value.at] = kernels::store<T>(g);
        sum += g;
      }
    }
    TANDEM_HD Total total() const { return static_cast<Total>(sum); }
  };
  TANDEM_HD Run run(std::int64_t column) const { return {*this, column, compute_t<T>(0)}; }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t column, Total total) const {
    dbias[column] = tandem::kernels::store<T>(static_cast<compute_t<T>>(total));
  }
};

template <class T, class Grad>
void run_grad_bias(const CudaStream& s,
                   Grad grad,
                   const View& dy,
                   const View& pre,
                   const View& dpre,
                   const View& dbias) {
  const std::int64_t columns = pre.shape[1];
  reduce_each(
      s,
      columns,
      pre.shape[0],
      Walk::across,
      GradColumn<T, Grad>{grad, columns, dy.as<T>(), pre.as<T>(), dpre.as<T>(), dbias.as<T>()});
}

/// The product with bias and the tanh form in its epilogue. @return  false, with nothing done,
/// where there is none.
bool in_one_kernel(const CudaStream& s,
                   const View& x,
                   const View& weight,
                   const View& bias,
                   const View& pre,
                   const View& y) {
  const GemmSize size{pre.shape[0], pre.shape[1], x.shape[1]};
  if (size.k == 0) return false;
  return with_any_float(pre.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, double>) {
      return false;
    } else {
      const Operand<T> a{x.as<T>(), layout_of(x)}, b{weight.as<T>(), layout_of(weight)};
      return gemm_gelu<T>(s, size, a, b, bias.as<T>(), pre.as<T>(), y.as<T>());
    }
  });
}

}  // namespace

void linear_gelu(const CudaStream& s,
                 GeluForm form,
                 const View& x,
                 const View& weight,
                 const View& bias,
                 const View& pre,
                 const View& y) {
  const bool exact = form == GeluForm::exact;
  if (pre.numel() == 0 || (!exact && in_one_kernel(s, x, weight, bias, pre, y))) return;
  matmul(s, x, weight, bias, pre);
  unary(s, exact ? Unary::gelu : Unary::gelu_tanh, pre, y);
}

void gelu_grad_bias(const CudaStream& s,
                    GeluForm form,
                    const View& dy,
                    const View& pre,
                    const View& dpre,
                    const View& dbias) {
  with_any_float(dpre.dtype, [&]<class T>() {
    if (form == GeluForm::exact)
      run_grad_bias<T>(s, GeluGrad{}, dy, pre, dpre, dbias);
    else
      run_grad_bias<T>(s, GeluTanhGrad{}, dy, pre, dpre, dbias);
  });
}

}  // namespace tandem::kernels
