// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

// PyTorch's ops for GPUs. Those that the host lacks are composed, each family in a file of its
// name.
namespace tandem::stand_in {

/// For the dispatch key CPU: what the host lacks, so that a GPU's op finds it.
void register_batch_norm(torch::Library& host);
void register_recurrent_cells(torch::Library& host);
void register_rms_norm(torch::Library& host);
void register_widened_products(torch::Library& host);

/// For the dispatch key CUDA: all ops that the host has.
void register_host_kernels(torch::Library& gpu);
/// For the dispatch key SparseCUDA.
void register_sparse_kernels(torch::Library& gpu);
/// For the dispatch key CUDA: what draws from the GPU's generator, or copies between GPUs.
void register_attention(torch::Library& gpu);
void register_copies(torch::Library& gpu);
void register_dropout(torch::Library& gpu);

}  // namespace tandem::stand_in
