// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/data_choice.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/data/cifar10.hpp"
#include "tandem/data/known_datasets.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

/// How a data set is read, by its choice, the type of images and the context of a text.
using Load = DataSets (*)(const DataChoice&, DType, std::int64_t);

/// A data set of images in its two parts, by the function that reads one.
template <auto load>
DataSets load_images(const DataChoice& choice, DType dtype, std::int64_t /*context*/) {
  const datasets::LoadOptions from{.dir = choice.dir, .dtype = dtype};
  const auto train = load(datasets::Split::train, from), test = load(datasets::Split::test, from);
  return {.train = train,
          .test = test,
          .form = {.sample = train->sample_shape(), .classes = train->classes(), .vocabulary = {}}};
}

DataSets load_text(const DataChoice& choice, DType /*dtype*/, std::int64_t context) {
  const datasets::TextData text = datasets::load_text({.path = choice.text, .context = context});
  return {.train = text.train,
          .test = text.test,
          .form = {.sample = {}, .classes = 0, .vocabulary = text.vocabulary}};
}

struct DataSetEntry {
  const char* name;
  bool is_text;
  Load load;
};
/// All data sets.
constexpr std::array kDataSets{
    DataSetEntry{"digits", false, load_images<datasets::load_digits>},
    DataSetEntry{"fashion-mnist", false, load_images<datasets::load_fashion_mnist>},
    DataSetEntry{"cifar10", false, load_images<datasets::load_cifar10>},
    DataSetEntry{"text", true, load_text},
};

const DataSetEntry& data_set_of(const std::string& name) {
  const auto at = std::ranges::find(kDataSets, name, &DataSetEntry::name);
  TANDEM_CHECK(at != kDataSets.end(), "there is no data set '", name, "'");
  return *at;
}

std::vector<std::string> data_set_names() {
  std::vector<std::string> all;
  for (const DataSetEntry& entry : kDataSets)
    all.emplace_back(entry.name);
  return all;
}

}  // namespace

void DataChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::data);
  app.add_option("--data",
                 name,
                 "data set (default digits, or text for gpt); cifar10 reads its binary "
                 "files from --data-dir")
      ->check(CLI::IsMember(data_set_names()));
  app.add_option("--data-dir", dir, "directory of the data set's files");
  app.add_option(
      "--text", text, "UTF-8 file for --data text (default: the tales that come with tandem)");
}

bool DataChoice::is_text() const {
  return !name.empty() && data_set_of(name).is_text;
}

void DataChoice::check() const {
  if (is_text() && !dir.empty())
    throw UsageError(
        "--data-dir is for images, but the data are a text; leave it out, or give --text FILE "
        "instead");
  if (!is_text() && !text.empty())
    throw UsageError(
        "--text names a file for --data text; give --data text too, or leave out --text");
}

DataSets DataChoice::load(DType dtype, std::int64_t context) const {
  DataSets sets = data_set_of(name).load(*this, dtype, context);
  for (const datasets::Dataset* set : {sets.train.get(), sets.test.get()}) {
    if (set->size() == 0)
      throw InvalidArgument(concat("--data ",
                                   name,
                                   ": the ",
                                   set == sets.train.get() ? "training" : "test",
                                   " set has no samples"));
  }
  return sets;
}

}  // namespace tandem::cli
