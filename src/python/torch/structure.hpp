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

/// An element of a list that has one for each row: its place in the list, and its tensors.
struct RowElement {
  std::int64_t index = 0;
  std::vector<at::Tensor> tensors;
  TANDEM_FIELDS(index, tensors)
};

/// Arguments from Python as a nest of tandem: their tensors, by what is to be done with them, and
/// the structure that they are in.
struct Arguments {
  std::vector<parallel::Split<at::Tensor>> split;
  parallel::Replicated<std::vector<at::Tensor>> whole;
  std::vector<parallel::Rows<RowElement>> rows;  ///< by list that has an element for each row
  std::shared_ptr<const Structure> structure;
  std::shared_ptr<CallerContext> caller;
  int dim = 0;  ///< of the rows, where no mark says another one
  TANDEM_FIELDS(split, whole, rows)
};

/// What a replica returned.
struct Outputs {
  std::vector<parallel::Split<at::Tensor>> tensors;  ///< to be joined, each along its dimension
  std::vector<at::Tensor> own;                       ///< of elements of lists by rows
  std::shared_ptr<Structure> structure;
  int replica = 0;
  TANDEM_FIELDS(tensors, own)
};

/// What is around the tensors of a Python value: tuples, lists, dicts, named tuples, dataclasses,
/// objects that tandem._nodes opens, and all others, which are not looked into. Values are made
/// from it again with other tensors.
///
/// Its functions need the interpreter's lock; objects may be dropped without it.
class Structure {
 public:
  /// How errors name what a value is: the arguments of a call, (positional, named), or one value.
  enum class Root : std::uint8_t { call, batch, output };

  /// Takes arguments apart.
  ///
  /// @param value  its parts may be marked: tandem.replicate, split and rows. A tensor without
  ///               dimensions goes to every replica, as other objects do.
  /// @param dim    of the rows.
  /// @throws InvalidArgument  the arguments differ in rows, or one lacks its dimension.
  static Arguments take_apart(nanobind::handle value, int dim, Root root);
  /// Takes what a replica returned apart. @throws InvalidArgument  a part is marked `replicate`.
  static Outputs take_apart_output(nanobind::handle value, int dim);

  static nanobind::object put_together(const Arguments& arguments);
  static nanobind::object put_together(const Outputs& outputs);

  /// Gives the outputs of all replicas the order of the first one's: entries of dicts are found by
  /// their keys. The elements of lists by rows all go to the first.
  ///
  /// @throws InvalidArgument  they differ in structure, or in an object that cannot be joined.
  static void join(const std::vector<Outputs*>& outputs);

 private:
  enum class Kind : std::uint8_t {
    tensor,    // number_ says which one
    whole,     // the same, of those that every replica gets
    own,       // the same, of those of an element of a list by rows
    rows,      // a list by rows; parts_ are its elements
    each,      // object_ is a list with a value for each replica
    constant,  // object_
    tuple,     // and what is derived from it
    list,
    dict,       // object_ is a dict of the same class; keys_
    dataclass,  // object_ is one of the same class; keys_ are the names of its fields
    node,       // object_ is a tandem._nodes.Node; keys_
  };
  class Reader;
  class Writer;
  class Joiner;

  /// The way to a part of a value. It is converted to text only for messages.
  struct Path {
    const Path* up = nullptr;          // null: this is the value itself
    const Structure* whole = nullptr;  // that the part is in
    std::size_t index = 0;             // in `whole`
    Root root = Root::output;
  };
  /// "argument 1['labels']", "batch.x[0]".
  static std::string to_string(const Path& path);

  /// f(part, path) for the tensors and the lists by rows in a structure.
  template <class F>
  static void visit(const Structure& s, const Path& path, const F& f) {
    if (s.kind_ == Kind::tensor || s.kind_ == Kind::rows) return f(s, path);
    for (std::size_t i = 0; i < s.parts_.size(); ++i)
      visit(s.parts_[i], Path{&path, &s, i, path.root}, f);
  }
  static void check_rows(const Arguments& arguments, Root root);

  Kind kind_ = Kind::constant;
  std::size_t number_ = 0;
  SharedObject object_, keys_;
  std::vector<Structure> parts_;
};

}  // namespace tandem::python
