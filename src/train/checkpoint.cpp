// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/checkpoint.hpp"

#include <map>
#include <optional>

#include "tandem/core/check.hpp"
#include "tandem/io/tensor_file.hpp"
#include "tandem/nn/state_dict.hpp"
#include "tandem/runtime/generator.hpp"

#include "train/run_state.hpp"

namespace tandem::training {
namespace {

using Numbers = std::map<std::string, double>;

constexpr const char* kFormat = "tandem.checkpoint";
constexpr const char* kSchemaVersion = "1";
constexpr std::string_view kModel = "model.";
constexpr std::string_view kOptimizer = "optimizer.";

/// The metadata under `key`, read by `parse`.
template <class Parse>
auto parse_metadata(const std::string& path,
                    const SafetensorsFile& file,
                    const char* key,
                    Parse parse) {
  const auto at = file.metadata().find(key);
  if (at == file.metadata().end()) {
    throw FileError(
        path, -1, tandem::detail::concat("is a checkpoint, but has no metadata '", key, "'"));
  }
  try {
    return parse(at->second);
  } catch (const InvalidArgument& e) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat("the checkpoint's metadata '", key, "' is not valid: ", e.what()));
  }
}

void check_format(const std::string& path, const SafetensorsFile& file) {
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat) {
    throw FileError(path, -1, "is a safetensors file, but not a checkpoint of tandem");
  }
  const auto version = file.metadata().find("schema_version");
  if (version == file.metadata().end() || version->second != kSchemaVersion) {
    throw FileError(
        path,
        -1,
        tandem::detail::concat("has checkpoint schema version ",
                               version == file.metadata().end() ? "none" : version->second,
                               "; this tandem reads ",
                               kSchemaVersion));
  }
}

RunState read_state(const std::string& path, const SafetensorsFile& file) {
  check_format(path, file);
  return parse_metadata(path, file, "run", parse_run_state);
}

/// What a checkpoint holds beside the state of its run.
struct Content {
  nn::StateDict weights;
  optim::OptimizerState optimizer;
  std::optional<Numbers> schedule;
};

/// What load_model needs: the tensors of the optimizer, twice as many, are not read.
nn::StateDict read_weights(const SafetensorsFile& file) {
  nn::StateDict weights;
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string_view name = entry.name;
    if (name.starts_with(kModel)) weights.set(name.substr(kModel.size()), read_tensor(file, entry));
  }
  return weights;
}

Content read_content(const std::string& path, const SafetensorsFile& file) {
  Content content;
  content.optimizer.numbers = parse_metadata(path, file, "optimizer", parse_numbers);
  if (file.metadata().contains("schedule"))
    content.schedule = parse_metadata(path, file, "schedule", parse_numbers);
  content.weights = read_weights(file);
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string_view name = entry.name;
    if (name.starts_with(kOptimizer)) {
      content.optimizer.tensors[std::string(name.substr(kOptimizer.size()))] =
          read_tensor(file, entry);
    } else if (!name.starts_with(kModel)) {
      throw FileError(path,
                      static_cast<std::int64_t>(entry.offset),
                      tandem::detail::concat(
                          "tensor '", name, "' belongs neither to the model nor to the optimizer"));
    }
  }
  return content;
}

/// "(layers 2, width 8)".
std::string sizes_text(const std::map<std::string, std::int64_t>& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += (text.empty() ? "" : ", ") + name + ' ' + std::to_string(size);
  return "(" + text + ")";
}

/// The run is the one that is expected, as far as that says.
void check_run(const std::string& path, const RunState& run, const RunState& expected) {
  const auto check = [&](bool same, const char* what, const auto& its, const auto& ours) {
    TANDEM_CHECK(same,
                 "checkpoint ",
                 path,
                 ": its run has ",
                 what,
                 " '",
                 its,
                 "', but this run has '",
                 ours,
                 "'; continue with the same, or give another file");
  };
  check(run.model == expected.model, "the model", run.model, expected.model);
  check(expected.data.empty() || run.data == expected.data, "the data", run.data, expected.data);
  check(expected.sizes.empty() || run.sizes.empty() || run.sizes == expected.sizes,
        "a model of the sizes",
        sizes_text(run.sizes),
        sizes_text(expected.sizes));
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
                 ", but the model's is ",
                 x.dtype());
  }
}

/// A schedule takes its numbers, and gives them back unless all goes well.
class ScheduleLoad {
 public:
  ScheduleLoad(optim::LRScheduler* schedule, const std::optional<Numbers>& numbers)
      : schedule_(schedule) {
    TANDEM_CHECK((schedule != nullptr) == numbers.has_value(),
                 numbers ? "its run has a schedule of the learning rate, but this run has none"
                         : "its run has no schedule of the learning rate, but this run has one",
                 "; continue as the run began");
    if (schedule == nullptr) return;
    before_ = schedule->state_dict();
    schedule->load_state_dict(*numbers);
  }
  ~ScheduleLoad() {
    if (schedule_ != nullptr && !kept_) schedule_->load_state_dict(before_);
  }
  ScheduleLoad(const ScheduleLoad&) = delete;
  ScheduleLoad& operator=(const ScheduleLoad&) = delete;
  void keep() noexcept { kept_ = true; }

 private:
  optim::LRScheduler* schedule_;
  Numbers before_;
  bool kept_ = false;
};

/// Into all, or into none.
void load(const std::string& path,
          const Content& content,
          nn::Module& module,
          optim::Optimizer& optimizer,
          optim::LRScheduler* schedule) {
  const nn::StateDict& weights = content.weights;
  const optim::OptimizerState& own = content.optimizer;
  const nn::StateDict before = copy_of(module);
  try {
    ScheduleLoad rates(schedule, content.schedule);
    check_types(weights, module);
    module.load_state_dict(weights);
    try {
      optimizer.load_state_dict(own);
    } catch (...) {
      module.load_state_dict(before);
      throw;
    }
    rates.keep();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(tandem::detail::concat("checkpoint ", path, ": ", e.what()));
  }
}

}  // namespace

void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state,
                     const optim::LRScheduler* schedule) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, x] : module.state_dict())
    tensors[std::string(kModel) + name] = x;
  const optim::OptimizerState own = optimizer.state_dict();
  for (const auto& [name, x] : own.tensors)
    tensors[std::string(kOptimizer) + name] = x;
  SafetensorsMetadata metadata{{"format", kFormat},
                               {"schema_version", kSchemaVersion},
                               {"run", format_run_state(state)},
                               {"optimizer", format_numbers(own.numbers)}};
  if (schedule != nullptr) metadata["schedule"] = format_numbers(schedule->state_dict());
  save_safetensors(path, tensors, metadata, Checksum::yes);
}

RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const RunState& expected,
                         optim::LRScheduler* schedule,
                         Checksum checksum) {
  const SafetensorsFile file(path);
  const RunState state = read_state(path, file);
  check_run(path, state, expected);
  if (checksum == Checksum::yes) file.check_content();
  load(path, read_content(path, file), module, optimizer, schedule);
  default_generator().set_state(*state.random);
  return state;
}

RunState read_run_state(const std::string& path) {
  return read_state(path, SafetensorsFile(path));
}

void load_model(const std::string& path, nn::Module& module, Checksum checksum) {
  const SafetensorsFile file(path);
  read_state(path, file);
  if (checksum == Checksum::yes) file.check_content();
  const nn::StateDict weights = read_weights(file);
  try {
    check_types(weights, module);
    module.load_state_dict(weights);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(tandem::detail::concat("checkpoint ", path, ": ", e.what()));
  }
}

}  // namespace tandem::training
