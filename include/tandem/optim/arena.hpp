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

#include "tandem/optim/arena_layout.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

class Arena;
class ArenaSharing;

struct ArenaOptions {
  Category category = Category::parameter;  ///< of the values; gradients are Category::gradient
};

/// A part of an arena that is updated on one device: here its blocks; a shard or a copy of one
/// elsewhere.
struct ArenaSlice {
  Device device;
  int block = 0;
  std::int64_t begin = 0;  ///< elements of the block
  std::int64_t end = 0;
  Tensor params;  ///< [begin, end) of the block, flat
  Tensor grads;   ///< the same of the gradients; undefined where the block does not train
};

/// An arena on another device, and the new tensors that are bound in it.
struct ArenaReplica {
  std::shared_ptr<Arena> arena;
  std::vector<Tensor> tensors;  ///< one per place; leaves that require grad as the originals do
};

/// Tensors of one device and their gradients as views of flat storage.
///
/// A broadcast, a reduction or an update then is one piece of work per block. Owned by the tensors
/// bound in it, and by whoever else keeps the pointer; it does not keep its tensors alive. Reading
/// is thread-safe; binding is for one thread, between a backward and the next forward.
class Arena final : public StorageHome {
 public:
  /// Moves the storage of `entries` and of their gradients into new flat storage.
  ///
  /// Each tensor stays the same tensor, with its values, gradient and (where dense) strides. Views
  /// taken before keep the old storage. Storage is allocated first: if it is short, nothing has
  /// changed.
  ///
  /// @throws InvalidArgument  as ArenaLayout; tensors on several devices.
  /// @throws OutOfMemory
  /// @cost  layout().nbytes() + layout().gradient_nbytes() bytes, beside the old ones until the
  /// end.
  static std::shared_ptr<Arena> bind(const std::vector<ArenaEntry>& entries,
                                     ArenaOptions options = {});
  /// The arena that holds exactly `entries`, where they are in one; else binds them, each in the
  /// group of the arena that it was in, if any.
  static std::shared_ptr<Arena> obtain(std::vector<ArenaEntry> entries, ArenaOptions options = {});
  /// The arena that `x` is bound in; null if there is none, or if x's storage was replaced since.
  static std::shared_ptr<Arena> of(const Tensor& x);

  /// The same layout on another device, with new tensors. Gradients are zero, values not yet there:
  /// copy or broadcast each block's `params`.
  ///
  /// @throws OutOfMemory
  ArenaReplica replicate(Device device) const;

  const ArenaLayout& layout() const noexcept { return layout_; }
  Device device() const noexcept { return device_; }
  /// A block's values, flat. The tensor shares the arena's storage.
  const Tensor& params(int block) const { return values_.at(static_cast<std::size_t>(block)); }
  /// A block's gradients, flat; undefined where it does not train. Those of tensors whose grad() is
  /// undefined are stale.
  const Tensor& grads(int block) const { return gradients_.at(static_cast<std::size_t>(block)); }
  /// The block of a dtype and group that trains. @throws InvalidArgument  there is none.
  int block_of(DType dtype, int group = 0) const;

  /// The tensor bound at a place; undefined if it no longer lives or was bound elsewhere since.
  Tensor tensor(std::size_t place) const;
  /// The place of a tensor bound here.
  std::optional<std::size_t> place_of(const Tensor& x) const;
  /// A place's gradient storage in the tensor's shape; undefined where the block does not train.
  Tensor gradient(std::size_t place) const;
  /// A place's part of `flat`, which is laid out as its block from element `begin` on, in the
  /// tensor's shape.
  Tensor view(std::size_t place, const Tensor& flat, std::int64_t begin = 0) const;

  /// Versions of the tensors' values (version_of), by place.
  using Versions = std::vector<std::uint64_t>;
  Versions versions() const;
  /// Sets the versions, after values were written that equal the old ones, or a copy of another
  /// arena's. Backward then does not take the tensors for changed.
  ///
  /// @param versions  of this arena at an earlier time, or of an arena with the same layout.
  void set_versions(const Versions& versions) const;

  /// What an optimizer's update runs over: the parts of the devices that share it, or whole_slices.
  std::vector<ArenaSlice> slices() const;
  /// The blocks, as they lie here.
  std::vector<ArenaSlice> whole_slices() const;
  /// From now on, other devices take part in the update, as long as `sharing` lives.
  void share(std::weak_ptr<ArenaSharing> sharing) { sharing_ = std::move(sharing); }
  /// Null: the update is made here.
  std::shared_ptr<ArenaSharing> sharing() const noexcept { return sharing_.lock(); }
  /// Makes `wrapper` the only one that may make replicas of the tensors here, as long as it lives.
  void claim(std::weak_ptr<const void> wrapper) { wrapper_ = std::move(wrapper); }
  /// A wrapper lives that has claimed the tensors.
  bool is_claimed() const noexcept { return !wrapper_.expired(); }
  /// Gives gradient storage to blocks whose tensors require grad by now (unfrozen layers).
  ///
  /// @throws OutOfMemory  nothing has changed.
  void ensure_gradients();

 private:
  Arena(ArenaLayout layout, Device device, ArenaOptions options);
  static bool bound_there(const Arena& arena, const std::vector<ArenaEntry>& entries);
  Tensor allocate(std::size_t block, Category category) const;
  void take_values(std::size_t place, const Tensor& source) const;
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
