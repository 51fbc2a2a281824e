// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/checkpoint.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/runtime/generator.hpp"

#include "io/safetensors_writer.hpp"
#include "train/checkpoint_reader.hpp"
#include "train/run_content.hpp"
#include "train/run_load.hpp"

namespace tandem::training {
namespace {

using Numbers = std::map<std::string, double>;

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

/// What is refused is refused before anything changes.
void load(const CheckpointReader& saved,
          nn::Module& module,
          optim::Optimizer& optimizer,
          optim::LRScheduler* schedule) {
  try {
    saved.check_owners();
    ScheduleLoad rates(schedule, saved.metadata().schedule());
    const ModuleLoad weights(saved, module);
    OptimizerLoad own(saved, optimizer);
    weights.run();
    own.run();
    rates.keep();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(tandem::detail::concat("checkpoint ", saved.path(), ": ", e.what()));
  }
}

}  // namespace

void save_checkpoint(const std::string& path,
                     const nn::Module& module,
                     const optim::Optimizer& optimizer,
                     const RunState& state,
                     const optim::LRScheduler* schedule) {
  const RunContent content(module, optimizer, state, schedule);
  std::vector<const SavedTensor*> tensors;
  std::vector<tandem::detail::HeaderTensor> headers;
  const auto add = [&](const std::vector<SavedTensor>& of, std::string_view prefix) {
    for (const SavedTensor& tensor : of) {
      tensors.push_back(&tensor);
      headers.push_back(tensor.header(prefix));
    }
  };
  add(content.model, kModelPrefix);
  add(content.optimizer, kOptimizerPrefix);
  std::vector<std::byte> held;
  const auto bytes = [&](std::size_t i) {
    held.resize(tensors[i]->nbytes());
    tensors[i]->read(held);
    return std::span<const std::byte>(held);
  };
  tandem::detail::write_safetensors(path, headers, content.metadata, bytes, Checksum::yes);
}

RunState load_checkpoint(const std::string& path,
                         nn::Module& module,
                         optim::Optimizer& optimizer,
                         const RunState& expected,
                         optim::LRScheduler* schedule,
                         Checksum checksum) {
  const CheckpointReader saved(path, checksum);
  const RunState state = saved.metadata().run_state();
  check_run(path, state, expected);
  if (checksum == Checksum::yes) saved.check_content();
  load(saved, module, optimizer, schedule);
  default_generator().set_state(*state.random);
  return state;
}

RunState read_run_state(const std::string& path) {
  return CheckpointMetadata(path).run_state();
}

void load_model(const std::string& path, nn::Module& module, Checksum checksum) {
  const CheckpointReader saved(path, checksum);
  saved.metadata().run_state();
  if (checksum == Checksum::yes) saved.check_content();
  try {
    ModuleLoad(saved, module).run();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(tandem::detail::concat("checkpoint ", path, ": ", e.what()));
  }
}

}  // namespace tandem::training
