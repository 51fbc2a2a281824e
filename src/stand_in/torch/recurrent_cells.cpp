// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The cells of LSTM and GRU, which PyTorch fuses for GPUs and composes on the host. What forward
// keeps in its workspace is for backward alone: its order is this file's.

#include <ATen/ATen.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

using at::Tensor;
using Given = const std::optional<Tensor>&;

bool is_there(Given x) {
  return x.has_value() && x->defined();
}

/// d sigmoid, d tanh by their results.
Tensor sigmoid_slope(const Tensor& y) {
  return y * (1 - y);
}
Tensor tanh_slope(const Tensor& y) {
  return 1 - y * y;
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input_gates,
                                        const Tensor& hidden_gates,
                                        const Tensor& c,
                                        Given input_bias,
                                        Given hidden_bias) {
  Tensor gates = input_gates + hidden_gates;
  if (is_there(input_bias)) gates = gates + *input_bias + *hidden_bias;
  const auto part = gates.chunk(4, 1);
  const Tensor i = part[0].sigmoid(), f = part[1].sigmoid(), g = part[2].tanh(),
               o = part[3].sigmoid();
  const Tensor next = f * c + i * g;
  return {o * next.tanh(), next, at::cat({i, f, g, o}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_backward(Given of_h,
                                                 Given of_c,
                                                 const Tensor& c,
                                                 const Tensor& next,
                                                 const Tensor& workspace,
                                                 bool has_bias) {
  const auto part = workspace.chunk(4, 1);
  const Tensor &i = part[0], &f = part[1], &g = part[2], &o = part[3];
  const Tensor t = next.tanh();
  const Tensor dh = is_there(of_h) ? *of_h : at::zeros_like(next);
  Tensor dc = dh * o * tanh_slope(t);
  if (is_there(of_c)) dc = dc + *of_c;
  const Tensor gates = at::cat({dc * g * sigmoid_slope(i),
                                dc * c * sigmoid_slope(f),
                                dc * i * tanh_slope(g),
                                dh * t * sigmoid_slope(o)},
                               1);
  return {gates, dc * f, has_bias ? gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru(const Tensor& input_gates,
                               const Tensor& hidden_gates,
                               const Tensor& h,
                               Given input_bias,
                               Given hidden_bias) {
  const bool has_bias = is_there(input_bias);
  const auto in = (has_bias ? input_gates + *input_bias : input_gates).chunk(3, 1);
  const auto hidden = (has_bias ? hidden_gates + *hidden_bias : hidden_gates).chunk(3, 1);
  const Tensor r = (in[0] + hidden[0]).sigmoid(), z = (in[1] + hidden[1]).sigmoid();
  const Tensor n = (in[2] + r * hidden[2]).tanh();
  return {n + z * (h - n), at::cat({r, z, n, h, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_backward(const Tensor& dh,
                                                                const Tensor& workspace,
                                                                bool has_bias) {
  const auto part = workspace.chunk(5, 1);
  const Tensor &r = part[0], &z = part[1], &n = part[2], &h = part[3], &hidden_n = part[4];
  const Tensor dz = dh * (h - n) * sigmoid_slope(z);
  const Tensor dn = dh * (1 - z) * tanh_slope(n);
  const Tensor dr = dn * hidden_n * sigmoid_slope(r);
  const Tensor input_gates = at::cat({dr, dz, dn}, 1), hidden_gates = at::cat({dr, dz, dn * r}, 1);
  return {input_gates,
          hidden_gates,
          dh * z,
          has_bias ? input_gates.sum(0) : Tensor(),
          has_bias ? hidden_gates.sum(0) : Tensor()};
}

}  // namespace

void register_recurrent_cells(torch::Library& host) {
  host.impl("_thnn_fused_lstm_cell", lstm);
  host.impl("_thnn_fused_lstm_cell_backward_impl", lstm_backward);
  host.impl("_thnn_fused_gru_cell", gru);
  host.impl("_thnn_fused_gru_cell_backward", gru_backward);
}

}  // namespace tandem::stand_in
