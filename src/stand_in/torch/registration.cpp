// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs when PyTorch loads the library: the ops of a GPU get kernels of the host.

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "stand_in/torch/families.hpp"

namespace tandem::stand_in {
namespace {

/// That a later registration takes an earlier one's place is what is wanted, and PyTorch warns.
class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

/// Lives until the process has ended: with it the kernels would go.
torch::Library& library(c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

bool register_all() {
  NoWarnings none;
  const c10::WarningUtils::WarningHandlerGuard quiet(&none);
  torch::Library& host = library(c10::DispatchKey::CPU);
  register_batch_norm(host);
  register_recurrent_cells(host);
  register_rms_norm(host);
  register_widened_products(host);
  torch::Library& gpu = library(c10::DispatchKey::CUDA);
  register_host_kernels(gpu);
  register_attention(gpu);
  register_copies(gpu);
  register_dropout(gpu);
  register_sparse_kernels(library(c10::DispatchKey::SparseCUDA));
  at::globalContext().setUserEnabledCuDNN(false);  // PyTorch then takes ordinary ops
  return true;
}

const bool registered = register_all();

}  // namespace
}  // namespace tandem::stand_in
