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

/// Where a run stands, beside its tensors.
struct RunState {
  std::string model = {};  ///< name and sizes of the model: a checkpoint fits no other
  std::string data = {};   ///< name of the data set
  std::int64_t step = 0;   ///< updates so far
  datasets::LoaderPosition position = {};  ///< epoch, and batches of it that were trained on
  std::int64_t batch_size = 0;             ///< rows of a batch that `position` counts
  /// Of random numbers; none: the default generator's at the moment of saving.
  std::optional<GeneratorState> random = std::nullopt;
  double epoch_loss = 0;  ///< sum of loss x weight of the running epoch
  double epoch_weight = 0;
  std::map<std::string, std::int64_t> sizes = {};  ///< of the model, by name: to build it again
  std::string vocabulary = {};                     ///< characters of a text; empty: none
};

/// Writes a whole run to one safetensors file, in one step (see write_atomically). Random numbers
/// are part of it: a run that goes on draws what it would have drawn.
///
///     training::save_checkpoint("run.st", net, optimizer, {.model = "my net", .step = step});
///     const auto state = training::load_checkpoint("run.st", net, optimizer, {.model = "my net"});
///
/// Schema, version 1: tensors "model.<name>" and "optimizer.<parameter>.<state>"; metadata "format"
/// ("tandem.checkpoint"), "schema_version", "run", "optimizer" and "schedule" (JSON), and a
/// checksum of the file ("tandem.xxh3").
/// @param schedule  null: the run has none.
/// @throws FileError  the old file is as it was.
void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state,
                     const optim::LRScheduler* schedule = nullptr);

/// Reads what save_checkpoint wrote into module and optimizer; sets the default generator.
///
/// @param expected  its model must be the run's; so must its data and sizes, where it has any.
/// @param schedule  where the saved run had one, else null.
/// @param checksum  no: the file's content is not compared with its checksum, which takes a second
///                  reading of a large file. A file without one is taken as it is.
/// @throws FileError        the file is missing, cut off, no checkpoint, not what was written, or
///                          has a number that no run has; it has the offset.
/// @throws InvalidArgument  another model, data, names or shapes, a schedule on one side alone,
///                          options that the optimizer does not take. Module, optimizer and
///                          schedule are as before.
RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const RunState& expected,
                         optim::LRScheduler* schedule = nullptr,
                         Checksum checksum = Checksum::yes);

/// Reads where the run of a checkpoint stands, and nothing else: what its model is.
///
/// @throws FileError  as load_checkpoint.
RunState read_run_state(const std::string& path);

/// Reads the model of a checkpoint without what a run needs to go on.
///
/// @throws FileError, InvalidArgument  as load_checkpoint.
void load_model(const std::string& path, nn::Module& module, Checksum checksum = Checksum::yes);

}  // namespace tandem::training
