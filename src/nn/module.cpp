// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/module.hpp"

#include <algorithm>
#include <unordered_set>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "nn/state_match.hpp"

namespace tandem::nn {
namespace {

/// Calls a function for every direct member that is a module.
template <class F>
class ChildVisitor final : public MemberVisitor {
 public:
  explicit ChildVisitor(F f) : f_(std::move(f)) {}
  void visit_tensor(std::string_view, Tensor&, TensorKind) override {}
  void visit_module(std::string_view name, Module& module) override { f_(name, module); }

 private:
  F f_;
};

template <class F>
void for_each_child(Module& module, F f) {
  ChildVisitor<F> visitor(std::move(f));
  module.visit_members(visitor);
}

class TensorVisitor final : public MemberVisitor {
 public:
  using Function = std::function<void(const std::string&, Tensor&, TensorKind)>;
  explicit TensorVisitor(const Function& f) : f_(f) {}
  void visit_tensor(std::string_view name, Tensor& tensor, TensorKind kind) override {
    f_(detail::join_names(prefix_, name), tensor, kind);
  }
  void visit_module(std::string_view name, Module& module) override {
    std::string outer = std::exchange(prefix_, detail::join_names(prefix_, name));
    module.visit_members(*this);
    prefix_ = std::move(outer);
  }

 private:
  const Function& f_;
  std::string prefix_;
};

// The tree is walked by a function that can change it; readers change nothing.
Module& writable(const Module& module) {
  return const_cast<Module&>(module);
}

std::vector<NamedTensor> named(const Module& module, TensorKind wanted) {
  std::vector<NamedTensor> all;
  std::unordered_set<const TensorImpl*> seen;
  visit_tensors(writable(module), [&](const std::string& name, Tensor& tensor, TensorKind kind) {
    if (kind == wanted && seen.insert(&tensor.impl()).second) all.push_back({name, tensor});
  });
  return all;
}

std::vector<Tensor> without_names(const std::vector<NamedTensor>& all) {
  std::vector<Tensor> tensors;
  for (const NamedTensor& entry : all)
    tensors.push_back(entry.tensor);
  return tensors;
}

void add_modules(std::vector<NamedModule>& all, const std::string& path, Module& module) {
  all.push_back({path, &module});
  for_each_child(module, [&](std::string_view name, Module& child) {
    add_modules(all, detail::join_names(path, name), child);
  });
}

/// Puts `t`, and every handle to it, over the storage of `moved`, outside of any arena.
void rebind(const Tensor& t, const Tensor& moved) {
  if (t.requires_grad()) {
    t.set_grad({});
    autograd::bind_gradient(t, {});
  }
  TensorImpl& impl = t.impl();
  const TensorImpl& other = moved.impl();
  impl.buffer = other.buffer;
  impl.offset = other.offset;
  impl.strides = other.strides;
  impl.dtype = other.dtype;
  impl.home = nullptr;
}

/// Replaces the storage of each distinct tensor of `module`, and of its gradient, by `change` of
/// it.
template <class F>
void move_tensors(Module& module, F change) {
  const autograd::NoGrad off;
  std::unordered_set<const TensorImpl*> seen;
  visit_tensors(module, [&](const std::string&, Tensor& tensor, TensorKind) {
    if (!seen.insert(&tensor.impl()).second) return;
    const ContextScope scope([&](Context& c) { c.category = tensor.buffer().category(); });
    const Tensor moved = change(tensor.detach());
    if (&moved.buffer() == &tensor.buffer()) return;
    const Tensor grad = tensor.grad();
    rebind(tensor, moved);
    if (!grad.defined()) return;
    const ContextScope gradient([](Context& c) { c.category = Category::gradient; });
    tensor.set_grad(change(grad));
  });
}

}  // namespace

void visit_tensors(Module& module, const TensorVisitor::Function& f) {
  TensorVisitor visitor(f);
  module.visit_members(visitor);
}

std::vector<Tensor> Module::parameters() const {
  return without_names(named_parameters());
}
std::vector<NamedTensor> Module::named_parameters(std::string_view prefix) const {
  std::vector<NamedTensor> all = named(*this, TensorKind::parameter);
  for (NamedTensor& entry : all)
    entry.name = detail::join_names(prefix, entry.name);
  return all;
}
std::vector<Tensor> Module::buffers() const {
  return without_names(named_buffers());
}
std::vector<NamedTensor> Module::named_buffers() const {
  return named(*this, TensorKind::buffer);
}

std::vector<NamedModule> Module::children() {
  std::vector<NamedModule> all;
  for_each_child(*this, [&](std::string_view name, Module& child) {
    all.push_back({std::string(name), &child});
  });
  return all;
}

std::vector<NamedModule> Module::named_modules() {
  std::vector<NamedModule> all;
  add_modules(all, "", *this);
  return all;
}

std::vector<Module*> Module::modules() {
  std::vector<Module*> all;
  for (const NamedModule& entry : named_modules())
    all.push_back(entry.module);
  return all;
}

void Module::apply(const std::function<void(Module&)>& f) {
  for_each_child(*this, [&](std::string_view, Module& child) { child.apply(f); });
  f(*this);
}

Module& Module::to(Device device) {
  move_tensors(*this, [device](const Tensor& x) { return x.to(device); });
  return *this;
}

Module& Module::to(DType dtype) {
  TANDEM_CHECK(
      is_float(dtype), type_name(), ".to: a module can be f32, f64, bf16 or f16, got ", dtype);
  move_tensors(*this, [dtype](const Tensor& x) { return is_float(x.dtype()) ? x.to(dtype) : x; });
  return *this;
}

Module& Module::train(Mode mode) {
  apply([mode](Module& module) { module.mode_ = mode; });
  return *this;
}

void Module::zero_grad() {
  for (const Tensor& parameter : parameters())
    parameter.set_grad({});
}

Module& Module::requires_grad_(bool on) {
  for (Tensor& parameter : parameters())
    parameter.requires_grad_(on);
  return *this;
}

int Module::register_forward_pre_hook(ForwardHook hook) {
  return add_hook(When::before, std::move(hook));
}

int Module::register_forward_hook(ForwardHook hook) {
  return add_hook(When::after, std::move(hook));
}

int Module::add_hook(When when, ForwardHook hook) {
  hooks_.push_back({next_hook_, when, std::move(hook)});
  return next_hook_++;
}

void Module::remove_hook(int id) {
  std::erase_if(hooks_, [id](const Hook& hook) { return hook.id == id; });
}

void Module::assign_paths(std::string& path) {
  if (path_ == nullptr || *path_ != path) path_ = std::make_shared<const std::string>(path);
  for_each_child(*this, [&path](std::string_view name, Module& child) {
    const std::size_t length = path.size();
    if (length > 0) path += '.';
    path += name;
    child.assign_paths(path);
    path.resize(length);
  });
}

namespace detail {
namespace {

std::shared_ptr<ForwardFrame> new_frame() {
  const GeneratorState now = default_generator().get_state();
  return std::make_shared<ForwardFrame>(ForwardFrame{.seed = now.seed, .forward = now.forwards});
}

}  // namespace

CallScope::CallScope(Module& module)
    : module_(module), top_level_(context().frame == nullptr), scope_([this](Context& c) {
        // The module called from outside is the root, with the path "", and gives every module
        // below it the path that the state dict uses. A module that is called inside another's
        // forward without being one of its members is named after its class.
        std::string path;
        if (c.module_path == nullptr) {
          module_.assign_paths(path);
        } else if (module_.path_ == nullptr || module_.path_->empty()) {
          path = join_names(*c.module_path, module_.type_name());
          module_.assign_paths(path);
        }
        c.module_path = module_.path_;
        if (top_level_) c.frame = new_frame();
      }) {}

void CallScope::commit() const noexcept {
  if (top_level_ && (module_.is_training() || context().frame->drew))
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
}

void CallScope::run_hooks(Module::When when, std::span<const Tensor> tensors) const {
  const std::vector<Module::Hook> hooks = module_.hooks_;  // a hook may remove itself
  for (const Module::Hook& hook : hooks) {
    if (hook.when == when) hook.function({module_, *module_.path_, tensors});
  }
}

}  // namespace detail

StateDict Module::state_dict() const {
  StateDict state;
  visit_tensors(const_cast<Module&>(*this),  // reads only
                [&state](const std::string& name, Tensor& tensor, TensorKind) {
                  state.set(name, tensor.detach());
                });
  return state;
}

LoadReport Module::load_state_dict(const StateDict& state, Strict strict) {
  std::vector<GivenTensor> given;
  std::vector<Tensor> sources;
  for (const auto& [name, x] : state) {
    given.push_back({name, x.defined() ? &x.shape() : nullptr});
    sources.push_back(x);
  }
  StateMatch found = match(state_dict(), given);
  check_match(type_name(), found, strict);
  const autograd::NoGrad off;
  for (auto& [target, source] : found.copies)
    target.tensor.copy_(sources[source]);
  return std::move(found.report);
}

}  // namespace tandem::nn
