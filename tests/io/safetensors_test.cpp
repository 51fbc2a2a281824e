// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// data/sample.safetensors was written by the reference implementation (data/make_samples.py).

#include "tandem/io/safetensors.hpp"

#include <cstring>
#include <locale>
#include <numbers>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "io/sample.hpp"
#include "io/temp_dir.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::kSample;
using ::testing::Pair;
using testing::put;
using testing::TempDir;
using testing::thrown_text;

template <class T>
std::vector<T> values(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) throw InvalidArgument("the file has no tensor " + name);
  std::vector<T> out(entry->nbytes / sizeof(T));
  file.read(*entry, std::as_writable_bytes(std::span(out)));
  return out;
}

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}

TEST(SafetensorsTest, ReadsWhatTheReferenceWrote) {
  const SafetensorsFile file(kSample);
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("note", "grüße \\ \t")));
  EXPECT_THAT(values<float>(file, "layer.weight"), ElementsAre(0, 0.25f, 0.5f, 0.75f, 1, 1.25f));
  EXPECT_THAT(values<float>(file, "layer.bias"), ElementsAre(-1.5f, 1e30f));
  EXPECT_THAT(values<double>(file, "wide"), ElementsAre(std::numbers::pi));
  EXPECT_THAT(values<std::int64_t>(file, "index"), ElementsAre(-(std::int64_t{1} << 62), 7));
  EXPECT_THAT(values<std::int32_t>(file, "count"), ElementsAre(-3, INT32_MAX, 5));
  EXPECT_THAT(values<std::uint8_t>(file, "pixels"), ElementsAre(0, 127, 255));
  EXPECT_THAT(values<std::uint8_t>(file, "mask"), ElementsAre(1, 0, 1));
  EXPECT_THAT(values<float>(file, "scalar"), ElementsAre(2.5f));
  EXPECT_THAT(values<std::uint8_t>(file, "naïve \"name\"\n"), ElementsAre(1));
  EXPECT_EQ(file.find("layer.weight")->shape, (Shape{2, 3}));
  EXPECT_EQ(file.find("layer.weight")->dtype, DType::f32);
  EXPECT_EQ(file.find("mask")->dtype, DType::boolean);
  EXPECT_EQ(file.find("scalar")->shape, Shape{});
  EXPECT_EQ(file.find("empty")->shape, (Shape{0, 4}));
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.entries().size(), 10u);
}

/// The sample's tensors by name, as items to be written.
class SampleItems {
 public:
  SampleItems() : file_(kSample) {
    for (const SafetensorsEntry& e : file_.entries())
      buffers_.emplace_back(e.nbytes);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const SafetensorsEntry& e = file_.entries()[i];
      file_.read(e, buffers_[i]);
      items.push_back({.name = e.name, .dtype = e.dtype, .shape = e.shape, .bytes = buffers_[i]});
    }
    std::ranges::reverse(items);  // the order of the file is the writer's, not the caller's
  }
  const SafetensorsMetadata& metadata() const { return file_.metadata(); }
  std::vector<SafetensorsItem> items;

 private:
  SafetensorsFile file_;
  std::vector<std::vector<std::byte>> buffers_;
};

TEST(SafetensorsTest, WritesTheReferencesFileToTheByte) {
  const TempDir dir;
  const SampleItems sample;
  write_safetensors(dir.file("x"), sample.items, sample.metadata());
  EXPECT_EQ(get(dir.file("x")), get(kSample));
}

struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

TEST(SafetensorsTest, TheProgramsLocaleDoesNotChangeTheFile) {
  const TempDir dir;
  const SampleItems sample;
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  write_safetensors(dir.file("x"), sample.items, sample.metadata());
  std::locale::global(before);
  EXPECT_EQ(get(dir.file("x")), get(kSample));
}

TEST(SafetensorsTest, EveryTensorIsAlignedToItsType) {
  const SafetensorsFile file(kSample);
  for (const SafetensorsEntry& e : file.entries())
    EXPECT_EQ(e.offset % itemsize(e.dtype), 0u) << e.name;
}

TEST(SafetensorsTest, AFileWithoutTensorsIsAFile) {
  const TempDir dir;
  write_safetensors(dir.file("x"), {});
  EXPECT_EQ(get(dir.file("x")), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(SafetensorsFile(dir.file("x")).entries().empty());
}

TEST(SafetensorsTest, WriterRefusesWhatItCouldNotReadBack) {
  const TempDir dir;
  const std::vector<float> two{1, 2};
  put(dir.file("x"), "old");
  const auto text = [&](std::vector<SafetensorsItem> items,
                        const SafetensorsMetadata& metadata = {}) {
    return thrown_text([&] { write_safetensors(dir.file("x"), items, metadata); });
  };
  const SafetensorsItem good{.name = "a", .dtype = DType::f32, .shape = {2}, .bytes = bytes(two)};
  SafetensorsItem bad = good;
  EXPECT_THAT(text({good, good}), HasSubstr("'a' is reserved or appears twice"));
  bad.name = "__metadata__";
  EXPECT_THAT(text({bad}), HasSubstr("'__metadata__' is reserved"));
  bad.name = "\xff";
  EXPECT_THAT(text({bad}), HasSubstr("must be UTF-8"));
  EXPECT_THAT(text({good}, {{"key", "\xc0\x80"}}), HasSubstr("must be UTF-8"));
  bad = good;
  bad.shape = {3};
  EXPECT_THAT(text({bad}), HasSubstr("is F32 (3) and takes 12 bytes, but 8 were given"));
  bad.shape = {INT64_MAX, 2};
  EXPECT_THAT(text({bad}), HasSubstr("overflows 63 bits"));
  EXPECT_EQ(get(dir.file("x")), "old");
  EXPECT_THAT(dir.names(), ElementsAre("x"));
}

TEST(SafetensorsTest, ReadNeedsABufferOfTheTensorsSize) {
  const SafetensorsFile file(kSample);
  std::vector<std::byte> small(23);
  EXPECT_THROW(file.read(*file.find("layer.weight"), small), InvalidArgument);
}

TEST(SafetensorsTest, ABoolIsZeroOrOne) {
  const TempDir dir;
  std::string content = get(kSample);
  content[content.size() - 2] = 2;  // the mask is the last tensor
  put(dir.file("x"), content);
  const FileError e =
      file_error([&] { values<std::uint8_t>(SafetensorsFile(dir.file("x")), "mask"); });
  EXPECT_EQ(e.offset(), static_cast<std::int64_t>(content.size()) - 2);
  EXPECT_THAT(e.what(), HasSubstr("holds the byte 2"));
}

}  // namespace
}  // namespace tandem
