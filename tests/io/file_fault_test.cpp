// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tandem/io/file.hpp"

#include "io/fault_shim.hpp"
#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::FaultShim;
using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

const std::string kNew = "new content";

void save(const std::string& path) {
  const std::string rest = " in two parts";
  const std::array parts{std::as_bytes(std::span(kNew)), std::as_bytes(std::span(rest))};
  write_atomically(path, parts);
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

struct FileFault {
  const char* call;
  int code;
};

class WriteFaultTest : public ::testing::TestWithParam<FileFault> {};

// Each call fails once at each of its places, until a run meets no fault any more.
TEST_P(WriteFaultTest, EachFailureLeavesTheOldFileAndNoTemporary) {
  const auto [call, code] = GetParam();
  const TempDir dir;
  int places = 0;
  for (bool fired = true; fired;) {
    put(dir.file("x"), "old");
    const std::ptrdiff_t files = open_files();
    {
      const FaultShim shim(call, places + 1, code);
      const FileError e = file_error([&] { save(dir.file("x")); });
      fired = shim.fired();
      if (fired) {
        EXPECT_THAT(e.what(), HasSubstr(std::generic_category().message(code)));
        EXPECT_EQ(e.path(), dir.file("x"));
      }
      const bool after_rename = shim.journal().back() == "fsync" && fired && places == 1;
      EXPECT_EQ(get(dir.file("x")), fired && !after_rename ? "old" : kNew + " in two parts");
      if (after_rename) {
        EXPECT_THAT(e.what(), HasSubstr("the new content is in place, but"));
      }
    }
    EXPECT_THAT(dir.names(), ElementsAre("x"));
    EXPECT_EQ(open_files(), files);
    places += fired ? 1 : 0;
  }
  EXPECT_EQ(places, std::string(call) == "rename" ? 1 : 2);
}

constexpr auto kFileName = [](const auto& test) {
  return std::string(test.param.call) + "_" + std::to_string(test.param.code);
};

INSTANTIATE_TEST_SUITE_P(Calls,
                         WriteFaultTest,
                         ::testing::Values(FileFault{"open", EMFILE},
                                           FileFault{"write", ENOSPC},
                                           FileFault{"write", EDQUOT},
                                           FileFault{"write", EIO},
                                           FileFault{"fsync", EIO},
                                           FileFault{"rename", EACCES}),
                         kFileName);

class WriteGoesOnTest : public ::testing::TestWithParam<FileFault> {};

TEST_P(WriteGoesOnTest, InterruptedAndShortCallsAreContinued) {
  const auto [call, code] = GetParam();
  const TempDir dir;
  const FaultShim shim(call, 1, code);
  save(dir.file("x"));
  EXPECT_TRUE(shim.fired());
  EXPECT_EQ(get(dir.file("x")), kNew + " in two parts");
}

INSTANTIATE_TEST_SUITE_P(Calls,
                         WriteGoesOnTest,
                         ::testing::Values(FileFault{"write", EINTR},
                                           FileFault{"write", 0},
                                           FileFault{"fsync", EINTR}));

TEST(WriteOrderTest, ContentIsOnTheDiskBeforeTheRenameAndTheDirectoryAfter) {
  const TempDir dir;
  const FaultShim shim("none", 1, 0);
  save(dir.file("x"));
  // The directory is opened first, then the temporary.
  EXPECT_THAT(shim.journal(),
              ElementsAre("open", "open", "write", "write", "fsync", "rename", "fsync"));
}

TEST(WriteOrderTest, AFullQuotaOfTheKernelGivesTheOffset) {
  const TempDir dir;
  put(dir.file("x"), "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string big(5000, 'b');
  const FileError e = file_error([&] {
    write_atomically(dir.file("x"),
                     [&](FileWriter& out) { out.write(std::as_bytes(std::span(big))); });
  });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(e.offset(), 1000);
  EXPECT_THAT(e.what(), HasSubstr("the old file is unchanged"));
  EXPECT_EQ(get(dir.file("x")), "old");
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

}  // namespace
}  // namespace tandem
