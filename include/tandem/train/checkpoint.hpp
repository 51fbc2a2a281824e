// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/data/data_loader.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/optim/optimizer.hpp"

namespace tandem::train {

/// Where a run stands, beside its tensors.
struct RunState {
  std::string model;              ///< name and sizes of the model: a checkpoint fits no other
  std::string data;               ///< name of the data set
  std::int64_t step = 0;          ///< updates so far
  data::LoaderPosition position;  ///< epoch, and batches of it that were trained on
  std::int64_t batch_size = 0;    ///< rows of a batch that `position` counts
  std::uint64_t seed = 0;
  std::uint64_t forwards = 0;  ///< position of dropout's numbers
  std::uint64_t draws = 0;     ///< position of rand and randn
  double epoch_loss = 0;       ///< sum of loss x weight of the running epoch
  double epoch_weight = 0;
};

/// Writes a whole run to one safetensors file, in one step (see write_atomically).
///
/// Schema, version 1: tensors "model.<name>" and "optimizer.<parameter>.<state>"; metadata "format"
/// ("tandem.checkpoint"), "schema_version", "run" and "optimizer" (JSON).
/// @throws FileError  the old file is as it was.
void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state);

/// Reads what save_checkpoint wrote into module and optimizer; sets the seed and position of random
/// numbers.
///
/// @param model  what the run's model must be.
/// @throws FileError        the file is missing, cut off, or no checkpoint; it has the offset.
/// @throws InvalidArgument  another model, other names or shapes. Module and optimizer are as
/// before.
RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const std::string& model);

}  // namespace tandem::train
