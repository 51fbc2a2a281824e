// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/optimizer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "kernels/gpu_kernels.hpp"
#include "optim/gradients.hpp"
#include "optim/option_names.hpp"
#include "optim/state_layout.hpp"
#include "optim/state_load.hpp"
#include "optim/state_save.hpp"

namespace tandem::optim {
namespace {

constexpr auto kUpdating = [](Context& c) {
  c.grad_enabled = false;
  c.phase = Phase::update;
  c.category = Category::workspace;
};

/// Named, each once; options filled up from the defaults.
std::vector<ParamGroup> make_groups(const std::string& who,
                                    const std::vector<GroupSpec>& specs,
                                    const Options& defaults) {
  std::vector<ParamGroup> groups;
  std::unordered_map<const TensorImpl*, std::size_t> seen;  // -> group
  std::set<std::string> names;
  std::size_t count = 0;
  for (std::size_t g = 0; g < specs.size(); ++g) {
    std::vector<NamedParameter> params;
    for (NamedParameter p : specs[g].params.items()) {
      if (p.name.empty()) p.name = std::to_string(count);
      ++count;
      TANDEM_CHECK(p.tensor.defined(), who, ": parameter '", p.name, "' is an undefined tensor");
      TANDEM_CHECK(p.tensor.is_leaf(),
                   who,
                   ": '",
                   p.name,
                   "' is the result of an op; give the parameter itself");
      const auto [at, is_new] = seen.emplace(&p.tensor.impl(), g);
      TANDEM_CHECK(at->second == g,
                   who,
                   ": '",
                   p.name,
                   "' is in groups ",
                   at->second,
                   " and ",
                   g,
                   "; a parameter belongs to one group");
      if (!is_new) continue;  // tied: one parameter
      TANDEM_CHECK(names.insert(p.name).second,
                   who,
                   ": two parameters are called '",
                   p.name,
                   "', but their state is saved by name; give each module a prefix of its own, as "
                   "in net.head.named_parameters(\"head\")");
      params.push_back(std::move(p));
    }
    Options options = defaults;
    for (const auto& [name, value] : specs[g].options) {
      check_option(who, defaults, name);
      options[name] = value;
    }
    groups.emplace_back(std::move(params), std::move(options));
  }
  TANDEM_CHECK(
      count > 0, who, ": got no parameters; does the module list its members in TANDEM_MODULE?");
  return groups;
}

bool is_updated(DType t) {
  return t == DType::f32 || t == DType::f64;
}

std::vector<double> starts_of(const std::vector<NumberSpec>& numbers) {
  std::vector<double> starts;
  for (const NumberSpec& number : numbers)
    starts.push_back(number.start);
  return starts;
}

/// Memory of each device for what its updates compute in between, where another library's ops do.
std::vector<std::shared_ptr<void>> reserve(const std::string& optimizer,
                                           const std::vector<detail::RunUpdate>& updates) {
  std::map<LogicalDevice*, std::size_t> most;
  for (const detail::RunUpdate& update : updates) {
    const Tensor& param = update.slice.param;
    const Stream& stream = param.stream();
    if (stream.native() == nullptr || tandem::detail::takes_launches(stream)) continue;
    std::size_t& nbytes = most[&param.buffer().logical_device()];
    nbytes = std::max(nbytes, param.nbytes());
  }
  std::vector<std::shared_ptr<void>> reserved;
  for (const auto& [device, nbytes] : most)
    reserved.push_back(kernels::registered_kernels().reserve(*device, optimizer, nbytes));
  return reserved;
}

void check_types(const std::string& who, const detail::StateLayout& layout) {
  for (const detail::Member& m : layout.members()) {
    TANDEM_CHECK(
        is_updated(detail::StateLayout::updated_dtype(m)),
        who,
        ": parameter '",
        m.name,
        "' is ",
        m.tensor.describe(),
        ", but an optimizer updates f32 and f64; keep it in f32 with module.to(DType::f32), and "
        "let Autocast compute products in 16 bits");
  }
}

}  // namespace

Optimizer::Optimizer(std::string name,
                     const std::vector<GroupSpec>& groups,
                     const Options& defaults)
    : name_(std::move(name)),
      groups_(make_groups(name_, groups, defaults)),
      layout_(std::make_unique<detail::StateLayout>(groups_)) {
  layout_->refresh(Granularity::element);
  check_types(name_, *layout_);
}

Optimizer::~Optimizer() = default;

std::vector<std::vector<StateSpec>> Optimizer::specs(const std::vector<ParamGroup>& groups) const {
  std::vector<std::vector<StateSpec>> specs;
  for (const ParamGroup& group : groups)
    specs.push_back(state(group));
  return specs;
}

void Optimizer::check_finite() const {
  for (const detail::Member& m : layout_->members()) {
    const Tensor grad = m.tensor.grad();
    TANDEM_CHECK(!grad.defined() || !has_nonfinite({grad.detach()}),
                 name_,
                 ": the gradient of '",
                 m.name,
                 "' on ",
                 grad.device(),
                 " holds an infinity or NaN; lower the learning rate, clip the gradients, or look "
                 "at the loss");
  }
}

void Optimizer::check_whole() const {
  if (granularity() == Granularity::element) return;
  for (const detail::Member& m : layout_->members())
    TANDEM_CHECK(detail::StateLayout::ranks_of(m) == nullptr ||
                     m.arena.lock()->layout().keeps_tensors_whole(),
                 name_,
                 ": it updates whole parameters, but ranks have shares of '",
                 m.name,
                 "'; give FullyShardedDataParallel whole_tensors = true, or use an optimizer that "
                 "updates element by element, such as AdamW");
}

void Optimizer::advance_numbers(detail::RunUpdate& run_update) const {
  std::vector<double>& numbers = run_update.slice.numbers;
  const std::size_t count = numbers.size();
  numbers = next_numbers(numbers, groups_[layout_->runs()[run_update.run].group], run_update.t);
  TANDEM_CHECK(numbers.size() == count,
               name_,
               ": next_numbers returned ",
               numbers.size(),
               " numbers; numbers() has ",
               count);
}

void Optimizer::step(OptimizerStepOptions options) {
  prepare(options);
  if (const std::exception_ptr error = commit()) std::rethrow_exception(error);
}

void Optimizer::prepare(OptimizerStepOptions options) {
  TANDEM_CHECK(
      !poisoned_,
      name_,
      ": an earlier step or load failed half-way; call load_state_dict with a checkpoint first");
  const ContextScope scope(kUpdating);
  layout_->prepared.clear();
  layout_->refresh(granularity());
  check_whole();
  layout_->settle_gradients();
  layout_->start_numbers(starts_of(this->numbers()));
  const auto specs = this->specs(groups_);
  std::vector<detail::RunUpdate> updates = layout_->updates();
  std::vector<bool> wanted(layout_->runs().size(), false);
  for (detail::RunUpdate& run_update : updates) {
    advance_numbers(run_update);
    if (!is_updated(run_update.slice.param.dtype()))
      check_types(name_, *layout_);  // it was converted
    wanted[run_update.run] = true;
  }
  if (options.error_if_nonfinite) {
    std::vector<Tensor> grads;
    for (const detail::RunUpdate& run_update : updates)
      grads.push_back(run_update.slice.grad);
    if (has_nonfinite(grads)) check_finite();  // which names the parameter
  }
  layout_->allocate(specs, wanted);
  layout_->attach_state(updates, specs);
  for (const auto& sharing : layout_->sharings())
    sharing->agree();
  layout_->reserved = reserve(name_, updates);
  layout_->prepared = std::move(updates);
}

std::exception_ptr Optimizer::commit() noexcept {
  std::exception_ptr error;
  try {
    for (const auto& sharing : layout_->sharings())
      sharing->update([this](Device device) { return update_on(device); });
  } catch (...) {
    error = std::current_exception();
  }
  return end_commit(error);
}

bool Optimizer::updates_through(const ArenaSharing& sharing) const {
  const auto sharings = layout_->sharings();
  return std::ranges::any_of(sharings, [&](const auto& s) { return s.get() == &sharing; });
}

void Optimizer::apply(detail::RunUpdate& run_update) {
  run_update.done = 1;
  update(run_update.slice, groups_[layout_->runs()[run_update.run].group], run_update.t);
}

std::exception_ptr Optimizer::update_on(Device device) noexcept {
  try {
    const ContextScope scope(kUpdating);
    for (detail::RunUpdate& run_update : layout_->prepared)
      if (run_update.device == device && run_update.done == 0) apply(run_update);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

std::exception_ptr Optimizer::end_commit(std::exception_ptr error) noexcept {
  try {
    const ContextScope scope(kUpdating);
    for (detail::RunUpdate& run_update : layout_->prepared)
      if (error == nullptr && run_update.done == 0) apply(run_update);
  } catch (...) {
    error = std::current_exception();
  }
  if (error == nullptr)
    layout_->count_steps(layout_->prepared);
  else
    poisoned_ = true;
  cancel();
  return error;
}

void Optimizer::cancel() noexcept {
  layout_->prepared.clear();
  layout_->reserved.clear();
}

void Optimizer::zero_grad() {
  for (const detail::Member& m : layout_->members())
    m.tensor.set_grad({});
}

OptimizerState Optimizer::state_dict() const {
  const detail::StateSave save(*this);
  OptimizerState dict{.tensors = {}, .numbers = save.numbers()};
  for (const auto& entry : save.entries())
    dict.tensors[entry.key] = save.tensor(entry);
  return dict;
}

void Optimizer::load_state_dict(const OptimizerState& state) {
  const autograd::NoGrad off;
  std::map<std::string, TensorForm> forms;
  for (const auto& [key, x] : state.tensors) {
    forms[key] = x.defined() ? TensorForm{x.dtype(), x.shape(), x.describe()}
                             : TensorForm{.shape = {-1}, .text = x.describe()};  // fits nothing
  }
  detail::StateLoad load(*this, state.numbers, forms);
  std::map<std::string, Tensor> sources;  // made at once: from there on nothing fails
  for (const auto& entry : load.entries())
    sources[entry.key] = load.flat(entry, state.tensors.at(entry.key));
  load.run([&](const auto& entry) { load.set(entry, sources.at(entry.key)); });
}

}  // namespace tandem::optim
