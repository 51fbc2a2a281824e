// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/file.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::put;
using testing::TempDir;
using ::testing::UnorderedElementsAre;

void save(const std::string& path, const std::string& content) {
  write_atomically(path, [&](FileWriter& out) { out.write(std::as_bytes(std::span(content))); });
}

TEST(WriteAtomicallyTest, WritesPartsInOrderAndLeavesNothingElse) {
  const TempDir dir;
  const std::string a = "first ", b, c = "second";
  const std::array parts{
      std::as_bytes(std::span(a)), std::as_bytes(std::span(b)), std::as_bytes(std::span(c))};
  write_atomically(dir.file("x"), parts);
  EXPECT_EQ(get(dir.file("x")), "first second");
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(WriteAtomicallyTest, KeepsPermissionsAndFollowsLinks) {
  const TempDir dir;
  put(dir.file("real"), "old");
  ::chmod(dir.file("real").c_str(), 0600);
  std::filesystem::create_symlink("real", dir.file("link"));
  save(dir.file("link"), "new");
  EXPECT_EQ(get(dir.file("real")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")));
  EXPECT_EQ(std::filesystem::status(dir.file("real")).permissions(), std::filesystem::perms(0600));
}

TEST(WriteAtomicallyTest, KeepsOwnerAndGroupButNoSetUidBit) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's file";
  const TempDir dir;
  put(dir.file("x"), "old");
  ASSERT_EQ(::chown(dir.file("x").c_str(), 65534, 65533), 0);
  ASSERT_EQ(::chmod(dir.file("x").c_str(), 04750), 0);
  save(dir.file("x"), "new");
  struct stat info {};
  ASSERT_EQ(::stat(dir.file("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
  EXPECT_EQ(info.st_gid, 65533U);
  EXPECT_EQ(info.st_mode & 07777, 0750U);
}

TEST(WriteAtomicallyTest, AWriteProtectedFileIsRefused) {
  const TempDir dir;
  put(dir.file("x"), "old");
  ::chmod(dir.file("x").c_str(), 0444);
  EXPECT_THAT(file_error([&] { save(dir.file("x"), "new"); }).what(),
              HasSubstr("is write-protected"));
  EXPECT_EQ(get(dir.file("x")), "old");
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

// What a killed program has left is removed, whatever number it had; what one that lives writes is
// not, though it were in another container with the same number.
TEST(WriteAtomicallyTest, RemovesTemporariesThatNobodyWrites) {
  const TempDir dir;
  const std::string own = ".tandem-" + std::to_string(::getpid());
  put(dir.file(own + "-0.tmp"), "half");
  put(dir.file(".tandem-1-7.tmp"), "half");
  put(dir.file(".tandem-notes"), "not ours");
  std::filesystem::create_directory(dir.file(".tandem-2-0.tmp"));
  std::filesystem::create_symlink(".tandem-notes", dir.file(".tandem-3-0.tmp"));
  write_atomically(dir.file("outer"), [&](FileWriter& out) {
    save(dir.file("x"), "new");  // the outer one's temporary lives
    out.write(std::as_bytes(std::span("outer", 5)));
  });
  EXPECT_EQ(get(dir.file("outer")), "outer");
  EXPECT_THAT(
      dir.names(),
      UnorderedElementsAre("outer", "x", ".tandem-notes", ".tandem-2-0.tmp", ".tandem-3-0.tmp"));
}

TEST(WriteAtomicallyTest, WhatTheCallbackThrowsLeavesTheOldFile) {
  const TempDir dir;
  put(dir.file("x"), "old");
  const auto fill = [](FileWriter& out) {
    out.write(std::as_bytes(std::span("half", 4)));
    throw std::domain_error("mine");
  };
  EXPECT_THROW(write_atomically(dir.file("x"), fill), std::domain_error);
  EXPECT_EQ(get(dir.file("x")), "old");
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(WriteAtomicallyTest, RefusesWhatIsNoRegularFile) {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("folder"));
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  for (const std::string& path : {dir.file("folder"), dir.file("fifo"), std::string("/dev/full")}) {
    const FileError e = file_error([&] { save(path, "x"); });
    EXPECT_THAT(e.what(), HasSubstr("is not a regular file and will not be replaced"));
    EXPECT_EQ(e.path(), path);
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_THAT(dir.names(), UnorderedElementsAre("folder", "fifo"));
}

TEST(WriteAtomicallyTest, RefusesPathsThatLeadNowhere) {
  const TempDir dir;
  std::filesystem::create_symlink("loop", dir.file("loop"));
  EXPECT_THAT(file_error([&] { save(dir.file("loop"), "x"); }).what(),
              HasSubstr("cannot follow the link"));
  EXPECT_THAT(file_error([&] { save(dir.file("none/x"), "x"); }).what(),
              HasSubstr("cannot open the directory"));
  EXPECT_THAT(file_error([&] { save("", "x"); }).what(), HasSubstr("a file needs a name"));
  EXPECT_THAT(file_error([&] { save(dir.file(std::string("a\0b", 3)), "x"); }).what(),
              HasSubstr("NUL"));
  EXPECT_THAT(file_error([&] { save(dir.file(std::string(256, 'n')), "x"); }).what(),
              HasSubstr("too long"));
  EXPECT_THAT(dir.names(), ElementsAre("loop"));
  save(dir.file(std::string(255, 'n')), "x");  // the longest name that the system allows
  EXPECT_EQ(get(dir.file(std::string(255, 'n'))), "x");
}

TEST(WriteAtomicallyTest, ReadOnlyDirectoryKeepsTheOldFile) {
  const TempDir dir;
  put(dir.file("x"), "old");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0555));
  const bool root = ::geteuid() == 0;
  ASSERT_TRUE(!root || ::seteuid(65534) == 0);  // root may write everywhere
  const FileError e = file_error([&] { save(dir.file("x"), "new"); });
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  EXPECT_THAT(e.what(), HasSubstr("cannot create a temporary file in the directory"));
  EXPECT_EQ(get(dir.file("x")), "old");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
}

TEST(CheckReplaceableTest, SaysWhatWritingWouldSayAndLeavesNoTrace) {
  const TempDir dir;
  put(dir.file("old"), "old");
  std::filesystem::create_directory(dir.file("folder"));
  check_replaceable(dir.file("old"));
  check_replaceable(dir.file("new"));
  for (const std::string& path :
       {dir.file("folder"), dir.file("none/x"), dir.file(std::string(256, 'n')), std::string()}) {
    const FileError early = file_error([&] { check_replaceable(path); });
    EXPECT_STREQ(early.what(), file_error([&] { save(path, "x"); }).what());
  }
  EXPECT_EQ(get(dir.file("old")), "old");
  EXPECT_THAT(dir.names(), UnorderedElementsAre("old", "folder"));
}

TEST(CheckReplaceableTest, AFileOfAnotherUserInAFolderWithTheStickyBit) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's file";
  const TempDir dir;
  put(dir.file("x"), "old");
  ::chmod(dir.path().c_str(), 01777);
  ASSERT_EQ(::seteuid(65534), 0);
  const FileError e = file_error([&] { check_replaceable(dir.file("x")); });
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_THAT(e.what(), HasSubstr("belongs to another user"));
  EXPECT_EQ(get(dir.file("x")), "old");
}

TEST(WriteAtomicallyTest, ReadersSeeWholeFilesWhileManyWrite) {
  const TempDir dir;
  const std::string path = dir.file("x");
  constexpr std::size_t kSize = 20'000;
  save(path, std::string(kSize, 'a'));
  std::atomic<bool> stop = false;
  {
    std::vector<std::jthread> writers;
    for (const char c : {'b', 'c', 'd'}) {
      writers.emplace_back([&, c] {
        while (!stop)
          save(path, std::string(kSize, c));
      });
    }
    for (int i = 0; i < 100; ++i) {
      const std::string seen = get(path);
      EXPECT_EQ(seen, std::string(kSize, seen.empty() ? '?' : seen[0]));
    }
    stop = true;
  }
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(FileReaderTest, ReadsAtAnyPositionOfTheFileThatWasOpened) {
  const TempDir dir;
  put(dir.file("x"), "0123456789");
  const FileReader file(dir.file("x"));
  save(dir.file("x"), "replaced");
  std::string out(4, ' ');
  file.read_at(3, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "3456");
  EXPECT_EQ(file.size(), 10u);
}

TEST(FileReaderTest, AFileThatShrinksIsAnErrorWithItsOffset) {
  const TempDir dir;
  put(dir.file("x"), "0123456789");
  const FileReader file(dir.file("x"));
  ASSERT_EQ(::truncate(dir.file("x").c_str(), 6), 0);
  std::string out(8, ' ');
  const FileError e = file_error([&] { file.read_at(1, std::as_writable_bytes(std::span(out))); });
  EXPECT_EQ(e.offset(), 6);
  EXPECT_THAT(e.what(), HasSubstr("the file ends here, 3 bytes too early"));
}

TEST(FileReaderTest, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  for (const std::string& path :
       {dir.file("fifo"), dir.path().string(), std::string("/dev/zero")}) {
    EXPECT_THAT(file_error([&] { FileReader{path}; }).what(), HasSubstr("is not a regular file"))
        << path;
  }
  EXPECT_THAT(file_error([&] { FileReader{dir.file("none")}; }).what(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace tandem
