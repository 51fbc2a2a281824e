// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/folder.hpp"

#include <cerrno>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/fault_shim.hpp"
#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FaultShim;
using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::put;
using testing::TempDir;
namespace fs = std::filesystem;

/// Content by name.
using Files = std::map<std::string, std::string>;

bool is_part(const std::string& name) {
  return name.ends_with(".part");
}

void write_files(const std::string& path, const Files& files) {
  detail::write_folder_atomically(path, is_part, [&](detail::FolderWriter& out) {
    for (const auto& [name, content] : files)
      out.add(name).write(std::as_bytes(std::span(content)));
  });
}

Files files_of(const std::string& path) {
  Files files;
  for (const auto& entry : fs::directory_iterator(path))
    files[entry.path().filename().string()] = get(entry.path().string());
  return files;
}

const Files kOldFiles{{"a.part", "old"}, {"c.part", "more"}},
    kNewFiles{{"a.part", "new"}, {"b.part", "b"}};

TEST(Folder, IsMadeAndReplacedWhole) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_files(path, kOldFiles);
  EXPECT_EQ(files_of(path), kOldFiles);
  ASSERT_EQ(::chmod(path.c_str(), 0750), 0);
  write_files(path + "/", kNewFiles);
  EXPECT_EQ(files_of(path), kNewFiles);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0750));
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(Folder, OldAndNewAreNeverMixed) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_files(path, kOldFiles);
  detail::write_folder_atomically(path, is_part, [&](detail::FolderWriter& out) {
    out.add("a.part").write(std::as_bytes(std::span(kNewFiles.at("a.part"))));
    EXPECT_EQ(files_of(path), kOldFiles);
  });
  EXPECT_EQ(files_of(path), (Files{{"a.part", "new"}}));
}

TEST(Folder, ALinkToItGoesOnPointingAtIt) {
  const TempDir dir;
  write_files(dir.file("x"), kOldFiles);
  fs::create_directory_symlink("x", dir.file("link"));
  write_files(dir.file("link"), kNewFiles);
  EXPECT_TRUE(fs::is_symlink(dir.file("link")));
  EXPECT_EQ(files_of(dir.file("x")), kNewFiles);
}

struct FolderFault {
  const char* call;
  int code;
  int places;  ///< at which it may come
};

class FolderFaultTest : public ::testing::TestWithParam<FolderFault> {};

/// Wherever the system refuses, there is the old folder or the new one, and nothing else.
TEST_P(FolderFaultTest, LeavesTheOldFolderOrTheNewOne) {
  const auto [call, code, expected] = GetParam();
  const TempDir dir;
  const std::string path = dir.file("x");
  int places = 0;
  for (bool fired = true; fired; places += fired ? 1 : 0) {
    fs::remove_all(path);
    write_files(path, kOldFiles);
    const FaultShim shim(call, places + 1, code);
    const FileError e = file_error([&] { write_files(path, kNewFiles); });
    fired = shim.fired();
    const bool in_place = !fired || std::string(e.what()).find("is in place") != std::string::npos;
    EXPECT_EQ(files_of(path), in_place ? kNewFiles : kOldFiles) << e.what();
    EXPECT_THAT(dir.names(), ElementsAre("x"));
    EXPECT_EQ(e.path().starts_with(path), fired) << e.what();
  }
  EXPECT_EQ(places, expected);
}

// "open" is called for the parent, the temporary folder, each file and the old folder; "fsync" for
// each file, the folder, and the parent after the exchange.
INSTANTIATE_TEST_SUITE_P(Calls,
                         FolderFaultTest,
                         ::testing::Values(FolderFault{"open", EACCES, 5},
                                           FolderFault{"write", ENOSPC, 2},
                                           FolderFault{"fsync", EIO, 4},
                                           FolderFault{"renameat2", EIO, 1}),
                         [](const auto& test) { return std::string(test.param.call); });

TEST(FolderOrder, ContentIsOnTheDiskBeforeTheExchangeAndTheParentAfter) {
  const TempDir dir;
  write_files(dir.file("x"), kOldFiles);
  const FaultShim shim("none", 1, 0);
  write_files(dir.file("x"), {{"a.part", "new"}});
  EXPECT_THAT(shim.journal(),
              ElementsAre("open",
                          "open",
                          "open",
                          "write",
                          "fsync",
                          "fsync",
                          "rename",
                          "open",
                          "renameat2",
                          "fsync"));
}

/// If several write at once, the last one wins, whether there was a folder or not.
TEST(Folder, WritersAtOnceLeaveOneOfTheirFolders) {
  const TempDir dir;
  const std::string path = dir.file("x");
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&path, w] {
      const std::string content(1, static_cast<char>('0' + w));
      for (int i = 0; i < 20; ++i)
        EXPECT_NO_THROW(write_files(path, {{"a.part", content}, {"b.part", content}}));
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  const Files files = files_of(path);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("a.part"), files.at("b.part"));
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(FolderRefusal, AFileSystemThatCannotExchangeSaysWhatToDo) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_files(path, kOldFiles);
  const FaultShim shim("renameat2", 1, EINVAL);
  const FileError e = file_error([&] { write_files(path, kNewFiles); });
  EXPECT_THAT(e.what(), AllOf(HasSubstr(path), HasSubstr("where there is nothing yet")));
  EXPECT_EQ(files_of(path), kOldFiles);
}

TEST(FolderRefusal, FoldersOfOthersAndFilesAreNotReplaced) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_files(path, kOldFiles);
  const auto refused = [&](const char* why) {
    for (const FileError& e : {file_error([&] { write_files(path, kNewFiles); }), file_error([&] {
                                 detail::check_replaceable_folder(path, is_part);
                               })}) {
      EXPECT_EQ(e.path(), path);
      EXPECT_THAT(e.what(), HasSubstr(why));
    }
  };
  put(path + "/config.json", "{}");
  refused("holds 'config.json'");
  fs::remove(path + "/config.json");
  fs::create_directory(path + "/d.part");
  refused("holds 'd.part'");
  fs::remove(path + "/d.part");
  ASSERT_EQ(::chmod(path.c_str(), 0555), 0);
  refused("write-protected");
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(files_of(path), kOldFiles);
  fs::remove_all(path);
  put(path, "a file");
  refused("is not a folder");
  EXPECT_EQ(get(path), "a file");
  EXPECT_THAT(file_error([&] { write_files(dir.file("no/such/folder"), kNewFiles); }).what(),
              HasSubstr("cannot open the directory"));
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(FolderCheck, LeavesNoTrace) {
  const TempDir dir;
  detail::check_replaceable_folder(dir.file("x"), is_part);
  EXPECT_THAT(dir.names(), IsEmpty());
  write_files(dir.file("x"), kOldFiles);
  detail::check_replaceable_folder(dir.file("x"), is_part);
  EXPECT_THAT(dir.names(), ElementsAre("x"));
  EXPECT_EQ(files_of(dir.file("x")), kOldFiles);
}

TEST(FolderSweep, RemovesWhatAKilledProgramLeftAndNothingThatIsInUse) {
  const TempDir dir;
  const std::string dead = dir.file(".tandem-1-0.folder"), used = dir.file(".tandem-1-1.folder");
  for (const std::string& name : {dead, used}) {
    fs::create_directory(name);
    put(name + "/a.part", "half");
  }
  const detail::Descriptor lock(::open(used.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  write_files(dir.file("x"), kNewFiles);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_EQ(get(used + "/a.part"), "half");
}

}  // namespace
}  // namespace tandem
