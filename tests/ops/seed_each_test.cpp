// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

/// A test draws the same numbers alone and after others.
class SeedEachTest final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override { manual_seed(0); }
};

[[maybe_unused]] const bool appended = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new SeedEachTest);  // gtest owns it
  return true;
}();

}  // namespace
}  // namespace tandem
