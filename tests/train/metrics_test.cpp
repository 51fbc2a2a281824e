// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/metrics.hpp"

#include <chrono>
#include <climits>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/core/check.hpp"

#include "io/temp_dir.hpp"

namespace tandem::train {
namespace {

using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

TEST(MetricsFileTest, DoesNotMakeTheFileOfADanglingLink) {
  const TempDir dir;
  std::filesystem::create_symlink("victim", dir.file("run.csv"));
  for (const auto append : {Append::no, Append::yes}) {
    EXPECT_THAT(file_error([&] { csv_metrics(dir.file("run.csv"), append); }).what(),
                HasSubstr("cannot be written"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir.file("victim")));
  put(dir.file("victim"), "");
  csv_metrics(dir.file("run.csv"))->add_scalar("a", 1, 2);  // a link to a file is as good as it
  EXPECT_THAT(get(dir.file("victim")), HasSubstr(",a,1\n"));
}

TEST(TensorBoardFileTest, DoesNotFollowALinkOfTheNameThatItWillHave) {
  const TempDir dir;
  put(dir.file("victim"), "kept");
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof host - 1);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  for (std::int64_t second = now.count(); second < now.count() + 60; ++second) {
    std::filesystem::create_symlink(
        "victim",
        dir.file(detail::concat("events.out.tfevents.", second, '.', host, '.', ::getpid())));
  }
  EXPECT_THAT(file_error([&] { tensorboard_metrics(dir.path()); }).what(),
              HasSubstr("cannot be written: File exists"));
  EXPECT_EQ(get(dir.file("victim")), "kept");
}

}  // namespace
}  // namespace tandem::train
