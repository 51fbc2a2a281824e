// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tandem/data/data_loader.hpp"
#include "tandem/io/safetensors.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/optim/lr_scheduler.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/runtime/generator.hpp"

namespace tandem::training {

/// The state of a run, apart from its tensors.
struct RunState {
  std::string model = {};  ///< name and sizes of the model; a checkpoint fits no other model
  std::string data = {};   ///< name of the data set
  std::int64_t step = 0;   ///< number of updates so far
  datasets::LoaderPosition position = {};  ///< epoch, and batches of it that were trained on
  std::int64_t batch_size = 0;             ///< rows of the batches that `position` counts
  /// State of the random numbers; not set: that of the default generator at the time of saving.
  std::optional<GeneratorState> random = std::nullopt;
  double epoch_loss = 0;                           ///< sum of loss * weight over the running epoch
  double epoch_weight = 0;                         ///< sum of the weights
  std::map<std::string, std::int64_t> sizes = {};  ///< the model's sizes by name, to rebuild it
  std::string vocabulary = {};                     ///< the characters of a text; empty: no text
};

/// Writes a whole run to one safetensors file in one step (see write_atomically). The file includes
/// the state of the random numbers, so a continued run draws what it would have drawn.
///
///     training::save_checkpoint("run.st", net, optimizer, {.model = "my net", .step = step});
///     const auto state = training::load_checkpoint("run.st", net, optimizer, {.model = "my net"});
///
/// Schema, version 1: tensors "model.<name>" and "optimizer.<parameter>.<state>"; metadata "format"
/// ("tandem.checkpoint"), "schema_version", "run", "optimizer" and "schedule" (JSON), and a
/// checksum of the file ("tandem.xxh3").
/// A run larger than a file should be can be saved in several: see save_sharded_checkpoint.
/// @param schedule    null if the run has no schedule
/// @throws FileError  as write_atomically; the old file is unchanged.
/// @throws OutOfMemory  if device 0 has no room for a unit (Mode::fully_sharded); likewise.
/// @cost  At most one tensor is in host memory at a time. Of a module in Mode::fully_sharded at
///        most one unit is gathered at a time. Where ranks have shares of the optimizer's state
///        (FullyShardedDataParallel), all of them call it, within `unsharded`.
void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state,
                     const optim::LRScheduler* schedule = nullptr);

/// Reads what save_checkpoint or save_sharded_checkpoint wrote into the module, the optimizer and
/// the schedule, and sets the default generator. The module may be in another mode than the saved
/// one, and on any number of devices.
///
/// All files are compared with the module and the optimizer first, and all memory is taken. Then
/// each tensor is read and written to its place.
/// @param path      a file, or the folder of a sharded checkpoint with any number of files
/// @param expected  Its model must be the run's. Its data and sizes must be the run's, too, if they
///                  are not empty.
/// @param schedule  the schedule if the saved run had one, otherwise null
/// @param checksum  With no, the content is not compared with its checksum, which would read a
///                  large file a second time. A file without a checksum is accepted.
/// @throws FileError        if a file is missing, is cut off, is not of this checkpoint, is not
///                          what was written, or has a number that no run can have. The error has
///                          the offset, if there is one.
/// @throws InvalidArgument  if the model, data, names, shapes or dtypes differ, only one side has a
///                          schedule, or the optimizer refuses an option.
/// @throws OutOfMemory      if there is no room for the optimizer's state, or for a unit. After
///                          these errors module, optimizer and schedule are unchanged. Only if the
///                          disk fails, or a file shrinks, after all of it has been read and
///                          compared, is a part of the module new; then the optimizer refuses to go
///                          on until a checkpoint is loaded.
/// @cost  Reads the files, twice with Checksum::yes. At most one tensor is in host memory at a
///        time, and at most one unit is gathered at a time (Mode::fully_sharded).
RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const RunState& expected,
                         optim::LRScheduler* schedule = nullptr,
                         Checksum checksum = Checksum::yes);

/// Reads only the state of a checkpoint's run, for example to learn what its model is. Of a folder
/// it reads the index alone.
///
/// @throws FileError  as load_checkpoint.
RunState read_run_state(const std::string& path);

/// Reads only the model of a checkpoint, without what is needed to continue the run.
///
/// @throws FileError, InvalidArgument  as load_checkpoint.
void load_model(const std::string& path, nn::Module& module, Checksum checksum = Checksum::yes);

}  // namespace tandem::training
