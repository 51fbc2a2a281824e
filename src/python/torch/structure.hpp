// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>

#include "tandem/libtorch/nest.hpp"
#include "tandem/parallel/marks.hpp"

#include "python/torch/caller_context.hpp"
#include "python/torch/interpreter_lock.hpp"

namespace tandem::python {

class Structure;

/// Arguments from Python as a nest of tandem: their tensors, by what is to be done with them, and
/// the structure that they are in.
struct Arguments {
  std::vector<parallel::Split<at::Tensor>> split;
  parallel::Replicated<std::vector<at::Tensor>> whole;
  std::vector<parallel::Rows<std::int64_t>> rows;  ///< of lists that have an element for each row
  std::shared_ptr<const Structure> structure;
  std::shared_ptr<CallerContext> caller;
  TANDEM_FIELDS(split, whole, rows)
};

/// What a replica returned: its tensors, and the numbers and texts that all replicas must agree on.
struct Outputs {
  std::vector<at::Tensor> tensors;
  std::vector<std::string> constants;
  std::shared_ptr<const Structure> structure;
  TANDEM_FIELDS(tensors, constants)
};

/// What is around the tensors of a Python value: tuples, lists, dicts, named tuples, dataclasses,
/// and all other objects, which are not looked into. Values are made from it again with other
/// tensors.
///
/// Its functions need the interpreter's lock; objects may be dropped without it.
class Structure {
 public:
  /// Takes arguments apart.
  ///
  /// @param value  a tuple, whose parts may be marked: tandem.replicate, split and rows. A tensor
  ///               without dimensions goes to every replica, as other objects do.
  /// @param dim    of the rows.
  static Arguments take_apart(nanobind::handle value, int dim);
  /// Takes what a replica returned apart.
  static Outputs take_apart(nanobind::handle value);

  static nanobind::object put_together(const Arguments& arguments);
  static nanobind::object put_together(const Outputs& outputs);

 private:
  enum class Kind : std::uint8_t {
    tensor,    // number_ says which one
    whole,     // the same, of those that every replica gets
    rows,      // a list by rows
    constant,  // object_
    tuple,     // and what is derived from it
    list,
    dict,       // object_ is a dict of the same class; keys_
    dataclass,  // object_ is one of the same class; keys_ are the names of its fields
  };
  class Reader;
  class Writer;

  Kind kind_ = Kind::constant;
  std::size_t number_ = 0;
  SharedObject object_, keys_;
  std::vector<Structure> parts_;
};

}  // namespace tandem::python
