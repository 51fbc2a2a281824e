// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/text_dataset.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "io/temp_dir.hpp"
#include "thrown_text.hpp"

namespace tandem::datasets {
namespace {

using tandem::testing::file_error;
using tandem::testing::put;
using tandem::testing::TempDir;
using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string decoded(const Vocabulary& v, std::span<const std::int64_t> tokens) {
  std::string text;
  for (const std::int64_t t : tokens)
    text += v.character(t);
  return text;
}

TEST(VocabularyTest, HasTheCharactersThatOccurInTheirOrder) {
  const Vocabulary v("bac\nab é€😀");
  EXPECT_EQ(v.characters(), "\n abcé€😀");
  EXPECT_EQ(v.size(), 8);
  EXPECT_THAT(v.encode("a😀b\n€"), ElementsAre(2, 7, 3, 0, 6));
  EXPECT_EQ(v.character(5), "é");
  EXPECT_EQ(Vocabulary(v.characters()), v);
  EXPECT_FALSE(Vocabulary("ab") == v);
}

TEST(VocabularyTest, UnknownCharactersAreNamed) {
  const Vocabulary v("abc");
  EXPECT_THAT(thrown_text([&] { v.encode("abé"); }),
              AllOf(HasSubstr("'é'"), HasSubstr("byte 2"), HasSubstr("3 characters")));
  EXPECT_THAT(thrown_text([&] { (void)v.character(3); }), HasSubstr("0 to 2"));
  EXPECT_THAT(thrown_text([&] { (void)v.character(-1); }), HasSubstr("-1"));
}

TEST(VocabularyTest, WhatIsNotUtf8IsRefusedWithItsOffset) {
  // A stray continuation, a cut character, one longer than need be, half of a pair, beyond the end.
  for (const char* bad : {"\x80",
                          "\xc3",
                          "\xe2\x82",
                          "\xc0\xaf",
                          "\xe0\x80\xaf",
                          "\xed\xa0\x80",
                          "\xf4\x90\x80\x80",
                          "\xff",
                          "\xf0\x80\x80\x80"}) {
    const std::string text = std::string("ab").append(bad);
    EXPECT_THAT(thrown_text([&] { Vocabulary v(text); }), HasSubstr("byte 2"));
    EXPECT_THAT(thrown_text([&] { (void)Vocabulary("ab").encode(text); }), HasSubstr("byte 2"));
  }
}

TEST(TextDatasetTest, WindowsLieEndToEndAndLabelsAreTheNextCharacters) {
  std::vector<std::int32_t> tokens(14);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TextDataset set(tokens, 4);
  EXPECT_EQ(set.size(), 3);  // 12 inputs, and the label of the last one
  const std::vector<std::int64_t> indices{2, 0};
  const std::vector<HostArray> batch = set.get(indices);
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0].shape, (Shape{2, 4}));
  EXPECT_THAT(batch[0].values<std::int64_t>(), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_THAT(batch[1].values<std::int64_t>(), ElementsAre(9, 10, 11, 12, 1, 2, 3, 4));
  const std::vector<std::int64_t> beyond{3};
  EXPECT_THAT(thrown_text([&] { (void)set.get(beyond); }), HasSubstr("index 3"));

  tokens.resize(13);
  EXPECT_EQ(TextDataset(tokens, 4).size(), 3);
  EXPECT_EQ(TextDataset(tokens, 12).size(), 1);
  tokens.resize(12);
  EXPECT_EQ(TextDataset(tokens, 4).size(), 2);
  EXPECT_THAT(thrown_text([&] { TextDataset(tokens, 12); }), HasSubstr("take 13"));
  EXPECT_THAT(thrown_text([&] { TextDataset(tokens, 0); }), HasSubstr("context is 0"));
}

TEST(LoadTextTest, TalesAreThereWithoutAnyPreparation) {
  const TextData tales = load_text({.context = 64});
  EXPECT_GT(tales.vocabulary.size(), 40);
  EXPECT_LT(tales.vocabulary.size(), 100);
  EXPECT_EQ(tales.train->context(), 64);
  const std::vector<std::int64_t> first{0};
  const std::vector<HostArray> batch = tales.train->get(first);
  EXPECT_EQ(decoded(tales.vocabulary, batch[0].values<std::int64_t>()).substr(0, 4), "The ");
  EXPECT_NEAR(static_cast<double>(tales.test->size()) /
                  static_cast<double>(tales.train->size() + tales.test->size()),
              0.1,
              0.01);
}

TEST(LoadTextTest, AFileOfOnesOwnIsCutInTwo) {
  const TempDir dir;
  const std::string path = dir.file("text.txt");
  put(path, "abcdefghijklmnopqrst");
  const TextData data = load_text({.path = path, .context = 4, .test_share = 0.25});
  EXPECT_EQ(data.vocabulary.size(), 20);
  EXPECT_EQ(data.train->size(), 3);  // 15 characters
  EXPECT_EQ(data.test->size(), 1);   // 5
  const std::vector<std::int64_t> first{0};
  const std::vector<HostArray> batch = data.test->get(first);
  EXPECT_EQ(decoded(data.vocabulary, batch[0].values<std::int64_t>()), "pqrs");
  EXPECT_EQ(decoded(data.vocabulary, batch[1].values<std::int64_t>()), "qrst");

  const FileError e =
      file_error([&] { load_text({.path = path, .context = 5, .test_share = 0.25}); });
  EXPECT_EQ(e.path(), path);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("20 characters"), HasSubstr("smaller context")));
  put(path, "abcdefghij\xe4klmno");
  const FileError bad = file_error([&] { load_text({.path = path, .context = 2}); });
  EXPECT_EQ(bad.offset(), 10);
  EXPECT_THAT(bad.what(), AllOf(HasSubstr("UTF-8"), HasSubstr("iconv")));
  EXPECT_EQ(file_error([&] { load_text({.path = dir.file("none")}); }).path(), dir.file("none"));
  EXPECT_THAT(thrown_text([&] { load_text({.test_share = 1}); }), HasSubstr("between 0 and 1"));
  EXPECT_THAT(thrown_text([&] { load_text({.context = 0}); }), HasSubstr("context is 0"));
}

}  // namespace
}  // namespace tandem::datasets
