// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/checkpoint.hpp"

#include <functional>

#include <gmock/gmock.h>

#include "tandem/io/tensor_file.hpp"

#include "io/temp_dir.hpp"
#include "thrown_text.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using tandem::testing::file_error;
using tandem::testing::get;
using tandem::testing::put;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CheckpointTest : public ::testing::Test {
 protected:
  /// A checkpoint of a run in its second epoch.
  CheckpointTest() {
    SmallRun saved(2);
    saved.go({.epochs = 2, .steps = 4, .checkpoint = path_});
    numbers_ = numbers_of(saved);
    state_ = saved.state;
    random_ = random_state();
  }

  /// Writes the checkpoint anew, changed by `change`.
  void rewrite(
      const std::function<void(std::map<std::string, Tensor>&, SafetensorsMetadata&)>& change) {
    auto tensors = load_safetensors(path_);
    SafetensorsMetadata metadata = SafetensorsFile(path_).metadata();
    change(tensors, metadata);
    save_safetensors(path_, tensors, metadata);
  }

  /// The text of the E that loading throws. Holds that module, optimizer and random numbers are as
  /// before, and that the next step is the one that would have been.
  template <class E>
  std::string refusal() {
    SmallRun r(2, 77), twin(2, 77);
    manual_seed(77);
    twin.go({.epochs = 2, .steps = 2});
    manual_seed(77);
    r.go({.epochs = 2, .steps = 1});
    const Numbers before = numbers_of(r);
    const auto random = random_state();
    const std::string text = thrown_text<E>([&] { r.load(path_); });
    EXPECT_THAT(differing(numbers_of(r), before), IsEmpty());
    EXPECT_EQ(random_state(), random);
    r.go({.epochs = 2, .steps = 2});
    EXPECT_THAT(differing(numbers_of(r), numbers_of(twin)), IsEmpty());
    return text;
  }

  tandem::testing::TempDir dir_;
  const std::string path_ = dir_.file("run.safetensors");
  Numbers numbers_;
  RunState state_;
  GeneratorState random_;
};

TEST_F(CheckpointTest, RoundTripIsBitForBit) {
  SmallRun fresh(3, 999);
  EXPECT_THAT(differing(numbers_of(fresh), numbers_), Not(IsEmpty()));
  const RunState read = load_checkpoint(path_, fresh.task->module(), *fresh.optimizer, state_);
  EXPECT_THAT(differing(numbers_of(fresh), numbers_), IsEmpty());
  EXPECT_EQ(random_state(), random_);
  EXPECT_EQ(read.model, kModel);
  EXPECT_EQ(read.data, "rows");
  EXPECT_EQ(read.step, 4);
  EXPECT_EQ(read.position, (datasets::LoaderPosition{.epoch = 1, .batch = 1}));
  EXPECT_EQ(read.batch_size, kBatch);
  ASSERT_TRUE(read.random);
  EXPECT_EQ(read.random->seed, 1U);
  EXPECT_EQ(read.random->forwards, 4U);  // one for each step: measuring draws none
  EXPECT_EQ(read.random, state_.random);
  EXPECT_EQ(read.epoch_loss, state_.epoch_loss);
  EXPECT_EQ(read.epoch_weight, static_cast<double>(kBatch));

  // Equal runs give equal files, and nothing else stays in the directory.
  const std::string again = dir_.file("again.safetensors");
  save_checkpoint(again, fresh.task->module(), *fresh.optimizer, read);
  EXPECT_EQ(get(again), get(path_));
  EXPECT_EQ(dir_.names().size(), 2U);
}

TEST_F(CheckpointTest, KeepsRandomNumbersByItself) {
  SmallRun own(1);
  randn({3});
  save_checkpoint(path_, own.task->module(), *own.optimizer, {.model = "mine", .step = 7});
  const std::vector<double> next = randn({4}).to_doubles();
  manual_seed(0);
  const RunState read =
      load_checkpoint(path_, own.task->module(), *own.optimizer, {.model = "mine"});
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(randn({4}).to_doubles(), next);
}

TEST_F(CheckpointTest, SaysWhatItsModelIsWithoutOne) {
  SmallRun saved(1);
  state_.sizes = {{"layers", 3}, {"width", 12}};
  state_.vocabulary = "\n abé€";
  save_checkpoint(path_, saved.task->module(), *saved.optimizer, state_);
  const RunState read = read_run_state(path_);
  EXPECT_EQ(read.sizes, state_.sizes);
  EXPECT_EQ(read.vocabulary, state_.vocabulary);
  EXPECT_EQ(read.step, 4);
  Net net;
  load_model(path_, net);
  for (const auto& [name, x] : net.state_dict())
    EXPECT_EQ(x.to_doubles(), weights_of(saved).at(name)) << name;
  EXPECT_THAT(thrown_text<FileError>([&] { read_run_state(dir_.file("none")); }),
              HasSubstr("none"));
}

TEST_F(CheckpointTest, FilesWithoutTheYoungerFieldsAreRead) {
  rewrite([](auto&, auto& metadata) {
    std::string& text = metadata["run"];
    for (const std::string field : {"\"sizes\":{},", ",\"vocabulary\":\"\""}) {
      const auto at = text.find(field);
      ASSERT_NE(at, std::string::npos) << text;
      text.erase(at, field.size());
    }
  });
  EXPECT_EQ(read_run_state(path_).step, 4);
  EXPECT_TRUE(read_run_state(path_).sizes.empty());
}

TEST_F(CheckpointTest, HoldsWhatTheSchemaSays) {
  const SafetensorsFile file(path_);
  EXPECT_EQ(file.metadata().at("format"), "tandem.checkpoint");
  EXPECT_EQ(file.metadata().at("schema_version"), "1");
  EXPECT_TRUE(file.metadata().contains("run") && file.metadata().contains("optimizer"));
  for (const char* name : {"model.hidden.weight",
                           "model.norm.running_mean",
                           "model.head.bias",
                           "optimizer.head.bias.exp_avg",
                           "optimizer.hidden.weight.exp_avg_sq"}) {
    EXPECT_NE(file.find(name), nullptr) << name;
  }
}

TEST_F(CheckpointTest, CutOffAnywhereItIsRefusedWithPathAndOffset) {
  const std::string whole = get(path_);
  SmallRun r(1, 77);
  const Numbers before = numbers_of(r);
  const auto random = random_state();
  std::vector<std::size_t> sizes{0, 1, 7, 8, 9, whole.size() - 8, whole.size() - 1};
  for (std::size_t n = 53; n < whole.size(); n += 211)
    sizes.push_back(n);
  for (const std::size_t n : sizes) {
    put(path_, whole.substr(0, n));
    const FileError e = file_error([&] { r.load(path_); });
    EXPECT_EQ(e.path(), path_) << e.what();
    EXPECT_GE(e.offset(), 0) << n << ": " << e.what();
    EXPECT_LE(e.offset(), static_cast<std::int64_t>(whole.size())) << n << ": " << e.what();
  }
  put(path_, whole + "more");
  EXPECT_GE(file_error([&] { r.load(path_); }).offset(), 0);
  EXPECT_THAT(differing(numbers_of(r), before), IsEmpty());
  EXPECT_EQ(random_state(), random);
}

TEST_F(CheckpointTest, MissingFile) {
  std::filesystem::remove(path_);
  EXPECT_THAT(refusal<FileError>(), HasSubstr(path_));
}

TEST_F(CheckpointTest, ForeignSafetensorsFile) {
  save_safetensors(path_, {{"x", zeros({2})}});
  EXPECT_THAT(refusal<FileError>(),
              AllOf(HasSubstr(path_), HasSubstr("not a checkpoint of tandem")));
  save_safetensors(path_, {{"x", zeros({2})}}, {{"format", "pt"}});
  EXPECT_THAT(refusal<FileError>(), HasSubstr("not a checkpoint of tandem"));
}

TEST_F(CheckpointTest, AnotherSchemaVersion) {
  rewrite([](auto&, auto& metadata) { metadata["schema_version"] = "27"; });
  EXPECT_THAT(refusal<FileError>(), AllOf(HasSubstr(path_), HasSubstr("27"), HasSubstr("reads 1")));
  rewrite([](auto&, auto& metadata) { metadata.erase("schema_version"); });
  EXPECT_THAT(refusal<FileError>(), HasSubstr("none"));
}

TEST_F(CheckpointTest, MetadataThatIsNotAsWritten) {
  const std::string whole = get(path_);
  for (const char* key : {"run", "optimizer"}) {
    for (const char* text : {"", "{", "[1]", "{\"step\": \"one\"}", "null"}) {
      put(path_, whole);
      rewrite([&](auto&, auto& metadata) { metadata[key] = text; });
      EXPECT_THAT(refusal<FileError>(), AllOf(HasSubstr(path_), HasSubstr(key))) << text;
    }
    put(path_, whole);
    rewrite([&](auto&, auto& metadata) { metadata.erase(key); });
    EXPECT_THAT(refusal<FileError>(), AllOf(HasSubstr("has no metadata"), HasSubstr(key)));
  }
}

TEST_F(CheckpointTest, NegativePosition) {
  rewrite([](auto&, auto& metadata) {
    std::string& text = metadata["run"];
    const std::string epoch = "\"epoch\":1,";
    const auto at = text.find(epoch);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, epoch.size(), "\"epoch\":-1,");
  });
  EXPECT_THAT(refusal<FileError>(), HasSubstr("'epoch' is -1; expected a whole number from 0"));
}

TEST_F(CheckpointTest, AnotherModel) {
  state_.model = "large f64";
  SmallRun r(2);
  save_checkpoint(path_, r.task->module(), *r.optimizer, state_);
  EXPECT_THAT(refusal<InvalidArgument>(),
              AllOf(HasSubstr(path_), HasSubstr("'large f64'"), HasSubstr("'small f64'")));
}

TEST_F(CheckpointTest, MissingTensorOfTheModel) {
  rewrite([](auto& tensors, auto&) { EXPECT_EQ(tensors.erase("model.head.bias"), 1U); });
  EXPECT_THAT(refusal<InvalidArgument>(), AllOf(HasSubstr(path_), HasSubstr("head.bias")));
}

TEST_F(CheckpointTest, MissingTensorOfTheOptimizerTakesTheModelBack) {
  rewrite(
      [](auto& tensors, auto&) { EXPECT_EQ(tensors.erase("optimizer.head.bias.exp_avg"), 1U); });
  EXPECT_THAT(refusal<InvalidArgument>(), AllOf(HasSubstr(path_), HasSubstr("head.bias.exp_avg")));
}

TEST_F(CheckpointTest, TensorOfAnotherShapeOrType) {
  const std::string whole = get(path_);
  for (const char* name : {"model.head.bias", "optimizer.head.bias.exp_avg"}) {
    put(path_, whole);
    rewrite([&](auto& tensors, auto&) { tensors[name] = zeros({5}, {.dtype = DType::f64}); });
    EXPECT_THAT(refusal<InvalidArgument>(),
                AllOf(HasSubstr("head.bias"), HasSubstr("(5)"), HasSubstr("(3)")));
    put(path_, whole);
    rewrite([&](auto& tensors, auto&) { tensors[name] = zeros({3}, {.dtype = DType::i64}); });
    EXPECT_THAT(refusal<InvalidArgument>(),
                AllOf(HasSubstr("head.bias"), HasSubstr("i64"), HasSubstr("f64")));
  }
}

TEST_F(CheckpointTest, TensorOfNeither) {
  rewrite([](auto& tensors, auto&) { tensors["other.x"] = zeros({1}); });
  EXPECT_THAT(refusal<FileError>(), AllOf(HasSubstr(path_), HasSubstr("other.x")));
}

TEST_F(CheckpointTest, FailedWriteKeepsTheOldFile) {
  SmallRun r(1);
  const std::string nowhere = dir_.file("no/such/directory.safetensors");
  EXPECT_EQ(file_error([&] { r.save(nowhere); }).path(), nowhere);
  EXPECT_EQ(dir_.names().size(), 1U);
}

}  // namespace
}  // namespace tandem::training::test
