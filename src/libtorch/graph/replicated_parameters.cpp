// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/replicated_parameters.hpp"

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::libtorch {

BroadcastParameters replicated_parameters(const std::vector<std::shared_ptr<TorchSource>>& sources,
                                          UnusedGradients unused) {
  std::vector<at::Tensor> own;
  std::vector<std::vector<at::Tensor>> copies(sources.size());
  std::vector<std::size_t> bucket;
  std::unordered_map<const c10::TensorImpl*, std::size_t> numbers;
  const auto& slots = sources.front()->slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind != nn::TensorKind::parameter) continue;
    const auto [number, is_new] =
        numbers.try_emplace(slots[i].own.unsafeGetTensorImpl(), own.size());
    for (std::size_t d = 0; d < sources.size(); ++d) {
      const at::Tensor& copy = sources[d]->slots()[i].copy;
      if (is_new) copies[d].push_back(copy);
      TANDEM_CHECK(copies[d][number->second].is_same(copy),
                   "DataParallel: '",
                   slots[i].name,
                   "' is tied to another parameter of the module, but not in its copy; tie them in "
                   "clone() or .make, or use step, which needs no ties");
    }
    if (!is_new) continue;
    own.push_back(slots[i].own);
    bucket.insert(bucket.begin(), number->second);  // backward makes the last ones first
  }
  return {std::move(own), std::move(copies), {std::move(bucket)}, {}, unused};
}

}  // namespace tandem::libtorch
