// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tensor/print.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace tandem {
namespace {

constexpr std::int64_t kEdge = 3;          // entries shown at each end of a long dimension
constexpr std::int64_t kSummarise = 1000;  // elements above which the middle is left out

std::string number(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  if (std::isnan(value)) return "nan";  // whatever its sign
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_float(dtype) ? "%.4g" : "%.0f", value);
  std::string s = text.data();
  if (is_float(dtype) && std::isfinite(value) && s.find_first_of(".e") == std::string::npos)
    s += '.';
  return s;
}

struct Printer {
  const Tensor& x;
  std::vector<double> values;
  bool summarise;
  std::size_t width = 0;

  void print(std::string& out, int dim, std::int64_t base) const {
    if (dim == x.ndim()) {
      const std::string text = number(values[static_cast<std::size_t>(base)], x.dtype());
      out.append(width - std::min(width, text.size()), ' ') += text;
      return;
    }
    const std::int64_t n = x.shape()[dim];
    std::int64_t step = 1;
    for (int d = dim + 1; d < x.ndim(); ++d)
      step *= x.shape()[d];
    out += '[';
    for (std::int64_t i = 0; i < n; ++i) {
      if (i > 0)
        out += dim + 1 == x.ndim() ? std::string(", ")
                                   : ",\n" + std::string(static_cast<std::size_t>(dim) + 1, ' ');
      if (summarise && n > 2 * kEdge && i == kEdge) {
        out += "...";
        i = n - kEdge - 1;
        continue;
      }
      print(out, dim + 1, base + i * step);
    }
    out += ']';
  }
};

}  // namespace

std::string printed(const Tensor& x) {
  if (!x.has_data()) x.buffer().check_data("to_string");
  Printer printer{x, x.to_doubles(), x.numel() > kSummarise};
  if (x.ndim() > 0) {
    for (const double v : printer.values)
      printer.width = std::max(printer.width, number(v, x.dtype()).size());
  }
  std::string out;
  printer.print(out, 0, 0);
  return out;
}

}  // namespace tandem
