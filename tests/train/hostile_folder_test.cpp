// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Sharded checkpoints that are not as they were written: each is refused, by the name of the file.

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tandem/io/tensor_file.hpp"
#include "tandem/train/check_gpt.hpp"
#include "tandem/train/sharded_checkpoint.hpp"

#include "io/temp_dir.hpp"
#include "thrown_text.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using nlohmann::json;
using tandem::testing::file_error;
using tandem::testing::get;
using tandem::testing::put;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kOwnIndex = "optimizer.safetensors.index.json";
constexpr const char* kShard = "model-00001-of-00002.safetensors";
constexpr const char* kOwnShard = "optimizer-00002-of-00002.safetensors";

class HostileFolderTest : public ::testing::Test {
 protected:
  HostileFolderTest() {
    run_.go({.epochs = 1, .steps = 2});
    save(folder_);
  }
  void save(const std::string& folder) {
    save_sharded_checkpoint(folder, run_.task->module(), *run_.optimizer, run_.state, {.files = 2});
  }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  /// What loading says. Holds that the run, its random numbers and its next step are as before.
  FileError refusal(Checksum checksum = Checksum::yes) {
    SmallRun other(2, 77, kClasses, parallel::Mode::fully_sharded);
    const Numbers before = numbers_of(other);
    const auto random = random_state();
    FileError e = file_error([&] {
      load_checkpoint(
          folder_, other.task->module(), *other.optimizer, other.state, nullptr, checksum);
    });
    EXPECT_THAT(differing(numbers_of(other), before), IsEmpty()) << e.what();
    EXPECT_EQ(random_state(), random);
    return e;
  }
  /// The same for an index that `change` has changed, whose checksum is not compared.
  FileError refused_index(const char* name, const std::function<void(json&)>& change) {
    const std::string before = get(in(name));
    json index = json::parse(before);
    change(index);
    put(in(name), index.dump());
    FileError e = refusal(Checksum::no);
    put(in(name), before);
    return e;
  }

  tandem::testing::TempDir dir_;
  const std::string folder_ = dir_.file("run");
  SmallRun run_{2, 1, kClasses, parallel::Mode::fully_sharded};
};

TEST_F(HostileFolderTest, MissingFiles) {
  for (const char* name : {kIndex, kOwnIndex, kShard, kOwnShard}) {
    fs::rename(in(name), dir_.file("away"));
    for (const Checksum checksum : {Checksum::yes, Checksum::no})
      EXPECT_EQ(refusal(checksum).path(), in(name));
    fs::rename(dir_.file("away"), in(name));
  }
  fs::remove(in(kIndex));
  EXPECT_EQ(file_error([&] { read_run_state(folder_); }).path(), in(kIndex));
}

TEST_F(HostileFolderTest, CutOffFiles) {
  for (const char* name : {kIndex, kOwnIndex, kShard, kOwnShard}) {
    const std::string whole = get(in(name));
    for (const std::size_t left :
         {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 2}) {
      put(in(name), whole.substr(0, left));
      for (const Checksum checksum : {Checksum::yes, Checksum::no})
        EXPECT_EQ(refusal(checksum).path(), in(name)) << left;
    }
    put(in(name), whole);
  }
}

TEST_F(HostileFolderTest, EachFlippedBitIsNoticed) {
  for (const char* name : {kIndex, kOwnIndex, kShard, kOwnShard}) {
    const std::string whole = get(in(name));
    for (std::size_t byte = 8; byte < whole.size(); byte += 97) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
      if (name == std::string(kIndex) && json::accept(damaged) &&
          json::parse(damaged) == json::parse(whole))
        continue;  // a blank between two words
      put(in(name), damaged);
      EXPECT_THAT(refusal().path(), HasSubstr(folder_)) << name << ' ' << byte;
    }
    put(in(name), whole);
  }
}

TEST_F(HostileFolderTest, FilesOfAnotherSave) {
  const std::string other = dir_.file("other");
  run_.go({.epochs = 1, .steps = 3});
  save(other);
  for (const char* name : {kOwnIndex, kShard, kOwnShard}) {
    const std::string own = get(in(name));
    // The optimizer's index differs in the checksums alone.
    put(in(name), get(other + "/" + name));
    for (const Checksum checksum : {Checksum::yes, Checksum::no}) {
      if (name == std::string(kOwnIndex) && checksum == Checksum::no) continue;
      const FileError e = refusal(checksum);
      EXPECT_EQ(e.path(), in(name));
      EXPECT_THAT(e.what(), HasSubstr("of another save"));
    }
    put(in(name), own);
  }
}

TEST_F(HostileFolderTest, FilesOutsideTheFolder) {
  save(dir_.file("other"));
  for (const char* name :
       {"../other/model-00001-of-00002.safetensors", "", ".", "..", "/etc/passwd"}) {
    const FileError e = refused_index(kIndex, [&](json& index) {
      for (auto& file : index["weight_map"])
        file = name;
    });
    EXPECT_EQ(e.path(), in(kIndex));
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("'" + std::string(name) + "'"), HasSubstr("index's own folder")));
  }
}

TEST_F(HostileFolderTest, IndicesThatDoNotFitTheFiles) {
  const auto moved = refused_index(kIndex, [](json& index) {
    auto& file = index["weight_map"]["head.weight"];
    file = file == kShard ? "model-00002-of-00002.safetensors" : kShard;
  });
  EXPECT_THAT(moved.what(), HasSubstr("has no tensor 'head.weight'"));
  const auto unknown =
      refused_index(kIndex, [](json& index) { index["weight_map"].erase("head.weight"); });
  EXPECT_THAT(unknown.what(), HasSubstr("'head.weight', of which the index does not know"));
  const auto unsummed =
      refused_index(kIndex, [](json& index) { index["metadata"]["tandem.files"].erase(kShard); });
  EXPECT_THAT(unsummed.what(), AllOf(HasSubstr(kShard), HasSubstr("no checksum of it")));
  const auto without = refused_index(
      kIndex, [](json& index) { index["metadata"]["tandem.files"].erase(kOwnIndex); });
  EXPECT_THAT(without.what(), HasSubstr(kOwnIndex));
  for (const char* key : {"weight_map", "metadata"}) {
    EXPECT_THAT(refused_index(kIndex, [&](json& index) { index.erase(key); }).what(),
                AllOf(HasSubstr(kIndex), HasSubstr(key)));
    EXPECT_THAT(refused_index(kIndex, [&](json& index) { index[key] = {1}; }).what(),
                AllOf(HasSubstr(kIndex), HasSubstr(key)));
  }
  EXPECT_THAT(refused_index(kIndex, [](json& index) { index["metadata"].erase("format"); }).what(),
              HasSubstr("not a checkpoint of tandem"));
  put(in(kIndex), R"({"weight_map":{},"weight_map":{},"metadata":{}})");
  EXPECT_THAT(refusal(Checksum::no).what(), HasSubstr("'weight_map' appears twice"));
}

TEST_F(HostileFolderTest, FilesThatOthersHaveRewrittenAreReadWithoutTheirChecksum) {
  const std::string& shard = in(kShard);
  save_safetensors(shard, load_safetensors(shard), {{"format", "pt"}});
  const FileError e = refusal();
  EXPECT_EQ(e.path(), shard);
  EXPECT_THAT(e.what(), HasSubstr("Checksum::no"));
  json index = json::parse(get(in(kIndex)));
  index["metadata"]["note"] = "ours";
  put(in(kIndex), index.dump());
  EXPECT_THAT(refusal().what(), HasSubstr("the content is not what was written"));
  SmallRun other(3, 77, kClasses, parallel::Mode::fully_sharded);
  load_checkpoint(
      folder_, other.task->module(), *other.optimizer, other.state, nullptr, Checksum::no);
  EXPECT_THAT(differing(numbers_of(other), numbers_of(run_)), IsEmpty());
}

TEST_F(HostileFolderTest, WhatCannotBeWrittenLeavesTheOldCheckpoint) {
  const std::string before = get(in(kIndex)), shard = get(in(kShard));
  run_.go({.epochs = 1, .steps = 3});
  const auto refused = [&](const char* why) {
    EXPECT_THAT(file_error([&] { save(folder_); }).what(), HasSubstr(why));
    EXPECT_EQ(get(in(kIndex)), before);
    EXPECT_EQ(get(in(kShard)), shard);
    EXPECT_THAT(dir_.names(), ElementsAre("run"));
  };
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  refused("write-protected");
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  put(in("config.json"), "{}");
  refused("config.json");
  fs::remove(in("config.json"));

  rlimit whole{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &whole), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 700, .rlim_max = whole.rlim_max};  // the disk is full
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const FileError e = file_error([&] { save(folder_); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &whole), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(e.offset(), 700);
  EXPECT_THAT(e.path(), HasSubstr(folder_ + "/"));
  EXPECT_EQ(get(in(kIndex)), before);
  EXPECT_THAT(dir_.names(), ElementsAre("run"));
  save(folder_);
  EXPECT_EQ(read_run_state(folder_).step, 3);
}

TEST_F(HostileFolderTest, AFileIsNoFolderAndAFolderIsNoFile) {
  EXPECT_THAT(file_error([&] { run_.save(folder_); }).what(), HasSubstr("not a regular file"));
  const std::string file = dir_.file("one");
  run_.save(file);
  const std::string content = get(file);
  EXPECT_THAT(file_error([&] { save(file); }).what(), HasSubstr("is not a folder"));
  EXPECT_EQ(get(file), content);
}

TEST_F(HostileFolderTest, SizesOfAGptAreComparedWithAFolder) {
  const nn::models::GptOptions small{
      .layers = 2, .width = 8, .heads = 2, .context = 4, .vocabulary = 5};
  const nn::models::Gpt net(small);
  const optim::AdamW optimizer(net.named_parameters(), optim::AdamWOptions{.lr = 0.02});
  save_sharded_checkpoint(folder_, net, optimizer, {.model = "gpt"}, {.files = 3});
  check_gpt(folder_, small);
  nn::models::GptOptions large = small;
  large.layers = 1'000'000'000'000;
  EXPECT_THAT(thrown_text<FileError>([&] { check_gpt(folder_, large); }),
              AllOf(HasSubstr(folder_), HasSubstr("no tensor 'blocks.2.norm1.weight' (8)")));
  large = small;
  large.vocabulary = 6;
  EXPECT_THAT(thrown_text<FileError>([&] { check_gpt(folder_, large); }),
              AllOf(HasSubstr("-of-00003.safetensors"), HasSubstr("'embed.weight' (6, 8)")));
}

}  // namespace
}  // namespace tandem::training::test
