// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/tensor/nest.hpp"

struct Foreign {};

template <>
inline constexpr bool tandem::is_foreign_tensor<Foreign> = true;

std::size_t count(const std::pair<tandem::Tensor, std::vector<Foreign>>& value) {
  return tandem::leaves(value).size();
}
