// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/train/checkpoint.hpp"

namespace tandem::training {

struct ShardedCheckpointOptions {
  /// The number of files for the model's tensors, and for the optimizer's; at most one for each
  /// tensor. From 1 to 99,999; usually one for each device.
  std::int64_t files = 1;
};

/// Writes a whole run to a folder in one step, in the form of Hugging Face's sharded safetensors,
/// so that what reads those reads the model.
///
///     training::save_sharded_checkpoint("run", net, optimizer, {.model = "my net"}, {.files = 4});
///     const auto state = training::load_checkpoint("run", net, optimizer, {.model = "my net"});
///
/// The folder has "model-00001-of-00004.safetensors" and so on, and
/// "model.safetensors.index.json": its "weight_map" says which file has a tensor, and its
/// "metadata" has "total_size" (bytes), what the metadata of save_checkpoint's file has, and the
/// checksum of each file ("tandem.files") and of the index ("tandem.xxh3"). The same with
/// "optimizer" has the optimizer's tensors, "<parameter>.<state>". Each tensor is whole in one
/// file; files are of about the same size. Equal runs give equal folders.
///
/// The old folder stays until the new one is complete. It must have nothing in it but a sharded
/// checkpoint. Who reads it while it is replaced gets the old run, the new one, or a FileError.
/// A folder that a killed program has left unfinished beside it is removed by the next save.
///
/// @param schedule  null if the run has no schedule
/// @cost  At most one tensor is in host memory at a time. Of a module in Mode::fully_sharded at
///        most one unit is gathered at a time, each of them about once.
/// @throws InvalidArgument  if the number of files is out of range.
/// @throws FileError  if the system refuses a write, the folder cannot be replaced, holds
///                    something else, or is a file. The old folder is unchanged.
/// @throws OutOfMemory  if device 0 has no room for a unit. The old folder is unchanged.
void save_sharded_checkpoint(const std::string& folder,
                             const nn::Module& module,
                             const optim::Optimizer& optimizer,
                             const RunState& state,
                             const ShardedCheckpointOptions& options,
                             const optim::LRScheduler* schedule = nullptr);

/// Finds out whether save_sharded_checkpoint could write `folder`, and leaves no trace.
///
/// @throws FileError  as save_sharded_checkpoint would before it writes.
void check_replaceable_checkpoint(const std::string& folder);

}  // namespace tandem::training
