// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"

#include "python/torch/structure.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

std::string class_of(nb::handle value) {
  return nb::cast<std::string>(value.type().attr("__name__"));
}

std::string text_of(nb::handle value) {
  return nb::cast<std::string>(nb::repr(value));
}

bool is_number_or_text(nb::handle value) {
  return value.is_none() || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) ||
         PyComplex_Check(value.ptr()) || PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr());
}

/// Whether replicas agree on an object. A NaN agrees with a NaN.
bool agree(nb::handle a, nb::handle b) {
  if (a.is(b)) return true;
  if (!a.type().is(b.type())) return false;
  if (is_number_or_text(a)) return text_of(a) == text_of(b);
  return nb::cast<bool>(nb::module_::import_("tandem._nodes").attr("equal")(a, b));
}

}  // namespace

/// Compares what a replica returned with what the first one did, and finds its tensors in the
/// order of the first one's.
class Structure::Joiner {
 public:
  Joiner(Outputs& first, Outputs& other) : first_(first), other_(other) {}

  void run() {
    join(*first_.structure, *other_.structure, Path{});
    other_.tensors = std::move(tensors_);
    other_.own.clear();
  }

 private:
  void join(Structure& first, Structure& other, const Path& path) {
    if (first.kind_ != other.kind_ || !same_class(first, other))
      refuse(path, what(first), what(other), "return the same structure from every replica");
    switch (first.kind_) {
      case Kind::tensor:
        return add_tensor(first, other, path);
      case Kind::rows:
        return add_elements(first, other);
      case Kind::constant:
        return check_constant(first, other, path);
      case Kind::dict:
      case Kind::node:
        return join_by_key(first, other, path);
      default:
        return join_by_place(first, other, path);
    }
  }
  void add_tensor(const Structure& first, const Structure& other, const Path& path) {
    const auto& x = first_.tensors[first.number_];
    auto& y = other_.tensors[other.number_];
    if (x.dim != y.dim)
      refuse(path,
             tandem::detail::concat("split along dimension ", x.dim),
             tandem::detail::concat("along dimension ", y.dim),
             "mark it alike in every replica");
    tensors_.push_back(std::move(y));
  }
  void add_elements(Structure& first, Structure& other) {
    const std::size_t before = first_.own.size();
    for (const std::size_t i : renumber(other, before))
      first_.own.push_back(other_.own[i]);
    for (Structure& element : other.parts_)
      first.parts_.push_back(std::move(element));
  }
  /// Gives the own tensors in `s` the numbers from `next` on. @return  the numbers that they had.
  static std::vector<std::size_t> renumber(Structure& s, std::size_t next) {
    std::vector<std::size_t> had;
    if (s.kind_ == Kind::own) had.push_back(std::exchange(s.number_, next));
    for (Structure& part : s.parts_) {
      const auto below = renumber(part, next + had.size());
      had.insert(had.end(), below.begin(), below.end());
    }
    return had;
  }
  void join_by_place(Structure& first, Structure& other, const Path& path) {
    if (first.parts_.size() != other.parts_.size())
      refuse(path,
             tandem::detail::concat("of ", first.parts_.size(), " elements"),
             tandem::detail::concat("of ", other.parts_.size()),
             "return as many from every replica");
    for (std::size_t i = 0; i < first.parts_.size(); ++i)
      join(first.parts_[i], other.parts_[i], Path{&path, &first, i});
  }
  void join_by_key(Structure& first, Structure& other, const Path& path) {
    const nb::handle keys(first.keys_.get()), others(other.keys_.get());
    const auto refuse_keys = [&] {
      refuse(path,
             "with the keys " + text_of(keys),
             text_of(others),
             "return the same keys from every replica");
    };
    if (first.parts_.size() != other.parts_.size()) refuse_keys();
    if (first.kind_ == Kind::node && !agree(nb::handle(first.object_.get()).attr("context"),
                                            nb::handle(other.object_.get()).attr("context")))
      refuse(path,
             "a " + what(first),
             "one with other settings",
             "return its tensors, or the same settings from every replica");
    for (std::size_t i = 0; i < first.parts_.size(); ++i) {
      const Py_ssize_t place = place_of(keys[nb::int_(i)], others, i);
      if (place < 0) refuse_keys();
      join(first.parts_[i], other.parts_[static_cast<std::size_t>(place)], Path{&path, &first, i});
    }
  }
  /// @param likely  where the key is if both have one order. @return  -1: there is no such key.
  static Py_ssize_t place_of(const nb::object& key, nb::handle keys, std::size_t likely) {
    if (key.equal(keys[nb::int_(likely)])) return static_cast<Py_ssize_t>(likely);
    const Py_ssize_t place = PySequence_Index(keys.ptr(), key.ptr());
    if (place < 0) PyErr_Clear();
    return place;
  }
  void check_constant(const Structure& first, const Structure& other, const Path& path) {
    const nb::handle a(first.object_.get()), b(other.object_.get());
    if (agree(a, b)) return;
    if (is_number_or_text(a))
      refuse(path, text_of(a), text_of(b), "return the same value from every replica, or a tensor");
    refuse(path,
           "a " + class_of(a),
           "another one",
           "return its tensors: they are joined in tuples, lists, dicts, dataclasses and classes "
           "that torch.utils._pytree knows, and other objects must be equal in every replica");
  }

  static bool same_class(const Structure& a, const Structure& b) {
    return a.kind_ == Kind::tensor || a.kind_ == Kind::rows || type_of(a).is(type_of(b));
  }
  static nb::object type_of(const Structure& s) {
    const nb::handle object(s.object_.get());
    if (s.kind_ == Kind::tuple || s.kind_ == Kind::list) return nb::borrow(object);
    if (s.kind_ == Kind::node) return object.attr("type");
    return nb::borrow(object.type());
  }
  static std::string what(const Structure& s) {
    if (s.kind_ == Kind::tensor) return "Tensor";
    if (s.kind_ == Kind::rows) return "tandem.rows(...)";
    const nb::handle object(s.object_.get());
    if (s.kind_ == Kind::constant && is_number_or_text(object)) return text_of(object);
    return nb::cast<std::string>(type_of(s).attr("__name__"));
  }
  [[noreturn]] void refuse(const Path& path,
                           const std::string& in_first,
                           const std::string& in_other,
                           const char* remedy) const {
    throw InvalidArgument(tandem::detail::concat("gather: ",
                                                 to_string(path),
                                                 " is ",
                                                 in_first,
                                                 " in replica ",
                                                 first_.replica,
                                                 " and ",
                                                 in_other,
                                                 " in replica ",
                                                 other_.replica,
                                                 "; ",
                                                 remedy));
  }

  Outputs& first_;
  Outputs& other_;
  std::vector<parallel::Split<at::Tensor>> tensors_;
};

void Structure::join(const std::vector<Outputs*>& outputs) {
  for (std::size_t i = 1; i < outputs.size(); ++i)
    Joiner(*outputs.front(), *outputs[i]).run();
}

}  // namespace tandem::python
