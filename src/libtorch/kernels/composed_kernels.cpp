// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/composed_kernels.hpp"

#include <array>
#include <tuple>

#include <ATen/ATen.h>

#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/kernels/kernel_scope.hpp"

namespace tandem::libtorch {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;
using MaybeTensor = std::optional<at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor convolution(const at::Tensor& x,
                       const at::Tensor& weight,
                       const MaybeTensor& bias,
                       SymIntArrayRef stride,
                       SymIntArrayRef padding,
                       SymIntArrayRef dilation,
                       bool transposed,
                       SymIntArrayRef output_padding,
                       SymInt groups) {
  HostViews views;
  const at::Tensor in = views.to_host(x), w = views.to_host(weight);
  const MaybeTensor b = bias && bias->defined() ? MaybeTensor(views.to_host(*bias)) : std::nullopt;
  const HostKernelScope kernel("convolution", views.device()->index());
  return views.to_device(at::convolution_symint(
      in, w, b, stride, padding, dilation, transposed, output_padding, std::move(groups)));
}

Three convolution_backward(const at::Tensor& dy,
                           const at::Tensor& x,
                           const at::Tensor& weight,
                           SymIntArrayRef stride,
                           SymIntArrayRef padding,
                           SymIntArrayRef dilation,
                           bool transposed,
                           SymIntArrayRef output_padding,
                           SymInt groups,
                           std::array<bool, 3> wanted) {
  HostViews views;
  const at::Tensor g = views.to_host(dy), in = views.to_host(x), w = views.to_host(weight);
  const std::array bias_size{dy.sym_size(1)};
  const HostKernelScope kernel("convolution_backward", views.device()->index());
  const auto [dx, dw, db] = at::convolution_backward_symint(g,
                                                            in,
                                                            w,
                                                            SymIntArrayRef(bias_size),
                                                            stride,
                                                            padding,
                                                            dilation,
                                                            transposed,
                                                            output_padding,
                                                            std::move(groups),
                                                            wanted);
  return {views.to_device(dx), views.to_device(dw), views.to_device(db)};
}

/// The host's kernel draws from the host's generator; the device's bernoulli_ from its own.
/// @return  (output, mask)
std::tuple<at::Tensor, at::Tensor> dropout(const at::Tensor& x,
                                           double p,
                                           std::optional<bool> train) {
  if (train && !*train) return {x.clone(), at::ones_like(x, x.options().dtype(at::kBool))};
  const at::Tensor mask = at::empty_like(x, x.options().dtype(at::kBool)).bernoulli_(1 - p);
  return {(x * mask).mul_(p == 1 ? 0 : 1 / (1 - p)), mask};
}

bool is_there(const MaybeTensor& x) {
  return x && x->defined();
}

/// The four gates of an LSTM's cell, which lie side by side in one tensor.
struct Gates {
  at::Tensor in, forget, cell, out;

  explicit Gates(const at::Tensor& all) {
    const std::vector<at::Tensor> parts = all.chunk(4, 1);
    in = parts[0], forget = parts[1], cell = parts[2], out = parts[3];
  }
};

/// @return  (hidden state, cell state, gates after their activations), the last for backward.
Three lstm_cell(const at::Tensor& input_gates,
                const at::Tensor& hidden_gates,
                const at::Tensor& cell,
                const MaybeTensor& input_bias,
                const MaybeTensor& hidden_bias) {
  at::Tensor sum = input_gates + hidden_gates;
  if (is_there(input_bias)) sum = sum + *input_bias;
  if (is_there(hidden_bias)) sum = sum + *hidden_bias;
  Gates gates(sum);
  gates.in = gates.in.sigmoid();
  gates.forget = gates.forget.sigmoid();
  gates.cell = gates.cell.tanh();
  gates.out = gates.out.sigmoid();
  const at::Tensor next = gates.forget * cell + gates.in * gates.cell;
  return {
      gates.out * next.tanh(), next, at::cat({gates.in, gates.forget, gates.cell, gates.out}, 1)};
}

/// @param workspace  the gates of lstm_cell. @return  gradients of gates, cell state, bias.
Three lstm_cell_backward(const MaybeTensor& d_hidden,
                         const MaybeTensor& d_next,
                         const at::Tensor& cell,
                         const at::Tensor& next,
                         const at::Tensor& workspace,
                         bool has_bias) {
  const Gates gates(workspace);
  const at::Tensor t = next.tanh();
  const at::Tensor dh = is_there(d_hidden) ? *d_hidden : at::zeros_like(next);
  at::Tensor dc = dh * gates.out * (1 - t * t);
  if (is_there(d_next)) dc = dc + *d_next;
  const at::Tensor d_gates = at::cat({dc * gates.cell * gates.in * (1 - gates.in),
                                      dc * cell * gates.forget * (1 - gates.forget),
                                      dc * gates.in * (1 - gates.cell * gates.cell),
                                      dh * t * gates.out * (1 - gates.out)},
                                     1);
  return {d_gates, dc * gates.forget, has_bias ? d_gates.sum(0) : at::Tensor()};
}

/// @return  (hidden state, workspace for backward). The gates are reset, update and new.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                            const at::Tensor& hidden_gates,
                                            const at::Tensor& hidden,
                                            const MaybeTensor& input_bias,
                                            const MaybeTensor& hidden_bias) {
  const auto gates_of = [](const at::Tensor& gates, const MaybeTensor& bias) {
    return (is_there(bias) ? gates + *bias : gates).chunk(3, 1);
  };
  const auto in = gates_of(input_gates, input_bias), state = gates_of(hidden_gates, hidden_bias);
  const at::Tensor reset = (in[0] + state[0]).sigmoid(), update = (in[1] + state[1]).sigmoid();
  const at::Tensor fresh = (in[2] + reset * state[2]).tanh();
  return {fresh + update * (hidden - fresh), at::cat({reset, update, fresh, hidden, state[2]}, 1)};
}

using Five = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
/// @return  gradients of the input's gates, the hidden state's, the hidden state, both biases.
Five gru_cell_backward(const at::Tensor& d_next, const at::Tensor& workspace, bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const at::Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hidden = parts[3],
                   &state = parts[4];
  const at::Tensor d_fresh = d_next * (1 - update) * (1 - fresh * fresh);
  const at::Tensor d_update = d_next * (hidden - fresh) * update * (1 - update);
  const at::Tensor d_reset = d_fresh * state * reset * (1 - reset);
  const at::Tensor d_in = at::cat({d_reset, d_update, d_fresh}, 1);
  const at::Tensor d_state = at::cat({d_reset, d_update, d_fresh * reset}, 1);
  return {d_in,
          d_state,
          d_next * update,
          has_bias ? d_in.sum(0) : at::Tensor(),
          has_bias ? d_state.sum(0) : at::Tensor()};
}

}  // namespace

void register_composed_kernels() {
  torch::Library& library = kernel_library("aten");
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
  library.impl("native_dropout", dropout);
  library.impl("_thnn_fused_lstm_cell", lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  library.impl("_thnn_fused_gru_cell", gru_cell);
  library.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace tandem::libtorch
