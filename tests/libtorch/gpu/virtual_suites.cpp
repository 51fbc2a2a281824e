// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The tests that are skipped where the suites for virtual devices run on GPUs, with the reason.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace tandem::libtorch::test {
namespace {

struct Exception {
  std::string_view test;  ///< Suite.Name, without parameters
  std::string_view reason;
};
constexpr std::string_view kLimits =
    "limits and peaks of a GPU are PyTorch's: tests/python/gpus/out_of_memory_test.py";
constexpr std::string_view kOnHost = "wraps a module of the host, which is refused beside GPUs";
constexpr std::array kExceptions{
    Exception{"CallerStateTest.ReachesTheForwardOfEachReplica",
              "autocast of the host, which is none of a GPU's"},
    Exception{"ChangesTest.AValueThatIsWrittenWithoutPyTorch", "the host writes a GPU's memory"},
    Exception{"FailedStepTest.EachAllocationOfEachDevice",
              "memory of a GPU is PyTorch's: tests/python/gpus/refused_allocations_test.py"},
    Exception{"FailureTest.OutOfMemoryNamesItsOwnersAndIsReplanned", kLimits},
    Exception{"FunctionalTest.AFailureNamesModuleAndDevice", "texts about virtual devices"},
    Exception{"FunctionalTest.AnOutputGoesWhereItIsAskedFor", kOnHost},
    Exception{"PlansTest.AReplannedStepIsTheOneOfItsPlan", kLimits},
    Exception{"PlansTest.TheLargestBatchFitsAndOneRowMoreDoesNot", kLimits},
    Exception{"PlansTest.TheModelOfAStepSaysItsPeaks", kLimits},
    Exception{"PytorchCasesTest.ABufferThatRequiresGradIsTrained",
              "a buffer that requires grad is no leaf any more once it is moved to a GPU"},
    Exception{"RefusedModulesTest.AParameterOnAnotherDevice", kOnHost},
    Exception{"RefusedModulesTest.OneThatIsWrappedOrHasAPartThatIs", kOnHost},
    Exception{"StepThreadsTest.AreThoseOfTheProgramAfterAProductOfTandem",
              "an op of tandem's own on the host"},
    Exception{"SyncBatchNormTest.BranchesNeverWaitForEachOther", "a thousand schedules take long"},
};

/// Suite.Name of All/Suite.Name/parameter.
std::string name_of(const ::testing::TestInfo& test) {
  const std::string suite = test.test_suite_name(), name = test.name();
  return suite.substr(suite.find('/') + 1) + "." + name.substr(0, name.find('/'));
}

class SkipExceptions final : public ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest& program) override {
    for (const Exception& exception : kExceptions)
      EXPECT_TRUE(has(program, exception.test)) << "no test is named " << exception.test;
  }
  void OnTestStart(const ::testing::TestInfo& test) override {
    const auto found = std::ranges::find(kExceptions, name_of(test), &Exception::test);
    if (found != kExceptions.end()) GTEST_SKIP() << found->reason;
  }
  static bool has(const ::testing::UnitTest& program, std::string_view name) {
    for (int s = 0; s < program.total_test_suite_count(); ++s) {
      const ::testing::TestSuite& suite = *program.GetTestSuite(s);
      for (int t = 0; t < suite.total_test_count(); ++t)
        if (name_of(*suite.GetTestInfo(t)) == name) return true;
    }
    return false;
  }
};

const bool kAreSkipped = [] {
  const char* const kind = std::getenv("TANDEM_TEST_DEVICE");
  const bool are_gpus = kind != nullptr && std::string_view(kind) == "cuda";
  if (are_gpus) ::testing::UnitTest::GetInstance()->listeners().Append(new SkipExceptions);
  return are_gpus;
}();

}  // namespace
}  // namespace tandem::libtorch::test
