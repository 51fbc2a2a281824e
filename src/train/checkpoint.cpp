// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/checkpoint.hpp"

#include <charconv>
#include <map>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/io/tensor_file.hpp"
#include "tandem/nn/state_dict.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::train {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "tandem.checkpoint";
constexpr const char* kSchemaVersion = "1";
constexpr std::string_view kModel = "model.";
constexpr std::string_view kOptimizer = "optimizer.";

Json to_json(const RunState& s) {
  return {{"model", s.model},
          {"data", s.data},
          {"step", s.step},
          {"epoch", s.position.epoch},
          {"batch", s.position.batch},
          {"batch_size", s.batch_size},
          {"seed", s.seed},
          {"forwards", s.forwards},
          {"draws", s.draws},
          {"epoch_loss", s.epoch_loss},
          {"epoch_weight", s.epoch_weight}};
}

RunState run_state(const Json& j) {
  RunState s;
  j.at("model").get_to(s.model);
  j.at("data").get_to(s.data);
  j.at("step").get_to(s.step);
  j.at("epoch").get_to(s.position.epoch);
  j.at("batch").get_to(s.position.batch);
  j.at("batch_size").get_to(s.batch_size);
  j.at("seed").get_to(s.seed);
  j.at("forwards").get_to(s.forwards);
  j.at("draws").get_to(s.draws);
  j.at("epoch_loss").get_to(s.epoch_loss);
  j.at("epoch_weight").get_to(s.epoch_weight);
  return s;
}

/// The metadata under `key`, read by `parse`.
template <class Parse>
auto parse_metadata(const std::string& path,
                    const SafetensorsFile& file,
                    const char* key,
                    Parse parse) {
  const auto at = file.metadata().find(key);
  if (at == file.metadata().end()) {
    throw FileError(
        path, -1, tandem::detail::concat("is a checkpoint without its metadata '", key, "'"));
  }
  try {
    return parse(Json::parse(at->second));
  } catch (const Json::exception& e) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat("the metadata '", key, "' is not as a checkpoint's: ", e.what()));
  }
}

void check_format(const std::string& path, const SafetensorsFile& file) {
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat) {
    throw FileError(path, -1, "is a safetensors file, but no checkpoint of tandem");
  }
  const auto version = file.metadata().find("schema_version");
  if (version == file.metadata().end() || version->second != kSchemaVersion) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat("has checkpoint schema version ",
                               version == file.metadata().end() ? "none" : version->second,
                               ", this tandem reads ",
                               kSchemaVersion));
  }
}

/// The module's tensors as they are, to put back if the optimizer's do not fit.
nn::StateDict copy_of(const nn::Module& module) {
  nn::StateDict copy;
  for (const auto& [name, x] : module.state_dict())
    copy.set(name, x.clone());
  return copy;
}

/// A module takes tensors of any type and converts them, which would not go on exactly.
void check_types(const nn::StateDict& weights, const nn::Module& module) {
  for (const auto& [name, x] : module.state_dict()) {
    if (!weights.contains(name)) continue;
    TANDEM_CHECK(weights.at(name).dtype() == x.dtype(),
                 "'",
                 name,
                 "' is ",
                 weights.at(name).dtype(),
                 ", the model's is ",
                 x.dtype());
  }
}

/// Into both, or into neither.
void load(const std::string& path,
          const nn::StateDict& weights,
          const optim::OptimizerState& own,
          nn::Module& module,
          optim::Optimizer& optimizer) {
  const nn::StateDict before = copy_of(module);
  try {
    check_types(weights, module);
    module.load_state_dict(weights);
    try {
      optimizer.load_state_dict(own);
    } catch (...) {
      module.load_state_dict(before);
      throw;
    }
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(tandem::detail::concat("checkpoint ", path, ": ", e.what()));
  }
}

}  // namespace

void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, x] : module.state_dict())
    tensors[std::string(kModel) + name] = x;
  const optim::OptimizerState own = optimizer.state_dict();
  for (const auto& [name, x] : own.tensors)
    tensors[std::string(kOptimizer) + name] = x;
  const SafetensorsMetadata metadata{{"format", kFormat},
                                     {"schema_version", kSchemaVersion},
                                     {"run", to_json(state).dump()},
                                     {"optimizer", Json(own.numbers).dump()}};
  save_safetensors(path, tensors, metadata);
}

RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const std::string& model) {
  const SafetensorsFile file(path);
  check_format(path, file);
  RunState state = parse_metadata(path, file, "run", run_state);
  if (state.step < 0 || state.position.epoch < 0 || state.position.batch < 0)
    throw FileError(path, -1, "the metadata 'run' has a negative step, epoch or batch");
  TANDEM_CHECK(state.model == model,
               "checkpoint ",
               path,
               ": it is of '",
               state.model,
               "', this run is of '",
               model,
               "'; go on with the same, or give another file");
  nn::StateDict weights;
  optim::OptimizerState own;
  own.numbers = parse_metadata(path, file, "optimizer", [](const Json& j) {
    return j.get<std::map<std::string, double>>();
  });
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string_view name = entry.name;
    if (name.starts_with(kModel)) {
      weights.set(name.substr(kModel.size()), read_tensor(file, entry));
    } else if (name.starts_with(kOptimizer)) {
      own.tensors[std::string(name.substr(kOptimizer.size()))] = read_tensor(file, entry);
    } else {
      throw FileError(
          path,
          static_cast<std::int64_t>(entry.offset),
          tandem::detail::concat("tensor '", name, "' is neither model's nor optimizer's"));
    }
  }
  load(path, weights, own, module, optimizer);
  Runtime& runtime = Runtime::instance();
  runtime.manual_seed(state.seed);
  runtime.forwards().store(state.forwards, std::memory_order_relaxed);
  runtime.draws().store(state.draws, std::memory_order_relaxed);
  return state;
}

}  // namespace tandem::train
