// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/nn/module.hpp"

namespace tandem::parallel {

/// What an error of a wrapper says.
struct WrapperWords {
  const char* name;          ///< of the wrapper's class
  const char* for_module;    ///< what to do where a module is wrapped already
  const char* for_a_tensor;  ///< and where only its tensors are another wrapped module's
};

/// @throws InvalidArgument  the module or a part of it is wrapped already, or is a replica; or one
/// of its tensors is a wrapped module's, as in a plain copy of that module.
void check_unwrapped(nn::Module& module, const WrapperWords& words);

}  // namespace tandem::parallel
