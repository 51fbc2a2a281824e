// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/module_changes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"

#include "libtorch/gpu/gpu_comparison.hpp"

namespace tandem::libtorch {
namespace {

bool has_same_bytes(const Tensor& x, const Tensor& y) {
  constexpr std::int64_t kGrain = 1 << 20;  // bytes for which another thread pays
  const auto [begin, end] = byte_range(x);
  const char* const left = static_cast<const char*>(x.data());
  const char* const right = static_cast<const char*>(y.data());
  std::atomic<bool> same = true;
  at::parallel_for(
      0, static_cast<std::int64_t>(end - begin), kGrain, [&](std::int64_t from, std::int64_t to) {
        if (std::memcmp(left + from, right + from, static_cast<std::size_t>(to - from)) != 0)
          same = false;
      });
  return same;
}

template <class List>
bool shows(const List& tensors, const std::vector<TorchSource::Slot>& slots, std::size_t& next) {
  for (const auto& item : tensors) {
    if (next == slots.size()) return false;
    const TorchSource::Slot& slot = slots[next++];
    const at::Tensor& x = item.value();
    const bool is_same = x.is_same(slot.own) && x.const_data_ptr() == slot.shown.data() &&
                         x.nbytes() == slot.shown.nbytes() && x.dtype() == slot.copy.dtype() &&
                         item.key() == slot.name;
    if (!is_same) return false;
    const bool trains = slot.kind == nn::TensorKind::parameter && slot.shown.requires_grad();
    if (x.requires_grad() != trains) return false;
    const bool is_parameter = slot.kind == nn::TensorKind::parameter;
    if (is_parameter && has_frozen_gradient(x) != slot.has_frozen_gradient) return false;
  }
  return true;
}

}  // namespace

std::uint32_t version_of(const at::Tensor& x) {
  return x.is_inference() ? 0 : static_cast<std::uint32_t>(x._version());
}

void count_write(const at::Tensor& x) {
  if (!x.is_inference()) x.unsafeGetTensorImpl()->bump_version();
}

void count_write(const Tensor& x) {
  const auto [begin, end] = byte_range(x);
  x.buffer().bump_version(begin, end);
}

ModuleChanges::ModuleChanges(const Sources& sources) : sources_(sources) {
  // A replica that has got no values yet must not have the version of any later ones by chance.
  const auto& slots = sources_.front()->slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].shown.numel() == 0) continue;  // whose writes nobody counts
    for (const auto& source : sources_)
      while (source != sources_.front() &&
             version_of(slots[i].shown) <= version_of(source->slots()[i].shown))
        count_write(slots[i].shown);
  }
  for (const auto& source : sources_) {
    seen_.emplace_back();
    for (const TorchSource::Slot& slot : source->slots())
      seen_.back().push_back(
          {slot.own.defined() ? version_of(slot.own) : 0, version_of(slot.shown)});
  }
  counted_.resize(seen_.front().size());
}

bool ModuleChanges::has_same_tensors(const torch::nn::Module& module, const TorchSource& source) {
  std::size_t next = 0;
  return shows(module.named_parameters(), source.slots(), next) &&
         shows(module.named_buffers(), source.slots(), next) && next == source.slots().size();
}

void ModuleChanges::tell_tandem() {
  const auto& slots = sources_.front()->slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint32_t now = version_of(slots[i].own);
    counted_[i] = now != seen_.front()[i].torch;
    if (counted_[i]) count_write(slots[i].shown);
  }
  // After all of them, since tied ones are counted more than once.
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (counted_[i]) see(0, i);
}

void ModuleChanges::find_unseen() const {
  const ContextScope comparison_of([](Context& c) {
    c.phase = Phase::replicate;
    c.category = Category::parameter;
  });
  const auto& slots = sources_.front()->slots();
  const bool on_gpus = sources_.front()->device().type == DeviceType::cuda;
  GpuComparison comparison;
  std::vector<std::size_t> compared;  // there
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind != nn::TensorKind::parameter || counted_[i]) continue;
    const std::uint64_t version = version_of(slots[i].shown);
    // Replicas of another version are sent the values anyway; those of this one are all equal.
    const auto has_version = [&](const auto& source) {
      return version_of(source->slots()[i].shown) == version;
    };
    const auto replica = std::find_if(sources_.begin() + 1, sources_.end(), has_version);
    if (replica == sources_.end()) continue;
    const TorchSource::Slot& other = (*replica)->slots()[i];
    if (on_gpus) {
      comparison.add(slots[i].own, other.copy);
      compared.push_back(i);
    } else if (!has_same_bytes(slots[i].shown, other.shown)) {
      count_write(slots[i].shown);
    }
  }
  const std::vector<bool> differs = comparison.differences();
  for (std::size_t k = 0; k < compared.size(); ++k)
    if (differs[k]) count_write(slots[compared[k]].shown);
}

void ModuleChanges::tell_torch() {
  for (std::size_t d = 0; d < sources_.size(); ++d)
    tell_torch(d);
}

void ModuleChanges::tell_torch(std::size_t device) {
  const auto& slots = sources_[device]->slots();
  const auto is_new = [&](std::size_t i) {
    return version_of(slots[i].shown) != seen_[device][i].tandem;
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!is_new(i)) continue;
    count_write(slots[i].copy);
    if (slots[i].own.defined()) count_write(slots[i].own);
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (is_new(i)) see(device, i);
}

void ModuleChanges::see(std::size_t device, std::size_t slot) {
  const TorchSource::Slot& s = sources_[device]->slots()[slot];
  seen_[device][slot] = {s.own.defined() ? version_of(s.own) : 0, version_of(s.shown)};
}

}  // namespace tandem::libtorch
