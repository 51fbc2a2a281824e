// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/torch_source.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/module_copy.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "libtorch/exchange/paired_elements.hpp"
#include "libtorch/gpu/gpu_comparison.hpp"
#include "libtorch/modules/module_changes.hpp"
#include "libtorch/modules/share_memory.hpp"
#include "libtorch/modules/wrapped_modules.hpp"
#include "parallel/update/mode_rules.hpp"

namespace tandem::libtorch {
namespace {

struct Named {
  std::string name;
  nn::TensorKind kind;
  at::Tensor tensor;
};

std::vector<Named> tensors_of(const torch::nn::Module& module) {
  std::vector<Named> all;
  for (const auto& item : module.named_parameters())
    all.push_back({item.key(), nn::TensorKind::parameter, item.value()});
  for (const auto& item : module.named_buffers()) {
    const bool trains = item.value().requires_grad();
    const auto kind = trains ? nn::TensorKind::parameter : nn::TensorKind::buffer;
    all.push_back({item.key(), kind, item.value()});
  }
  return all;
}

std::string class_name_of(const torch::nn::Module& module) {
  const std::string& name = module.name();
  const std::size_t last = name.rfind("::", name.find('<'));
  return last == std::string::npos ? name : name.substr(last + 2);
}

/// The module's tensors are on PyTorch's `cpu`, or on the first device. With GPUs they are there.
void check_home(const std::vector<Named>& all, Device device) {
  const c10::Device first = torch_device(device);
  for (const Named& named : all) {
    const c10::Device home = all.front().tensor.device(), found = named.tensor.device();
    const bool may_be = found == first || (found.is_cpu() && !first.is_cuda());
    if (may_be && found == home) continue;
    const std::string other = may_be ? "'" + all.front().name + "' is on " + home.str()
                                     : "the first device is " + to_string(device);
    throw InvalidArgument("DataParallel: module must have its parameters and buffers on device " +
                          first.str() + (first.is_cuda() ? "" : ", or all of them on cpu") + ": '" +
                          named.name + "' is on " + found.str() + ", but " + other +
                          "; move all of it to " + first.str() + " first");
  }
}

/// Two parameters in one memory train together on one device. Here each would get its own.
void check_apart(std::vector<Named> all) {
  std::erase_if(all, [](const Named& named) {
    return named.tensor.layout() != at::kStrided || named.tensor.numel() == 0;
  });
  const auto begin = [](const Named& named) { return extent_of(named.tensor).first; };
  std::ranges::stable_sort(all, {}, begin);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Named& first = all[i];
    const auto end = extent_of(first.tensor).second;
    for (std::size_t k = i + 1; k < all.size() && begin(all[k]) < end; ++k) {
      const Named& second = all[k];
      const bool is_tied = first.tensor.is_same(second.tensor);
      const bool trains = first.tensor.requires_grad() || second.tensor.requires_grad();
      TANDEM_CHECK(is_tied || !trains || !share_memory(first.tensor, second.tensor),
                   "DataParallel: '",
                   first.name,
                   "' and '",
                   second.name,
                   "' are two tensors in the same memory, and would be trained apart from each "
                   "other; give the module one of them in both places, in place of its .data");
    }
  }
}

/// The user's tensor as one of tandem's, for an arena to move.
Tensor shown_first(const Named& named, Device device) {
  const at::Tensor& x = named.tensor;
  try {
    Tensor shown = from_torch_in_pairs(x.detach(), device);
    if (named.kind != nn::TensorKind::parameter) return shown;
    shown.requires_grad_(x.requires_grad());
    if (has_frozen_gradient(x)) shown.set_grad(zeros_like(shown));  // a place, see ShownGradients
    return shown;
  } catch (const InvalidArgument& e) {
    throw InvalidArgument("DataParallel: '" + named.name + "' cannot be replicated: " + e.what());
  }
}

void check_parts(const torch::nn::Module& original, const torch::nn::Module& copy) {
  const auto own = original.named_modules("", /*include_self=*/false);
  const auto copied = copy.named_modules("", /*include_self=*/false);
  for (const auto& part : own) {
    const auto* other = copied.find(part.key());
    const std::string found = other == nullptr ? "missing" : "a " + (*other)->name();
    TANDEM_CHECK(other != nullptr && part.value()->name() == (*other)->name(),
                 "DataParallel: the part '",
                 part.key(),
                 "' of the module is a ",
                 part.value()->name(),
                 ", but ",
                 found,
                 " in its copy; let clone() or .make give the same parts");
  }
}

/// Puts `x` over the memory of `shown`.
void bind(const at::Tensor& x, const Tensor& shown, c10::Device device) {
  if (x.device() == device && x.const_data_ptr() == shown.data()) return;
  const at::NoGradGuard off;
  at::Tensor(x).set_data(to_torch_from_pairs(shown.detach(), x.scalar_type(), device));
}

/// A write to `x` counts as one to `copy`, too, which has the same memory: a backward that needs
/// the values from before is refused.
void share_versions(const at::Tensor& x, const at::Tensor& copy) {
  if (x.is_inference() || copy.is_inference()) return;
  copy.unsafeGetTensorImpl()->set_version_counter(x.unsafeGetTensorImpl()->version_counter());
}

/// Gives `x` the values of `copy`, without a count. @return  whether they differ
bool take_values(const at::Tensor& x, const at::Tensor& copy) {
  if (std::memcmp(x.const_data_ptr(), copy.const_data_ptr(), copy.nbytes()) == 0) return false;
  std::memcpy(x.mutable_data_ptr(), copy.const_data_ptr(), copy.nbytes());
  return true;
}

}  // namespace

bool has_frozen_gradient(const at::Tensor& x) {
  return !x.requires_grad() && x.grad().defined();
}

void follow_trained_buffers(const torch::nn::Module& original, const torch::nn::Module& copy) {
  const auto copies = copy.named_buffers();
  for (const auto& item : original.named_buffers()) {
    const at::Tensor* const other = copies.find(item.key());
    if (other != nullptr && item.value().requires_grad()) other->set_requires_grad(true);
  }
}

TorchSource::TorchSource(std::shared_ptr<torch::nn::Module> original,
                         std::shared_ptr<torch::nn::Module> copy,
                         Device device,
                         Ops ops)
    : original_(std::move(original)),
      copy_(std::move(copy)),
      device_(device),
      ops_(std::move(ops)),
      class_name_(std::make_shared<const std::string>(class_name_of(*copy_))) {
  const std::vector<Named> copies = tensors_of(*copy_);
  const std::vector<Named> own = original_ == nullptr ? copies : tensors_of(*original_);
  TANDEM_CHECK(own.size() == copies.size(),
               "DataParallel: the module has ",
               own.size(),
               " parameters and buffers, but its copy has ",
               copies.size(),
               "; let clone() or .make give all of them");
  if (original_ != nullptr) {
    check_parts(*original_, *copy_);
    check_home(own, device);
    check_apart(own);
    parts_ = original_->modules(/*include_self=*/false);
  }
  std::unordered_map<const c10::TensorImpl*, Tensor> shown;  // of tied tensors
  for (std::size_t i = 0; i < own.size(); ++i) {
    TANDEM_CHECK(own[i].name == copies[i].name && own[i].tensor.sizes() == copies[i].tensor.sizes(),
                 "DataParallel: '",
                 own[i].name,
                 "' of the module is '",
                 copies[i].name,
                 "' in its copy, or of another shape there; let clone() or .make give the same "
                 "tensors under the same names");
    Slot slot{own[i].name, own[i].kind, {}, {}, copies[i].tensor};
    if (original_ != nullptr) {
      slot.own = own[i].tensor;
      if (slot.kind == nn::TensorKind::parameter) share_versions(slot.own, slot.copy);
      slot.has_frozen_gradient =
          slot.kind == nn::TensorKind::parameter && has_frozen_gradient(slot.own);
      Tensor& x = shown[slot.own.unsafeGetTensorImpl()];
      if (!x.defined()) x = shown_first(own[i], device);
      slot.shown = x;
      own_.push_back(x);
    }
    slots_.push_back(std::move(slot));
  }
}

void TorchSource::visit_tensors(const TensorVisitor& f) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const TensorImpl* before = slot.shown.shared().get();
    f(slot.name, slot.shown, slot.kind);
    const bool is_back = original_ != nullptr && slot.shown.shared() == own_[i].shared();
    if (slot.shown.shared().get() != before && !is_back) bind_copy(slot);
  }
}

void TorchSource::bind_copy(const Slot& slot) const {
  bind(slot.copy, slot.shown, torch_device(device_));
}

std::vector<Tensor> TorchSource::equal_buffers() {
  const auto& names = ops_.batch_norms.equal_buffers();
  std::vector<Tensor> buffers;
  for (const Slot& slot : slots_)
    if (std::ranges::find(names, slot.name) != names.end()) buffers.push_back(slot.shown);
  return buffers;
}

std::vector<std::string> TorchSource::unit_paths(const parallel::UnitPolicy&) {
  throw InvalidArgument(tandem::detail::concat(
      "DataParallel: ",
      parallel::modes_that(&parallel::ModeRules::has_units),
      " give the memory of parameters back, and this module's belongs to PyTorch; use mode ",
      parallel::name(parallel::Mode::sharded)));
}

bool TorchSource::is_training() const {
  return std::ranges::any_of(copy_->modules(),
                             [](const auto& part) { return part->is_training(); });
}

void TorchSource::check_unwrapped() {
  WrappedModules::get().check(*original_);
}

void TorchSource::mark_wrapped(const std::shared_ptr<const void>& wrapper) {
  if (original_ != nullptr) WrappedModules::get().mark(*original_, wrapper);
  WrappedModules::get().mark(*copy_, wrapper);
}

void TorchSource::follow(parallel::ReplicaSource& original) {
  follow_mode(*dynamic_cast<TorchSource&>(original).original_);
}

void TorchSource::follow_mode(torch::nn::Module& module) const {
  detail::copy_mode(module, *copy_);
}

bool TorchSource::has_parts_of(const torch::nn::Module& module) const {
  return module.modules(/*include_self=*/false) == parts_;
}

bool TorchSource::is_on_host() const noexcept {
  if (slots_.empty()) return device_.type != DeviceType::cuda;
  return slots_.front().own.device().is_cpu();
}

void TorchSource::keep_buffers() const {
  const ContextScope comparison_of([](Context& c) { c.category = Category::buffer; });
  const auto first = ops_.first.lock();
  const auto& own = first == nullptr ? slots_ : first->slots_;
  GpuComparison comparison;
  std::vector<std::size_t> compared;  // there
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].kind != nn::TensorKind::buffer) continue;
    const at::Tensor& copy = slots_[i].copy;
    const at::Tensor& x = own[i].own;
    if (x.is_cuda()) {
      comparison.add(copy, x);
      compared.push_back(i);
    } else if (take_values(x, copy)) {
      count_write(x);
    }
  }
  const std::vector<bool> differs = comparison.differences();
  const at::NoGradGuard off;
  for (std::size_t k = 0; k < compared.size(); ++k) {
    if (!differs[k]) continue;
    const at::Tensor& x = own[compared[k]].own;
    x.detach().copy_(slots_[compared[k]].copy);
    count_write(x);
  }
}

void TorchSource::settle() {
  for (const Slot& slot : slots_) {
    if (slot.own.defined()) bind(slot.own, slot.shown, slot.own.device());
    if (slot.kind == nn::TensorKind::parameter || original_ == nullptr) bind_copy(slot);
  }
  watch_gradients();
}

void TorchSource::watch_gradients() {
  std::unordered_map<const TensorImpl*, std::unordered_set<const c10::TensorImpl*>> copies;
  for (const Slot& slot : slots_)
    copies[slot.shown.shared().get()].insert(slot.copy.unsafeGetTensorImpl());
  sink_ = std::make_shared<GradientSink>();
  std::unordered_map<const TensorImpl*, std::size_t> numbers;
  std::unordered_set<const c10::TensorImpl*> watched;
  for (const Slot& slot : slots_) {
    if (slot.kind != nn::TensorKind::parameter) continue;
    slot.copy.requires_grad_(slot.shown.requires_grad());
    if (!slot.shown.requires_grad() || !watched.insert(slot.copy.unsafeGetTensorImpl()).second)
      continue;
    const TensorImpl* parameter = slot.shown.shared().get();
    const auto [number, is_new] = numbers.try_emplace(parameter, 0);
    if (is_new)
      number->second =
          sink_->add(slot.name, slot.shown, static_cast<int>(copies[parameter].size()));
    watch_gradient(slot.copy, sink_, number->second);
  }
}

}  // namespace tandem::libtorch
