// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <filesystem>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/text_dataset.hpp"
#include "tandem/io/file.hpp"

#include "data/places.hpp"
#include "data/utf8.hpp"

namespace tandem::datasets {
namespace {

using tandem::detail::concat;

std::string find_tales() {
  std::string tried;
  for (const auto& place : places("tales", shipped_places("tales"))) {
    const std::filesystem::path path = place / "tales.txt";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  throw FileError("tales.txt",
                  -1,
                  concat("is in none of ",
                         tried,
                         "; name a text of your own, or set "
                         "TANDEM_DATA_DIR to the directory above tales"));
}

std::string read_text(const std::string& path) {
  const FileReader file(path);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = utf8_length(text, at);
    if (n == 0) {
      throw FileError(
          path,
          static_cast<std::int64_t>(at),
          "is not UTF-8 here; convert it (iconv -f latin1 -t utf-8), or give another text");
    }
    at += n;
  }
  return text;
}

}  // namespace

TextData load_text(const TextOptions& options) {
  TANDEM_CHECK(options.context > 0, "load_text: a window has ", options.context, " characters");
  TANDEM_CHECK(options.test_share > 0 && options.test_share < 1,
               "load_text: the share of the test is ",
               options.test_share,
               ", it is between 0 and 1");
  const std::string path = options.path.empty() ? find_tales() : options.path;
  const std::string text = read_text(path);
  TextData data{.vocabulary = Vocabulary(text), .train = {}, .test = {}};
  std::vector<std::int32_t> tokens = data.vocabulary.encode(text);
  const auto total = static_cast<double>(tokens.size());
  const auto trained = static_cast<std::size_t>(std::floor(total * (1 - options.test_share)));
  const std::size_t least = std::min(trained, tokens.size() - trained);
  if (static_cast<std::int64_t>(least) <= options.context) {
    throw FileError(path,
                    -1,
                    concat("its ",
                           tokens.size(),
                           " characters are too few for a test on a share of ",
                           options.test_share,
                           " in windows of ",
                           options.context,
                           "; give a longer text or a smaller context"));
  }
  const auto cut = tokens.begin() + static_cast<std::ptrdiff_t>(trained);
  data.test = std::make_shared<const TextDataset>(std::vector(cut, tokens.end()), options.context);
  tokens.erase(cut, tokens.end());
  data.train = std::make_shared<const TextDataset>(std::move(tokens), options.context);
  return data;
}

}  // namespace tandem::datasets
