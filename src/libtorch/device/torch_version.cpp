// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/torch_version.hpp"

#include <string>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "tandem/core/check.hpp"

#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

constexpr int kPatchBits = 48;  // below major and minor

std::string text_of(std::uint64_t version) {
  const auto part = [version](int shift) { return std::to_string(version >> shift & 0xFF); };
  return part(56) + "." + part(48) + "." + part(40);
}

}  // namespace

void check_torch_version(std::uint64_t built, std::uint64_t found) {
  TANDEM_CHECK(built >> kPatchBits == found >> kPatchBits,
               "tandem::libtorch was built with PyTorch ",
               text_of(built),
               ", but the process has loaded PyTorch ",
               text_of(found),
               ", whose binary interface is another; build tandem with -D TANDEM_TORCH_DIR=FOLDER "
               "of that PyTorch, or load the one that it was built with");
}

void check_torch_version() {
  check_torch_version(TORCH_ABI_VERSION, aoti_torch_abi_version());
}

}  // namespace tandem::libtorch
