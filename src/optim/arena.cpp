// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/arena.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::optim {

Arena::Arena(ArenaLayout layout, Device device, ArenaOptions options)
    : layout_(std::move(layout)),
      device_(device),
      options_(options),
      tensors_(layout_.places().size()) {
  for (std::size_t b = 0; b < layout_.blocks().size(); ++b) {
    const bool trains = layout_.blocks()[b].trains == Trains::yes;
    values_.push_back(
        allocate(b, options_.category, values_sleep() ? Memory::none : Memory::taken));
    const Memory of_gradients = options_.keeper != nullptr ? Memory::none : Memory::taken;
    gradients_.push_back(trains ? allocate(b, Category::gradient, of_gradients) : Tensor{});
  }
}

std::shared_ptr<const std::string> Arena::unit_name(std::size_t block) const {
  return std::make_shared<const std::string>(layout_.first_place(static_cast<int>(block)).name);
}

Tensor Arena::allocate(std::size_t index, Category category, Memory memory) const {
  const ArenaBlock& block = layout_.blocks()[index];
  auto shares =
      layout_.module_shares(static_cast<int>(index), 0, block.numel, itemsize(block.dtype));
  auto buffer = memory == Memory::taken
                    ? std::make_shared<Buffer>(device_, block.nbytes(), category, std::move(shares))
                    : std::make_shared<Buffer>(
                          device_, block.nbytes(), category, std::move(shares), unit_name(index));
  std::vector<std::size_t> ends;
  for (const ArenaPlace& at : layout_.places()) {
    if (static_cast<std::size_t>(at.block) != index) continue;
    ends.push_back(static_cast<std::size_t>(at.offset + at.extent) * itemsize(block.dtype));
  }
  buffer->count_parts(std::move(ends));
  Tensor flat = from_buffer(std::move(buffer), 0, {block.numel}, {1}, block.dtype);
  if (memory == Memory::taken) flat.zero_();  // padding too: it takes part in norms and sums
  return flat;
}

std::shared_ptr<Arena> Arena::bind(const std::vector<ArenaEntry>& entries, ArenaOptions options) {
  ArenaLayout layout(entries, options.padding);
  TANDEM_CHECK(!entries.empty(), "arena: no tensors to bind; does the module have parameters?");
  const ArenaEntry& first = entries.front();
  for (const ArenaEntry& entry : entries) {
    TANDEM_CHECK(entry.tensor.device() == first.tensor.device(),
                 "arena: '",
                 first.name,
                 "' is on ",
                 first.tensor.device(),
                 " but '",
                 entry.name,
                 "' is on ",
                 entry.tensor.device(),
                 "; move the module to one device first");
  }
  const autograd::NoGrad off;
  const Device device = options.device.value_or(first.tensor.device());
  for (const int b : layout.block_indices())
    if (options.dtype && is_float(layout.blocks()[static_cast<std::size_t>(b)].dtype))
      layout.set_dtype(b, *options.dtype);
  const std::shared_ptr<Arena> arena(new Arena(std::move(layout), device, options));
  const std::vector<std::size_t>& sources = arena->layout_.sources();
  for (std::size_t p = 0; p < sources.size() && !arena->values_sleep(); ++p) {
    const int block = arena->layout_.places()[p].block;
    arena->take_values(p, entries[sources[p]].tensor, arena->params(block));
  }
  for (const int b : arena->layout_.block_indices())
    if (arena->values_sleep()) arena->keep_values(b, entries);
  if (options.keeper != nullptr) options.keeper->end(*arena);
  // Everything is allocated and copied: from here on nothing fails for want of device memory.
  for (std::size_t p = 0; p < sources.size(); ++p)
    arena->attach(p, entries[sources[p]].tensor, arena);
  return arena;
}

std::shared_ptr<Arena> Arena::none(Device device) {
  return std::shared_ptr<Arena>(new Arena(ArenaLayout(std::vector<ArenaEntry>()), device, {}));
}

void Arena::keep_values(int block, const std::vector<ArenaEntry>& entries) const {
  const ContextScope scope([&](Context& c) { c.category = options_.category; });
  const auto b = static_cast<std::size_t>(block);
  const std::vector<std::size_t>& sources = layout_.sources();
  Tensor values;  // in the tensors' own type
  for (std::size_t p = 0; p < sources.size(); ++p) {
    if (layout_.places()[p].block != block) continue;
    const Tensor& source = entries[sources[p]].tensor;
    if (!values.defined())
      values = zeros({layout_.blocks()[b].numel}, {.dtype = source.dtype(), .device = device_});
    take_values(p, source, values);
  }
  options_.keeper->keep(block, values);
}

bool Arena::bound_there(const Arena& arena, const std::vector<ArenaEntry>& entries) {
  std::vector<bool> seen(arena.layout_.places().size(), false);
  for (const ArenaEntry& entry : entries) {
    const auto place = arena.place_of(entry.tensor);
    if (!place) return false;
    seen[*place] = true;
  }
  for (std::size_t p = 0; p < seen.size(); ++p) {
    if (!seen[p])
      return false;  // of someone else, or of nobody: a replica would have no tensor there
  }
  return true;
}

std::shared_ptr<Arena> Arena::obtain(std::vector<ArenaEntry> entries, ArenaOptions options) {
  TANDEM_CHECK(!entries.empty(), "arena: no tensors to bind; does the module have parameters?");
  const Device device = options.device.value_or(entries.front().tensor.device());
  if (auto arena = of(entries.front().tensor); arena != nullptr && arena->device() == device &&
                                               arena->options_.keeper == options.keeper &&
                                               bound_there(*arena, entries)) {
    arena->ensure_gradients();
    return arena;
  }
  for (ArenaEntry& entry : entries) {
    const auto arena = of(entry.tensor);
    if (arena == nullptr) continue;
    const ArenaBlock& block = arena->block_at(*arena->place_of(entry.tensor));
    entry.group = block.group;
    entry.unit = block.unit;
  }
  return bind(entries, options);
}

std::shared_ptr<Arena> Arena::of(const Tensor& x) {
  auto arena = std::dynamic_pointer_cast<Arena>(x.impl().home);
  if (arena != nullptr && !arena->place_of(x)) return nullptr;
  return arena;
}

ArenaReplica Arena::replicate(Device device) const {
  const autograd::NoGrad off;
  ArenaReplica replica{std::shared_ptr<Arena>(new Arena(layout_, device, options_)), {}};
  Arena& arena = *replica.arena;
  for (const std::size_t p : layout_.place_indices()) {
    const Tensor original = tensor(p);
    Tensor x = arena.view(p, arena.params(layout_.places()[p].block));
    if (original.defined() && original.requires_grad()) x.requires_grad_();
    arena.attach(p, x, replica.arena);
    replica.tensors.push_back(std::move(x));
  }
  return replica;
}

void Arena::take_values(std::size_t place, const Tensor& source, const Tensor& flat) const {
  const ArenaPlace& to = layout_.places()[place];
  if (source.strides() != to.strides) {
    view(place, flat).copy_(source.detach());
    return;
  }
  const std::size_t size = itemsize(source.dtype());
  copy_bytes(source.buffer(),
             static_cast<std::size_t>(source.impl().offset) * size,
             flat.buffer(),
             static_cast<std::size_t>(to.offset) * size,
             source.nbytes());
}

void Arena::attach(std::size_t place, const Tensor& x, const std::shared_ptr<Arena>& self) {
  const ArenaPlace& at = layout_.places()[place];
  const std::uint64_t version = version_of(x);
  TensorImpl& impl = x.impl();
  impl.buffer = params(at.block).impl().buffer;
  impl.dtype = layout_.blocks()[static_cast<std::size_t>(at.block)].dtype;
  if (at.extent > 0)
    impl.buffer->set_version(static_cast<std::size_t>(at.offset) * itemsize(impl.dtype), version);
  impl.offset = at.offset;
  impl.strides = at.strides;
  impl.home = self;
  // It takes over the values of the one there is.
  if (const Tensor gradient = this->gradient(place); gradient.defined())
    autograd::bind_gradient(x, gradient);
  tensors_[place] = x.shared();
  index_[&impl] = place;
}

const ArenaBlock& Arena::block_at(std::size_t place) const {
  return layout_.blocks()[static_cast<std::size_t>(layout_.places()[place].block)];
}

Tensor Arena::tensor(std::size_t place) const {
  const auto impl = tensors_.at(place).lock();
  return impl != nullptr && impl->home.get() == this ? Tensor(impl) : Tensor{};
}

std::optional<std::size_t> Arena::place_of(const Tensor& x) const {
  const auto at = index_.find(&x.impl());
  if (at == index_.end() || !tensor(at->second).is(x)) return std::nullopt;
  const ArenaPlace& place = layout_.places()[at->second];
  // Storage that was replaced behind our back (a module moved to another device) is no longer here.
  if (x.impl().buffer != params(place.block).impl().buffer || x.impl().offset != place.offset)
    return std::nullopt;
  return at->second;
}

Tensor Arena::gradient(std::size_t place) const {
  const Tensor& flat = grads(layout_.places().at(place).block);
  return flat.defined() ? view(place, flat) : Tensor{};
}

Tensor Arena::view(std::size_t place, const Tensor& flat, std::int64_t begin) const {
  const ArenaPlace& at = layout_.places().at(place);
  return as_strided(flat, at.shape, at.strides, flat.impl().offset + at.offset - begin);
}

Tensor Arena::exchange_values(int block, Tensor flat) {
  Tensor& values = values_.at(static_cast<std::size_t>(block));
  for (const std::size_t p : layout_.place_indices()) {
    const Tensor x = tensor(p);
    if (layout_.places()[p].block != block || !x.defined()) continue;
    x.impl().buffer = flat.impl().buffer;
    x.impl().dtype = flat.dtype();
  }
  layout_.set_dtype(block, flat.dtype());
  return std::exchange(values, std::move(flat));
}

Arena::Versions Arena::versions() const {
  std::vector<Versions> parts;  // by block
  for (const Tensor& block : values_)
    parts.push_back(block.buffer().part_versions());
  std::vector<std::size_t> next(parts.size());
  Versions versions;
  for (const ArenaPlace& at : layout_.places()) {
    const auto b = static_cast<std::size_t>(at.block);
    versions.push_back(parts[b][next[b]++]);
  }
  return versions;
}

void Arena::set_versions(const Versions& versions) const {
  std::vector<Versions> parts(values_.size());
  for (std::size_t p = 0; p < versions.size(); ++p)
    parts[static_cast<std::size_t>(layout_.places()[p].block)].push_back(versions[p]);
  for (std::size_t b = 0; b < parts.size(); ++b)
    values_[b].buffer().set_part_versions(parts[b]);
}

std::vector<ArenaSlice> Arena::slices() const {
  const auto shared = sharing();
  return shared == nullptr ? whole_slices() : shared->slices();
}

std::vector<ArenaSlice> Arena::whole_slices() const {
  std::vector<ArenaSlice> slices;
  for (std::size_t b = 0; b < values_.size(); ++b) {
    slices.push_back(
        {device_, static_cast<int>(b), 0, layout_.blocks()[b].numel, values_[b], gradients_[b]});
  }
  return slices;
}

void Arena::ensure_gradients() {
  const autograd::NoGrad off;
  std::vector<Tensor> fresh(gradients_.size());
  for (std::size_t p = 0; p < tensors_.size(); ++p) {
    const auto b = static_cast<std::size_t>(layout_.places()[p].block);
    const Tensor x = tensor(p);
    if (gradients_[b].defined() || fresh[b].defined() || !x.defined()) continue;
    if (x.requires_grad() || autograd::stored_gradient(x).defined())
      fresh[b] = allocate(b, Category::gradient, Memory::taken);
  }
  for (std::size_t b = 0; b < fresh.size(); ++b) {
    if (!fresh[b].defined()) continue;
    gradients_[b] = fresh[b];
    layout_.note_unfrozen(b);
  }
  for (std::size_t p = 0; p < tensors_.size(); ++p) {
    const Tensor x = tensor(p);
    const auto b = static_cast<std::size_t>(layout_.places()[p].block);
    if (x.defined() && fresh[b].defined()) autograd::bind_gradient(x, gradient(p));
  }
}

}  // namespace tandem::optim
