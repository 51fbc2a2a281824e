// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/run_content.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/state_dict.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/factories.hpp"

#include "train/checkpoint_reader.hpp"
#include "train/run_state.hpp"

namespace tandem::training {
namespace {

std::size_t first_byte(const Tensor& x) {
  return static_cast<std::size_t>(x.impl().offset) * itemsize(x.dtype());
}

}  // namespace

void read_elements(const Tensor& x, std::span<std::byte> out) {
  const autograd::NoGrad off;
  const Tensor rows = x.contiguous();
  read(rows.buffer(), first_byte(rows), out.data(), out.size(), "to_host");
}

void write_elements(std::span<const std::byte> bytes, const Tensor& x) {
  if (x.is_contiguous()) return write(bytes.data(), x.buffer(), first_byte(x), bytes.size());
  const autograd::NoGrad off;
  const Tensor rows = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  write(bytes.data(), rows.buffer(), 0, bytes.size());
  Tensor target = x;
  target.copy_(rows);
}

tandem::detail::HeaderTensor SavedTensor::header(std::string_view prefix) const {
  return {.name = std::string(prefix) + name,
          .type = tandem::detail::stored_type(form.dtype),
          .shape = form.shape};
}

std::size_t SavedTensor::nbytes() const {
  return static_cast<std::size_t>(numel(form.shape)) * itemsize(form.dtype);
}

RunContent::RunContent(const nn::Module& module,
                       const optim::Optimizer& run_optimizer,
                       const RunState& state,
                       const optim::LRScheduler* schedule)
    : own_(run_optimizer) {
  for (const nn::NamedTensor& own : module.state_dict()) {
    const Tensor& x = own.tensor;
    model.push_back({own.name, {x.dtype(), x.shape(), {}}, [x](std::span<std::byte> out) {
                       read_elements(x, out);
                     }});
  }
  for (const auto& entry : own_.entries()) {
    optimizer.push_back({entry.key, entry.form, [this, &entry](std::span<std::byte> out) {
                           own_.read(entry, out);
                         }});
  }
  metadata = {{"format", kCheckpointFormat},
              {"schema_version", kCheckpointSchema},
              {"run", format_run_state(state)},
              {"optimizer", format_numbers(own_.numbers())}};
  if (schedule != nullptr) metadata["schedule"] = format_numbers(schedule->state_dict());
}

}  // namespace tandem::training
