// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/tensorboard.hpp"

#include <chrono>
#include <climits>
#include <filesystem>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/core/check.hpp"

#include "io/temp_dir.hpp"

namespace tandem::training {
namespace {

using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

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
}  // namespace tandem::training
