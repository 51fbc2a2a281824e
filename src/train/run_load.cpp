// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/run_load.hpp"

#include "tandem/core/check.hpp"

#include "io/stored_type.hpp"
#include "train/run_content.hpp"

namespace tandem::training {
namespace {

/// A module takes tensors of any type and converts them, which would not go on exactly.
void check_types(const CheckpointReader& saved, const nn::StateDict& own) {
  for (const auto& [name, x] : own) {
    const StoredTensor* stored = saved.find(name);
    if (stored == nullptr) continue;
    TANDEM_CHECK(stored->entry->dtype == x.dtype(),
                 "'",
                 name,
                 "' is ",
                 stored->entry->dtype,
                 ", but the model's is ",
                 x.dtype());
  }
}

/// Not all files have only what can be read: a bool may be 2. Numbers of other types always can.
void check_readable(const StoredTensor& stored) {
  const DType dtype = stored.entry->dtype;
  const bool is_own = stored.entry->stored == tandem::detail::stored_type(dtype).name;
  if (!is_own || dtype == DType::boolean) stored.read();
}

}  // namespace

ModuleLoad::ModuleLoad(const CheckpointReader& saved, nn::Module& module) : saved_(saved) {
  const nn::StateDict own = module.state_dict();
  check_types(saved, own);
  std::vector<nn::GivenTensor> given;
  for (const StoredTensor& stored : saved.model())
    given.push_back({stored.name, &stored.entry->shape});
  found_ = nn::match(own, given);
  nn::check_match(module.type_name(), found_, nn::Strict::yes);
  for (const auto& [target, index] : found_.copies) {
    check_readable(saved.model()[index]);
    target.tensor.buffer().check_awake("load");  // one unit after the other has room
  }
}

void ModuleLoad::run() const {
  for (const auto& [target, index] : found_.copies) {
    const HostArray array = saved_.model()[index].read();
    write_elements(array.bytes, target.tensor);
  }
}

OptimizerLoad::OptimizerLoad(const CheckpointReader& saved, optim::Optimizer& optimizer) {
  std::map<std::string, TensorForm> forms;
  for (const StoredTensor& stored : saved.optimizer()) {
    check_readable(stored);
    tensors_[stored.name] = &stored;
    forms[stored.name] = stored.form();
  }
  load_.emplace(optimizer, saved.metadata().optimizer(), forms);
}

void OptimizerLoad::run() {
  load_->run([this](const optim::detail::StateLoad::Entry& entry) {
    const HostArray array = tensors_.at(entry.key)->read();
    load_->set(entry, array.bytes);
  });
}

}  // namespace tandem::training
