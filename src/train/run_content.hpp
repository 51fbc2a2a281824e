// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/io/safetensors.hpp"
#include "tandem/train/checkpoint.hpp"

#include "core/tensor_form.hpp"
#include "io/safetensors_header.hpp"
#include "optim/state_save.hpp"

namespace tandem::training {

/// A tensor of a run that is to be saved.
struct SavedTensor {
  std::string name;
  TensorForm form;
  std::function<void(std::span<std::byte>)> read;  ///< copies its elements to the host, row-major

  /// As a header has it, under its name after `prefix`.
  tandem::detail::HeaderTensor header(std::string_view prefix = {}) const;
  std::size_t nbytes() const;
};

/// A run that is to be saved: its metadata, and its tensors one at a time, so that neither a device
/// nor the host ever holds all of them.
class RunContent {
 public:
  /// All of them must live as long, and not change. @param schedule  null if there is none.
  RunContent(const nn::Module& module,
             const optim::Optimizer& optimizer,
             const RunState& state,
             const optim::LRScheduler* schedule);
  RunContent(const RunContent&) = delete;
  RunContent& operator=(const RunContent&) = delete;

  SafetensorsMetadata metadata;
  std::vector<SavedTensor> model;      ///< in the order of the module, and so unit after unit
  std::vector<SavedTensor> optimizer;  ///< in the order of the parameters

 private:
  optim::detail::StateSave own_;
};

/// Copies a tensor's elements to the host, row-major, or back. Nothing is allocated on its device
/// unless it has another layout.
void read_elements(const Tensor& x, std::span<std::byte> out);
void write_elements(std::span<const std::byte> bytes, const Tensor& x);

}  // namespace tandem::training
