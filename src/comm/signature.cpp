// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/signature.hpp"

#include <algorithm>
#include <string_view>

#include "tandem/core/check.hpp"

#include "comm/algorithms/list.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;

/// Neither the input nor the output need have the same size on all ranks.
bool may_differ_in_size(Kind kind) noexcept {
  return kind == Kind::all_to_all || kind == Kind::gather || kind == Kind::scatter;
}

std::array<char, Signature::kPurpose> end_of(std::string_view text) {
  std::array<char, Signature::kPurpose> end{};
  if (text.size() > end.size()) text.remove_prefix(text.size() - end.size());
  std::ranges::copy(text, end.begin());
  return end;
}

std::string_view text_of(const Signature& s) {
  const auto end = std::ranges::find(s.purpose, '\0');
  return {s.purpose.data(), static_cast<std::size_t>(end - s.purpose.begin())};
}

std::string title_of(const Signature& s) {
  const std::string_view purpose = text_of(s);
  return purpose.empty() ? name(s.kind) : detail::concat(name(s.kind), " of ", purpose);
}

int index_of(const Algorithm* algorithm) {
  if (algorithm == nullptr || algorithm == &direct()) return Signature::kDirect;
  const auto all = algorithms();
  const auto found = std::ranges::find(all, algorithm);
  TANDEM_CHECK(found != all.end(),
               "collective: its algorithm '",
               algorithm->name(),
               "' is not one of algorithms(); take one from algorithm(name)");
  return static_cast<int>(found - all.begin());
}

const char* algorithm_name(const Signature& s) noexcept {
  const Algorithm* algorithm = algorithm_of(s);
  return algorithm == nullptr ? "direct" : algorithm->name();
}

}  // namespace

const Algorithm* algorithm_of(const Signature& s) noexcept {
  return s.algorithm == Signature::kDirect ? nullptr
                                           : algorithms()[static_cast<std::size_t>(s.algorithm)];
}

Signature signature_of(const Collective& c) {
  const Tensor& x = c.input.defined() ? c.input : c.output;
  Signature s{.kind = c.kind,
              .op = c.reduction.op,
              .root = c.root,
              .algorithm = index_of(c.algorithm),
              .purpose = end_of(c.purpose)};
  if (!x.defined()) return s;
  s.dtype = x.dtype();
  if (c.kind == Kind::all_gather)
    s.count = c.output.numel();
  else if (!may_differ_in_size(c.kind))
    s.count = x.numel();
  return s;
}

std::vector<Signature> signatures_of(std::span<const Collective> collectives) {
  std::vector<Signature> signatures;
  signatures.reserve(collectives.size());
  for (const Collective& c : collectives)
    signatures.push_back(signature_of(c));
  return signatures;
}

std::string difference(const Signature& a,
                       const std::string& rank_a,
                       const Signature& b,
                       const std::string& rank_b) {
  const auto differ = [&](const char* field, const auto& x, const auto& y) {
    return detail::concat(field, " differs: ", rank_a, " has ", x, ", ", rank_b, " has ", y);
  };
  if (a.kind != b.kind) return differ("operation", title_of(a), title_of(b));
  const auto purpose = [](const Signature& s) { return text_of(s).empty() ? "none" : text_of(s); };
  if (a.purpose != b.purpose) return differ("purpose", purpose(a), purpose(b));
  if (a.dtype != b.dtype) return differ("dtype", a.dtype, b.dtype);
  if (a.count != b.count) return differ("count", a.count, b.count);
  if (a.op != b.op) return differ("reduction", name(a.op), name(b.op));
  if (a.root != b.root) return differ("root", a.root, b.root);
  if (a.algorithm != b.algorithm) return differ("algorithm", algorithm_name(a), algorithm_name(b));
  return "";
}

std::string difference(std::span<const Signature> a,
                       const std::string& rank_a,
                       std::span<const Signature> b,
                       const std::string& rank_b) {
  if (a.size() != b.size()) {
    return detail::concat("number of coalesced collectives differs: ",
                          rank_a,
                          " has ",
                          a.size(),
                          ", ",
                          rank_b,
                          " has ",
                          b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string text = difference(a[i], rank_a, b[i], rank_b);
    if (text.empty()) continue;
    return a.size() == 1 ? text : detail::concat("in coalesced collective ", i + 1, ", ", text);
  }
  return "";
}

}  // namespace tandem::comm
