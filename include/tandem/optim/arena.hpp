// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/optim/arena_keeper.hpp"
#include "tandem/optim/arena_layout.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

class Arena;
class ArenaSharing;

struct ArenaOptions {
  /// Category of the values; gradients are always Category::gradient.
  Category category = Category::parameter;
  BlockPadding padding = {};
  /// Not null: blocks give their memory back (Buffer::drop), here and in replicas.
  std::shared_ptr<ArenaKeeper> keeper = nullptr;
  /// Where tensors move to as they are bound; none: they stay on their device.
  std::optional<Device> device = std::nullopt;
  /// The type in which tensors of float types are bound, with a keeper that keeps values: it gets
  /// them in the type that they had, the masters'. None: tensors keep their types.
  std::optional<DType> dtype = std::nullopt;
};

/// The part of an arena's block that one device updates: a whole block of the arena itself, or a
/// shard or a copy of one on any device.
struct ArenaSlice {
  Device device;  ///< on whose thread it is updated; its tensors may be on another one
  int block = 0;
  std::int64_t begin = 0;  ///< first element, counted in the block
  std::int64_t end = 0;
  Tensor params;  ///< elements [begin, end) of the block, flat
  Tensor grads;   ///< the gradients of these elements; undefined if the block does not train
};

/// An arena on another device, and the new tensors that are bound in it.
struct ArenaReplica {
  std::shared_ptr<Arena> arena;
  std::vector<Tensor> tensors;  ///< one per place; leaves that require grad if the originals do
};

/// Holds tensors of one device and their gradients as views of flat storage.
///
/// A broadcast, a reduction or an update is then one piece of work per block. The tensors bound in
/// an arena own it, as does anyone else who keeps the pointer. The arena does not keep its tensors
/// alive. Reading is thread-safe. Only one thread may bind, between a backward and the next
/// forward.
class Arena final : public StorageHome {
 public:
  /// Moves the storage of `entries` and of their gradients into new flat storage.
  ///
  /// Each tensor stays the same tensor, with its values, its gradient and, if it is dense, its
  /// strides. Views taken before keep the old storage.
  /// @throws InvalidArgument  as ArenaLayout, or if tensors are on several devices.
  /// @throws OutOfMemory      nothing has changed, because storage is allocated first.
  /// @cost  layout().nbytes() + layout().gradient_nbytes() bytes, in addition to the old storage,
  ///        which is released at the end.
  static std::shared_ptr<Arena> bind(const std::vector<ArenaEntry>& entries,
                                     ArenaOptions options = {});
  /// Returns the arena that holds exactly `entries`, if there is one; otherwise binds them. A
  /// tensor that was in another arena keeps the group and the unit that it had there.
  static std::shared_ptr<Arena> obtain(std::vector<ArenaEntry> entries, ArenaOptions options = {});
  /// An arena that holds no tensors, for a module that has none.
  static std::shared_ptr<Arena> none(Device device);
  /// The arena that `x` is bound in; null if there is none, or if x's storage has been replaced.
  static std::shared_ptr<Arena> of(const Tensor& x);

  /// An arena of the same layout on another device, with new tensors. Values and gradients are
  /// zero; copy or broadcast each block's `params` to it. What a keeper keeps has no memory here.
  ///
  /// @throws OutOfMemory
  ArenaReplica replicate(Device device) const;

  const ArenaLayout& layout() const noexcept { return layout_; }
  Device device() const noexcept { return device_; }
  /// A block's values, flat. The tensor shares the arena's storage.
  const Tensor& params(int block) const { return values_.at(static_cast<std::size_t>(block)); }
  /// The values of all blocks.
  const std::vector<Tensor>& params() const noexcept { return values_; }
  /// A block's gradients, flat; undefined if the block does not train. The part of a tensor whose
  /// grad() is undefined is stale.
  const Tensor& grads(int block) const { return gradients_.at(static_cast<std::size_t>(block)); }
  /// The gradients of all blocks.
  const std::vector<Tensor>& grads() const noexcept { return gradients_; }
  /// The tensor bound at a place; undefined if it no longer lives or has been bound elsewhere.
  Tensor tensor(std::size_t place) const;
  /// The place of a tensor bound here.
  std::optional<std::size_t> place_of(const Tensor& x) const;
  /// The group of a tensor bound here.
  int group_of(const Tensor& x) const { return block_at(place_of(x).value()).group; }
  /// A place's gradient storage in the tensor's shape; undefined if the block does not train.
  Tensor gradient(std::size_t place) const;
  /// The part of `flat` that belongs to a place, in the tensor's shape.
  ///
  /// @param flat  laid out like the place's block from element `begin` on
  Tensor view(std::size_t place, const Tensor& flat, std::int64_t begin = 0) const;

  /// Gives the tensors of a block another storage, of the same layout and any type.
  ///
  /// @return  the storage that they had, with its versions.
  Tensor exchange_values(int block, Tensor flat);
  /// Versions of the tensors' values (version_of), by place.
  using Versions = std::vector<std::uint64_t>;
  Versions versions() const;
  /// Sets the versions, so that backward does not take the tensors for changed. Use it after
  /// writing values that equal the old ones, or that are a copy of another arena's.
  ///
  /// @param versions  of this arena at an earlier time, or of an arena with the same layout
  void set_versions(const Versions& versions) const;

  /// What an optimizer's update runs over: the parts of the devices that share the update, or
  /// whole_slices if this device updates alone.
  std::vector<ArenaSlice> slices() const;
  /// One slice for each whole block of this arena.
  std::vector<ArenaSlice> whole_slices() const;
  /// Lets other devices take part in the update from now on, as long as `sharing` lives.
  void share(std::weak_ptr<ArenaSharing> sharing) { sharing_ = std::move(sharing); }
  /// The devices that share the update; null if this device updates alone.
  std::shared_ptr<ArenaSharing> sharing() const noexcept { return sharing_.lock(); }
  /// Lets only `wrapper` make replicas of the tensors of this arena, as long as it lives.
  void claim(std::weak_ptr<const void> wrapper) { wrapper_ = std::move(wrapper); }
  /// Whether a wrapper that has claimed the tensors still lives.
  bool is_claimed() const noexcept { return !wrapper_.expired(); }
  /// Allocates gradient storage for blocks whose tensors have come to require grad (unfrozen
  /// layers).
  ///
  /// @throws OutOfMemory  nothing has changed.
  void ensure_gradients();

 private:
  Arena(ArenaLayout layout, Device device, ArenaOptions options);
  static bool bound_there(const Arena& arena, const std::vector<ArenaEntry>& entries);
  bool values_sleep() const noexcept {
    return options_.keeper != nullptr && options_.keeper->keeps_values();
  }
  enum class Memory : std::uint8_t { taken, none };
  Tensor allocate(std::size_t block, Category category, Memory memory) const;
  std::shared_ptr<const std::string> unit_name(std::size_t block) const;
  void take_values(std::size_t place, const Tensor& source, const Tensor& flat) const;
  /// Gives a block's values to the keeper, after which it has no memory.
  void keep_values(int block, const std::vector<ArenaEntry>& entries) const;
  void attach(std::size_t place, const Tensor& x, const std::shared_ptr<Arena>& self);
  const ArenaBlock& block_at(std::size_t place) const;

  ArenaLayout layout_;
  Device device_;
  ArenaOptions options_;
  std::vector<Tensor> values_;                      // per block
  std::vector<Tensor> gradients_;                   // per block
  std::vector<std::weak_ptr<TensorImpl>> tensors_;  // per place
  std::unordered_map<const TensorImpl*, std::size_t> index_;
  std::weak_ptr<ArenaSharing> sharing_;
  std::weak_ptr<const void> wrapper_;
};

}  // namespace tandem::optim
