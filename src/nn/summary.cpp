// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/summary.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace tandem::nn {
namespace {

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

struct Totals {
  std::int64_t parameters = 0;
  std::int64_t trained = 0;
  std::size_t nbytes = 0;
  std::size_t buffer_nbytes = 0;
};

/// Adds what a module itself holds, without the modules below it.
class OwnTensors final : public MemberVisitor {
 public:
  OwnTensors(std::unordered_set<const TensorImpl*>& seen, Totals& totals)
      : seen_(seen), totals_(totals) {}

  void visit_module(std::string_view, Module&) override {}
  void visit_tensor(std::string_view name, Tensor& tensor, TensorKind kind) override {
    const bool is_new = seen_.insert(&tensor.impl()).second;
    if (kind == TensorKind::buffer) {
      if (is_new) totals_.buffer_nbytes += tensor.nbytes();
      return;
    }
    if (!shapes_.empty()) shapes_ += ", ";
    shapes_ += tandem::detail::concat(name, ' ', tensor.shape(), is_new ? "" : " tied");
    (tensor.requires_grad() ? some_trained_ : some_frozen_) = true;
    if (!is_new) return;
    count_ += tensor.numel();
    nbytes_ += tensor.nbytes();
    if (tensor.requires_grad()) totals_.trained += tensor.numel();
  }

  Row row(const NamedModule& module) {
    totals_.parameters += count_;
    totals_.nbytes += nbytes_;
    const char* trained = some_trained_ ? (some_frozen_ ? "partly" : "yes") : "no";
    if (shapes_.empty()) return {module.name, module.module->type_name(), "", "", "", ""};
    return {module.name,
            module.module->type_name(),
            shapes_,
            grouped(count_),
            format_nbytes(nbytes_),
            trained};
  }

 private:
  std::unordered_set<const TensorImpl*>& seen_;
  Totals& totals_;
  std::string shapes_;
  std::int64_t count_ = 0;
  std::size_t nbytes_ = 0;
  bool some_trained_ = false;
  bool some_frozen_ = false;
};

/// Text to the left, numbers (columns 3 and 4) to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < kColumns; ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      line += (c == 3 || c == 4) ? pad + row[c] : row[c] + pad;
      if (c + 1 < kColumns) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace

std::string summary(const Module& module) {
  std::unordered_set<const TensorImpl*> seen;
  Totals totals;
  std::vector<Row> rows{{"module", "type", "parameters", "count", "bytes", "trained"}};
  // The tree is walked by a function that can change it; this reader changes nothing.
  for (const NamedModule& entry : const_cast<Module&>(module).named_modules()) {
    OwnTensors own(seen, totals);
    entry.module->visit_members(own);
    Row row = own.row(entry);
    const bool root = entry.name.empty();
    if (root && row[2].empty()) continue;
    if (root) row[0] = "(itself)";
    rows.push_back(std::move(row));
  }
  return aligned(rows) + tandem::detail::concat(module.type_name(),
                                                ": ",
                                                grouped(totals.parameters),
                                                " parameters (",
                                                grouped(totals.trained),
                                                " trained), ",
                                                format_nbytes(totals.nbytes),
                                                "; buffers ",
                                                format_nbytes(totals.buffer_nbytes),
                                                '\n');
}

}  // namespace tandem::nn
