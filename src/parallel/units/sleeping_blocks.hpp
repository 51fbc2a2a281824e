// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/optim/arena.hpp"
#include "tandem/runtime/buffer_source.hpp"

#include "parallel/reduce/gradient_shares.hpp"
#include "parallel/units/block_store.hpp"
#include "parallel/units/replica_blocks.hpp"

namespace tandem::parallel {

/// The blocks of one device's arena that have memory only while work uses them.
///
/// Work that uses a block gets it from the shares of all devices, whoever wants it and whenever:
/// nobody has to call for it. Then blocks of other units that this work does not use give their
/// memory back; what was written to them goes to the shares. Gradients that a backward makes stay
/// until they have been reduced.
///
/// To be used on the device's thread, or on the caller's while no call runs.
class SleepingBlocks final : public ReplicaBlocks, public BufferSource, public GradientShares {
 public:
  /// The dropped blocks of an arena, which get their bytes from here from now on.
  ///
  /// @param device  the index of the arena's device in the shares.
  static std::shared_ptr<SleepingBlocks> of(std::shared_ptr<BlockStore> store,
                                            const optim::Arena& arena,
                                            int device);
  SleepingBlocks(std::shared_ptr<BlockStore> store, const optim::Arena& arena, int device);

  void provide(Buffer& buffer, std::span<const Buffer* const> used) override;
  Tensor gradient_share(int block, const Tensor&) const override {
    return store_->reduced(block, device_);
  }
  Tensor outgoing(const Tensor& whole) const override { return store_->outgoing(whole); }
  void end_reduction(int block) override;
  void end_backward() override;

  bool may_sleep() const noexcept override { return true; }
  void keep_values(bool keep) noexcept override { keeps_values_ = keep; }
  void begin_backward(std::vector<std::uint8_t> adds_to) override;
  void set_writes(Writes writes) noexcept override { writes_ = writes; }
  void check_unwritten() override;
  void discard_gradients(bool collects) override;
  void end_job(Ending ending) override;
  void sleep() override;
  void sleep_values() override;
  /// Lets go of them too.
  void wake_for_good() override;
  /// The gradients that this device has made are those of all devices.
  void keep_gradients();
  /// Gives up the gradients of a job that has failed. Called once the jobs of all devices have
  /// ended: until then these may read gradients that they reduce.
  void discard_failed();
  /// The device's shares may have been updated. Values that are here are old then, and no graph
  /// from before the update is to be used with the new ones.
  void note_updated();

 private:
  struct Block {
    std::weak_ptr<Buffer> buffer;
    BlockStore::Of of = BlockStore::Of::values;
    int index = 0;
    int unit = 0;
    std::int64_t numel = 0;
    DType dtype = DType::f32;
    std::shared_ptr<const std::string> name;
    bool is_awake = false;
    bool is_made = false;                      // gradients that have not been reduced
    std::uint64_t version = 0;                 // of the buffer when it got its bytes
    std::vector<std::uint64_t> parts = {};     // versions of its parts at that time
    std::vector<std::string> parameters = {};  // of values, the names of those parts
    std::uint64_t share_version = 0;           // of this device's share of the values
  };
  void set_sources(const std::shared_ptr<SleepingBlocks>& source) const;
  Block& block_of(BlockStore::Of of, int index);
  /// The values that are here are not those of the shares.
  void forget_values();
  std::uint64_t version_of_share(const Block& block) const;
  /// Gives a block the bytes that have been gathered ahead. @return whether there are some
  bool wake_gathered(Block& block, const std::shared_ptr<Buffer>& buffer) const;
  void put_bytes(Block& block, const std::shared_ptr<Buffer>& buffer) const;
  void fill(Block& block, const std::shared_ptr<Buffer>& buffer) const;
  void sleep(Block& block) const;
  bool is_written(const Block& block) const;
  [[noreturn]] void refuse_write(Block& block) const;
  /// Puts it to sleep without its bytes.
  void forget(Block& block) const;
  void make_room(const Block& for_block, std::span<const Buffer* const> used);

  const std::shared_ptr<BlockStore> store_;
  const int device_;
  std::vector<Block> blocks_;
  std::unordered_map<const Buffer*, std::size_t> index_;
  bool keeps_values_ = false;
  Writes writes_ = Writes::kept;
  bool collects_ = false;
  bool began_ = false;  // a backward, in this job or in the one that failed
  std::vector<std::uint8_t> adds_to_;
};

}  // namespace tandem::parallel
