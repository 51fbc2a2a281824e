// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/moving_average.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/shortened_list.hpp"
#include "kernels/optimizer.hpp"
#include "optim/is_count.hpp"

namespace tandem::optim {
namespace {

constexpr const char* kName = "ExponentialMovingAverage";

/// Elements [begin, end) of a block of an arena.
struct Span {
  std::shared_ptr<Arena> arena;
  int block;
  std::int64_t begin;
  std::int64_t end;

  bool is_followed_by(const Span& next) const {
    return arena == next.arena && block == next.block && end == next.begin;
  }
  Tensor flat() const { return as_strided(arena->params(block), {end - begin}, {1}, begin); }
};

Span span_of(const Tensor& x, const std::string& name) {
  const auto arena = Arena::of(x);
  TANDEM_CHECK(
      arena != nullptr,
      kName,
      ": '",
      name,
      "' has left its arena (was it moved to another device or dtype?); create the averages again");
  const ArenaPlace& at = arena->layout().places()[*arena->place_of(x)];
  return {arena, at.block, at.offset, at.offset + at.extent};
}

/// With the strides of a parameter that lies in an arena, since runs of both are flat.
Tensor copy_as_it_lies(const Tensor& x) {
  const Tensor flat = empty({x.numel()}, {.dtype = x.dtype(), .device = x.device()});
  return as_strided(flat, x.shape(), x.strides(), 0).copy_(x.detach());
}

void check_alike(const Tensor& param, const NamedParameter& average) {
  TANDEM_CHECK(param.device() == average.tensor.device() &&
                   param.dtype() == average.tensor.dtype() &&
                   param.strides() == average.tensor.strides(),
               kName,
               ": '",
               average.name,
               "' is ",
               param.describe(),
               " now, and its average is ",
               average.tensor.describe(),
               "; create the averages again, after the module was moved, converted or wrapped");
}

/// Parameters and averages that stand next to each other in both arenas, flat.
std::vector<std::pair<Tensor, Tensor>> runs_of(const std::vector<Tensor>& params,
                                               const std::vector<NamedParameter>& averages) {
  std::vector<std::pair<Span, Span>> spans;
  for (std::size_t i = 0; i < params.size(); ++i) {
    Span param = span_of(params[i], averages[i].name);
    Span average = span_of(averages[i].tensor, averages[i].name);
    check_alike(params[i], averages[i]);
    // A wrapper may have laid the parameter out anew, with other padding behind it.
    const std::int64_t common = std::min(param.end - param.begin, average.end - average.begin);
    param.end = param.begin + common;
    average.end = average.begin + common;
    if (!spans.empty() && spans.back().first.is_followed_by(param) &&
        spans.back().second.is_followed_by(average)) {
      spans.back().first.end = param.end;
      spans.back().second.end = average.end;
    } else {
      spans.emplace_back(param, average);
    }
  }
  std::vector<std::pair<Tensor, Tensor>> runs;
  for (const auto& [param, average] : spans)
    runs.emplace_back(param.flat(), average.flat());
  return runs;
}

/// The parameters, each once, named.
std::vector<NamedParameter> distinct(const ParamList& params) {
  std::vector<NamedParameter> list;
  std::unordered_set<const TensorImpl*> seen;
  std::unordered_set<std::string> names;
  for (NamedParameter p : params.items()) {
    if (p.name.empty()) p.name = std::to_string(names.size());
    TANDEM_CHECK(p.tensor.defined(), kName, ": parameter '", p.name, "' is an undefined tensor");
    if (!seen.insert(&p.tensor.impl()).second) continue;
    TANDEM_CHECK(names.insert(p.name).second,
                 kName,
                 ": two parameters are called '",
                 p.name,
                 "'; give each module a prefix of its own, as in "
                 "net.head.named_parameters(\"head\")");
    list.push_back(std::move(p));
  }
  TANDEM_CHECK(!list.empty(), kName, ": got no parameters; give at least one");
  return list;
}

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(const ParamList& params,
                                                   MovingAverageOptions options)
    : options_(options) {
  TANDEM_CHECK(options.decay >= 0 && options.decay <= 1,
               kName,
               ": decay is ",
               options.decay,
               "; it must be in [0, 1]");
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.category = Category::optimizer; });
  std::vector<ArenaEntry> loose, entries;
  const std::vector<NamedParameter> list = distinct(params);
  for (const auto& [name, tensor] : list)
    if (Arena::of(tensor) == nullptr) loose.push_back({name, tensor});
  if (!loose.empty()) Arena::bind(loose);
  for (const auto& [name, tensor] : list) {
    params_.push_back(tensor);
    averages_.push_back({name, copy_as_it_lies(tensor)});
    entries.push_back({name, averages_.back().tensor});
  }
  Arena::bind(entries, {.category = Category::optimizer});
}

void ExponentialMovingAverage::check_in_place(const char* what) const {
  TANDEM_CHECK(!swapped_,
               kName,
               ": ",
               what,
               " was called while the averages are swapped in; call swap() first to put the "
               "parameters back");
}

void ExponentialMovingAverage::update() {
  check_in_place("update");
  const double share = updates_ == 0 ? 1 : 1 - options_.decay;
  for (const auto& [param, average] : runs_of(params_, averages_)) {
    const Work work = make_work(Work::Kind::optimizer,
                                "moving_average",
                                {param, average},
                                {average},
                                3.0 * static_cast<double>(param.numel()));
    dispatch_on_any(param.stream(), work, [&, &param = param, &average = average](auto& s) {
      kernels::average(s, param.dtype(), param.numel(), share, param.data(), average.data());
    });
  }
  ++updates_;
}

void ExponentialMovingAverage::swap() {
  for (const auto& [param, average] : runs_of(params_, averages_)) {
    const Work work = make_work(Work::Kind::optimizer, "swap", {param, average}, {param, average});
    dispatch_on_any(param.stream(), work, [&, &param = param, &average = average](auto& s) {
      kernels::swap(s, param.dtype(), param.numel(), param.data(), average.data());
    });
  }
  swapped_ = !swapped_;
}

OptimizerState ExponentialMovingAverage::state_dict() const {
  check_in_place("state_dict");
  OptimizerState state;
  for (const auto& [name, tensor] : averages_)
    state.tensors[name] = tensor.detach();
  state.numbers["updates"] = static_cast<double>(updates_);
  return state;
}

void ExponentialMovingAverage::load_state_dict(const OptimizerState& state) {
  check_in_place("load_state_dict");
  const auto updates = state.numbers.find("updates");
  std::vector<std::string> problems;
  if (updates == state.numbers.end() || !is_count(updates->second))
    problems.push_back("has no count of 'updates'");
  for (const auto& [name, tensor] : averages_) {
    const auto found = state.tensors.find(name);
    if (found == state.tensors.end())
      problems.push_back("has no '" + name + "'");
    else if (found->second.shape() != tensor.shape() || found->second.dtype() != tensor.dtype())
      problems.push_back("'" + name + "' is " + found->second.describe() + ", expected " +
                         tensor.describe());
  }
  if (state.tensors.size() > averages_.size())
    problems.push_back("has averages of parameters that this model lacks");
  TANDEM_CHECK(problems.empty(),
               kName,
               ": the state belongs to another model:\n  ",
               shortened_list(problems, "\n  "));
  const autograd::NoGrad off;
  for (const NamedParameter& average : averages_)
    Tensor(average.tensor).copy_(state.tensors.at(average.name));
  updates_ = static_cast<std::int64_t>(updates->second);
}

}  // namespace tandem::optim
