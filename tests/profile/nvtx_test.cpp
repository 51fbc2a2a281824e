// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/nvtx.hpp"

#include <gmock/gmock.h>

#include "tandem/config.hpp"

#include "thrown_text.hpp"

namespace tandem::profile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What they do in a build with CUDA is tested with the stand-in, in tests/cuda.
TEST(NvtxRangesTest, NeedABuildWithCuda) {
  if (has_cuda) GTEST_SKIP() << "built with CUDA";
  EXPECT_THAT(testing::thrown_text([] { NvtxRanges(); }),
              AllOf(HasSubstr("has no CUDA"), HasSubstr("TANDEM_CUDA=ON")));
}

}  // namespace
}  // namespace tandem::profile
