// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/job_group.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(JobGroup, GivesTheErrorsInTheOrderOfSubmission) {
  Worker a("a"), b("b");
  JobGroup jobs(3);
  jobs.submit(a, [] { throw InvalidArgument("first"); });
  jobs.submit(b, [] {});
  jobs.submit(a, [] { throw InvalidArgument("third"); });
  const auto errors = jobs.outcomes();
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(describe(errors[0]), "first");
  EXPECT_EQ(errors[1], nullptr);
  EXPECT_EQ(describe(errors[2]), "third");
}

TEST(JobGroup, AnExceptionLeavesTheScopeWhenTheJobsHaveEnded) {
  Worker worker("test");
  std::atomic<bool> ended{false};
  EXPECT_EQ(thrown_text([&] {
              JobGroup jobs(2);
              jobs.submit(worker, [&] {
                std::this_thread::sleep_for(20ms);
                ended = true;
              });
              throw InvalidArgument("no second job");
            }),
            "no second job");
  EXPECT_TRUE(ended);
}

TEST(JobGroup, DoesNotWaitBeyondTheDeadline) {
  Worker worker("cpu:7");
  std::atomic<bool> release{false};
  EXPECT_THAT(thrown_text<Timeout>([&] {
                JobGroup jobs(1, Deadline(20ms));
                jobs.submit(worker, [&] {
                  while (!release)
                    std::this_thread::sleep_for(1ms);
                });
                jobs.outcomes();
              }),
              HasSubstr("cpu:7"));
  release = true;
}

}  // namespace
}  // namespace tandem
