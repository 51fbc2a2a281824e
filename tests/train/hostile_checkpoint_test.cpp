// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints whose numbers, sizes or bytes are not those of a run.

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/io/tensor_file.hpp"
#include "tandem/train/check_gpt.hpp"

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

/// Replaces `part` of `text`, which has it once.
void replace(std::string& text, const std::string& part, const std::string& by) {
  const auto at = text.find(part);
  ASSERT_NE(at, std::string::npos) << part << " in " << text;
  text.replace(at, part.size(), by);
}

class HostileCheckpointTest : public ::testing::Test {
 protected:
  HostileCheckpointTest() {
    run_.state.step = 3;
    run_.state.sizes = {{"layers", 2}};
    run_.save(path_);
  }

  /// What loading the checkpoint says whose metadata `key` has `by` in the place of `part`.
  template <class E>
  std::string refusal(const char* key, const std::string& part, const std::string& by) {
    run_.save(path_);
    const Numbers before = numbers_of(run_);
    auto metadata = SafetensorsFile(path_).metadata();
    replace(metadata[key], part, by);
    save_safetensors(path_, load_safetensors(path_), metadata);
    const std::string text = thrown_text<E>([&] { run_.load(path_); });
    EXPECT_THAT(differing(numbers_of(run_), before), IsEmpty());
    return text;
  }

  tandem::testing::TempDir dir_;
  const std::string path_ = dir_.file("run.safetensors");
  SmallRun run_{1};
};

TEST_F(HostileCheckpointTest, CountsThatNoRunHas) {
  for (const char* wrong : {"1.5",
                            "-1",
                            "1e300",
                            "9223372036854775807",
                            "18446744073709551615",
                            "\"3\"",
                            "true",
                            "null",
                            "[3]"}) {
    EXPECT_THAT(refusal<FileError>("run", "\"step\":3", std::string("\"step\":") + wrong),
                AllOf(HasSubstr(path_), HasSubstr("'step' is "), HasSubstr("whole number")));
  }
  for (const char* name : {"epoch", "batch", "batch_size", "draws", "forwards"}) {
    const std::string text = std::string("\"") + name + "\":";
    EXPECT_THAT(refusal<FileError>("run", text, text + "0.5"), HasSubstr(name));
  }
  EXPECT_THAT(refusal<FileError>("run", "\"seed\":1", "\"seed\":-1e300"),
              HasSubstr("'seed' is -1e"));
  EXPECT_THAT(refusal<FileError>("run", "\"epoch_weight\":0.0", "\"epoch_weight\":-1"),
              HasSubstr("'epoch_weight' is -1"));
  EXPECT_THAT(refusal<FileError>("run", "\"layers\":2", "\"layers\":-2"),
              HasSubstr("'layers' is -2"));
}

TEST_F(HostileCheckpointTest, KeysThatStandTwice) {
  EXPECT_THAT(refusal<FileError>("run", "\"step\":3", "\"step\":3,\"step\":4"),
              HasSubstr("the key 'step' appears twice"));
  EXPECT_THAT(refusal<FileError>("run", "\"layers\":2", "\"layers\":2,\"layers\":3"),
              HasSubstr("the key 'layers' appears twice"));
}

TEST_F(HostileCheckpointTest, OptionsThatNoOptimizerTakes) {
  EXPECT_THAT(refusal<InvalidArgument>(
                  "optimizer", "\"param_groups.0.lr\":0.02", "\"param_groups.0.lr\":-1"),
              AllOf(HasSubstr(path_), HasSubstr("lr is -1")));
  EXPECT_THAT(refusal<InvalidArgument>(
                  "optimizer", "\"param_groups.0.beta1\":0.9", "\"param_groups.0.beta1\":2"),
              HasSubstr("beta1 is 2"));
}

TEST_F(HostileCheckpointTest, AnotherRunsDataOrSizes) {
  EXPECT_THAT(refusal<InvalidArgument>("run", "\"data\":\"rows\"", "\"data\":\"columns\""),
              AllOf(HasSubstr("'columns'"), HasSubstr("'rows'")));
  EXPECT_THAT(refusal<InvalidArgument>("run", "\"layers\":2", "\"layers\":3"),
              AllOf(HasSubstr("(layers 3)"), HasSubstr("(layers 2)")));
}

TEST_F(HostileCheckpointTest, ALossThatIsNotFiniteIsKept) {
  run_.state.epoch_loss = std::nan("");
  run_.save(path_);
  EXPECT_TRUE(std::isnan(read_run_state(path_).epoch_loss));
}

TEST_F(HostileCheckpointTest, EachFlippedBitIsNoticed) {
  const std::string whole = get(path_);
  const Numbers before = numbers_of(run_);
  for (std::size_t byte = 8; byte < whole.size(); byte += 97) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
    put(path_, damaged);
    EXPECT_ANY_THROW(run_.load(path_)) << byte;
  }
  EXPECT_THAT(differing(numbers_of(run_), before), IsEmpty());
}

TEST_F(HostileCheckpointTest, TheChecksumCanBePassedOver) {
  std::string damaged = get(path_);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  put(path_, damaged);
  EXPECT_THAT(file_error([&] { run_.load(path_); }).what(),
              AllOf(HasSubstr("the content is not what was written"), HasSubstr("Checksum::no")));
  Net net;
  EXPECT_THROW(load_model(path_, net), FileError);
  load_model(path_, net, Checksum::no);
  load_checkpoint(path_, run_.task->module(), *run_.optimizer, run_.state, nullptr, Checksum::no);
}

TEST_F(HostileCheckpointTest, SizesOfAGptAreComparedBeforeItIsBuilt) {
  const nn::models::GptOptions small{
      .layers = 2, .width = 8, .heads = 2, .context = 4, .vocabulary = 5};
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, x] : nn::models::Gpt(small).state_dict())
    tensors["model." + name] = x;
  save_safetensors(path_, tensors);
  check_gpt(path_, small);

  const auto refusal = [&](auto change) {
    nn::models::GptOptions options = small;
    change(options);
    return thrown_text<FileError>([&] { check_gpt(path_, options); });
  };
  EXPECT_THAT(refusal([](auto& o) { o.layers = 1'000'000'000'000; }),
              AllOf(HasSubstr("its sizes ask for 1000000000000 layers"),
                    HasSubstr("the file has no tensor 'blocks.2.norm1.weight' (8)")));
  EXPECT_THAT(refusal([](auto& o) { o.context = 10'000'000; }),
              HasSubstr("'position.weight' (10000000, 8), but the file's is (4, 8)"));
  EXPECT_THAT(refusal([](auto& o) { o.context = std::int64_t{1} << 62; }),
              HasSubstr("context 4611686018427387904"));
  EXPECT_THAT(refusal([](auto& o) { o.width = 16; }), HasSubstr("'embed.weight' (5, 16)"));
  EXPECT_THAT(refusal([](auto& o) { o.vocabulary = 6; }), HasSubstr("'embed.weight' (6, 8)"));
}

}  // namespace
}  // namespace tandem::training::test
