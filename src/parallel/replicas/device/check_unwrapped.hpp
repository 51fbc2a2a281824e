// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/nn/module.hpp"

namespace tandem::parallel {

/// The wrapper's words for an error message.
struct WrapperWords {
  const char* name;          ///< the name of the wrapper's class
  const char* for_module;    ///< what to do if a module is already wrapped
  const char* for_a_tensor;  ///< what to do if only a tensor belongs to another wrapped module
};

/// @throws InvalidArgument  the module or a part of it is wrapped already or is a replica, or one
///                          of its tensors belongs to a wrapped module, as in a plain copy of that
///                          module.
void check_unwrapped(nn::Module& module, const WrapperWords& words);

}  // namespace tandem::parallel
