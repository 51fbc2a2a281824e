// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/optimizer_view.hpp"

#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"

#include "libtorch/update/updated_parameter.hpp"

namespace tandem::libtorch::detail {
namespace {

using optim::GroupSpec;
using optim::Options;

double number(bool flag) {
  return flag ? 1 : 0;
}

/// How one class translates. A state is a list of accessors: f(name, tensor&) for each tensor.
template <class Traits>
class ViewOf final : public OptimizerView {
 public:
  using State = typename Traits::State;

  explicit ViewOf(torch::optim::Optimizer& user) : user_(user) {}

  std::vector<Group> groups() const override {
    std::vector<Group> groups;
    for (const auto& group : std::as_const(user_).param_groups()) {
      const auto& options = static_cast<const typename Traits::TorchOptions&>(group.options());
      groups.push_back({group.params(), Traits::options(options)});
    }
    return groups;
  }
  std::unique_ptr<optim::Optimizer> make(const std::vector<GroupSpec>& groups) const override {
    return Traits::make(groups);
  }
  void read(const UpdatedParameter& parameter, optim::OptimizerState& to) const override {
    const auto own = user_.state().find(parameter.own.unsafeGetTensorImpl());
    if (own == user_.state().end()) return;
    State state = static_cast<const State&>(*own->second);
    bool has_any = false;
    Traits::visit(state, [&](const char* name, at::Tensor& x) {
      if (!x.defined()) return;
      has_any = true;
      const at::Tensor here = x.detach().to(parameter.own.device(), parameter.own.scalar_type());
      to.tensors[parameter.shown.name + "." + name] =
          from_torch(here.contiguous(), parameter.shown.tensor.device());
    });
    // PyTorch's SGD counts no steps: the first one has made the buffer.
    const auto steps = Traits::steps(state);
    if (steps.value_or(has_any ? 1 : 0) > 0)
      to.numbers[parameter.shown.name + ".step"] = static_cast<double>(steps.value_or(1));
    else
      Traits::visit(state, [&](const char* name, at::Tensor&) {
        to.tensors.erase(parameter.shown.name + "." + name);
      });
  }
  void write(const optim::OptimizerState& from, const UpdatedParameter& parameter) override {
    void* const key = parameter.own.unsafeGetTensorImpl();
    if (auto state = state_in(from, parameter))
      user_.state()[key] = std::move(state);
    else
      user_.state().erase(key);
  }

 private:
  /// Null if the parameter has made no step.
  static std::unique_ptr<State> state_in(const optim::OptimizerState& from,
                                         const UpdatedParameter& parameter) {
    const auto steps = from.numbers.find(parameter.shown.name + ".step");
    if (steps == from.numbers.end() || steps->second == 0) return nullptr;
    auto state = std::make_unique<State>();
    bool has_any = false;
    Traits::visit(*state, [&](const char* name, at::Tensor& x) {
      const auto found = from.tensors.find(parameter.shown.name + "." + name);
      if (found == from.tensors.end()) return;
      has_any = true;
      x = parameter.copied_state(found->second);
    });
    if (!has_any) return nullptr;
    Traits::set_steps(*state, static_cast<std::int64_t>(steps->second));
    return state;
  }

  torch::optim::Optimizer& user_;
};

/// Steps are counted in the state.
template <class S>
struct CountedState {
  using State = S;
  static std::optional<std::int64_t> steps(const State& state) { return state.step(); }
  static void set_steps(State& state, std::int64_t n) { state.step(n); }
};

/// Adam and AdamW, which differ in what tandem's optimizer does with the weight decay.
template <class S, class O, class Optimizer, class Defaults>
struct AdamRuleOf : CountedState<S> {
  using TorchOptions = O;
  static auto make(const std::vector<GroupSpec>& groups) {
    return std::make_unique<Optimizer>(groups, Defaults{});
  }
  static Options options(const TorchOptions& o) {
    TANDEM_CHECK(!o.amsgrad(),
                 "Optimizer: amsgrad is on, which the shared update does not have; turn it off, or "
                 "pass PyTorch's own optimizer, which updates on the first device");
    return {{"lr", o.lr()},
            {"beta1", std::get<0>(o.betas())},
            {"beta2", std::get<1>(o.betas())},
            {"eps", o.eps()},
            {"weight_decay", o.weight_decay()}};
  }
  template <class F>
  static void visit(S& state, F&& f) {
    f("exp_avg", state.exp_avg());
    f("exp_avg_sq", state.exp_avg_sq());
  }
};
using AdamRule = AdamRuleOf<torch::optim::AdamParamState,
                            torch::optim::AdamOptions,
                            optim::Adam,
                            optim::AdamOptions>;
using AdamWRule = AdamRuleOf<torch::optim::AdamWParamState,
                             torch::optim::AdamWOptions,
                             optim::AdamW,
                             optim::AdamWOptions>;

struct SgdRule {
  using State = torch::optim::SGDParamState;
  using TorchOptions = torch::optim::SGDOptions;
  static auto make(const std::vector<GroupSpec>& groups) {
    return std::make_unique<optim::SGD>(groups, optim::SGDOptions{});
  }
  static Options options(const TorchOptions& o) {
    return {{"lr", o.lr()},
            {"momentum", o.momentum()},
            {"dampening", o.dampening()},
            {"weight_decay", o.weight_decay()},
            {"nesterov", number(o.nesterov())}};
  }
  static std::optional<std::int64_t> steps(const State&) { return std::nullopt; }
  static void set_steps(State&, std::int64_t) {}
  template <class F>
  static void visit(State& state, F&& f) {
    f("momentum_buffer", state.momentum_buffer());
  }
};

struct RmspropRule : CountedState<torch::optim::RMSpropParamState> {
  using TorchOptions = torch::optim::RMSpropOptions;
  static auto make(const std::vector<GroupSpec>& groups) {
    return std::make_unique<optim::RMSprop>(groups, optim::RMSpropOptions{});
  }
  static Options options(const TorchOptions& o) {
    return {{"lr", o.lr()},
            {"alpha", o.alpha()},
            {"eps", o.eps()},
            {"weight_decay", o.weight_decay()},
            {"momentum", o.momentum()},
            {"centered", number(o.centered())}};
  }
  template <class F>
  static void visit(State& state, F&& f) {
    f("square_avg", state.square_avg());
    f("momentum_buffer", state.momentum_buffer());
    f("grad_avg", state.grad_avg());
  }
};

struct AdagradRule : CountedState<torch::optim::AdagradParamState> {
  using TorchOptions = torch::optim::AdagradOptions;
  static auto make(const std::vector<GroupSpec>& groups) {
    return std::make_unique<optim::Adagrad>(groups, optim::AdagradOptions{});
  }
  static Options options(const TorchOptions& o) {
    return {{"lr", o.lr()},
            {"lr_decay", o.lr_decay()},
            {"weight_decay", o.weight_decay()},
            {"initial_accumulator_value", o.initial_accumulator_value()},
            {"eps", o.eps()}};
  }
  template <class F>
  static void visit(State& state, F&& f) {
    f("sum", state.sum());
  }
};

}  // namespace

OptimizerView::~OptimizerView() = default;

std::unique_ptr<OptimizerView> view_of(torch::optim::Optimizer& user, const std::type_info& type) {
  if (type == typeid(torch::optim::Adam)) return std::make_unique<ViewOf<AdamRule>>(user);
  if (type == typeid(torch::optim::AdamW)) return std::make_unique<ViewOf<AdamWRule>>(user);
  if (type == typeid(torch::optim::SGD)) return std::make_unique<ViewOf<SgdRule>>(user);
  if (type == typeid(torch::optim::RMSprop)) return std::make_unique<ViewOf<RmspropRule>>(user);
  if (type == typeid(torch::optim::Adagrad)) return std::make_unique<ViewOf<AdagradRule>>(user);
  throw InvalidArgument(
      tandem::detail::concat("Optimizer: ",
                             c10::demangle(type.name()),
                             " does not treat each element alike, so devices cannot share its "
                             "update; use PyTorch's own class: call loss(dp(x), y).backward() and "
                             "then its step(), or in the closure that its step takes. Devices "
                             "share SGD, Adam, AdamW, RMSprop and Adagrad"));
}

}  // namespace tandem::libtorch::detail
