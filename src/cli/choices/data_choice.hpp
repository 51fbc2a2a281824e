// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tandem/core/dtype.hpp"
#include "tandem/data/dataset.hpp"

#include "cli/data_form.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Both parts of a data set.
struct DataSets {
  std::shared_ptr<const datasets::Dataset> train, test;
  DataForm form;
};

/// Which data a run reads.
struct DataChoice {
  std::string name;  ///< empty: by the model
  std::string dir;   ///< of images; empty: the default
  std::string text;  ///< a file; empty: tandem's own

  void add_flags(CLI::App& app);
  bool is_text() const;
  /// @throws UsageError  an option was given that the data set, which has a name, does not have.
  void check() const;
  /// @param dtype    of images.
  /// @param context  characters of a sample of a text.
  /// @throws FileError        the files.
  /// @throws InvalidArgument  a set without samples, or test images of another size.
  DataSets load(DType dtype, std::int64_t context) const;
};

}  // namespace tandem::cli
