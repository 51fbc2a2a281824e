// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/structure.hpp"

#include <numeric>
#include <utility>

#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"

#include "python/torch/tensor_caster.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// Classes and functions of Python that are looked up once.
struct Names {
  nb::object replicated, split, rows;  // of tandem.marks
  nb::object copy, is_dataclass, fields;

  static const Names& get() {
    // Never destroyed: the interpreter may have ended by then.
    static const Names& names = *new Names{nb::module_::import_("tandem.marks").attr("Replicated"),
                                           nb::module_::import_("tandem.marks").attr("Split"),
                                           nb::module_::import_("tandem.marks").attr("Rows"),
                                           nb::module_::import_("copy").attr("copy"),
                                           nb::module_::import_("dataclasses").attr("is_dataclass"),
                                           nb::module_::import_("dataclasses").attr("fields")};
    return names;
  }
};

bool is_a(nb::handle value, const nb::object& type) {
  return value.type().is(type);
}

/// Ends a recursion that would not end.
class Depth {
 public:
  Depth() {
    if (Py_EnterRecursiveCall(" while a nest of tensors is read") != 0) throw nb::python_error();
  }
  ~Depth() { Py_LeaveRecursiveCall(); }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace

/// Takes a value apart, from the outside in.
class Structure::Reader {
 public:
  explicit Reader(Arguments& arguments, int dim) : arguments_(&arguments), dim_(dim) {}
  explicit Reader(Outputs& outputs) : outputs_(&outputs) {}

  Structure read(nb::handle value) {
    Structure s;
    if (THPVariable_Check(value.ptr())) {
      add_tensor(THPVariable_Unpack(value.ptr()), s);
      return s;
    }
    const Depth depth;
    const Names& names = Names::get();
    if (PyTuple_Check(value.ptr())) {
      s.kind_ = Kind::tuple;
      s.object_ = share(value.type());
      read_sequence(value, s);
    } else if (PyList_Check(value.ptr())) {
      s.kind_ = Kind::list;
      s.object_ = share(value.type());
      read_sequence(value, s);
    } else if (PyDict_Check(value.ptr())) {
      read_dict(value, s);
    } else if (outputs_ == nullptr && is_a(value, names.replicated)) {
      const auto outer = std::exchange(whole_, true);
      s = read(value.attr("value"));
      whole_ = outer;
    } else if (outputs_ == nullptr && is_a(value, names.split)) {
      const auto outer = std::exchange(dim_, nb::cast<int>(value.attr("dim")));
      s = read(value.attr("value"));
      dim_ = outer;
    } else if (outputs_ == nullptr && is_a(value, names.rows)) {
      read_rows(value.attr("value"), s);
    } else if (!PyType_Check(value.ptr()) && nb::cast<bool>(names.is_dataclass(value))) {
      read_dataclass(value, s);
    } else {
      read_constant(value, s);
    }
    return s;
  }

 private:
  void add_tensor(const at::Tensor& x, Structure& s) {
    s.kind_ = Kind::tensor;
    if (outputs_ != nullptr) {
      s.number_ = outputs_->tensors.size();
      outputs_->tensors.push_back(x);
    } else if (whole_ || x.dim() == 0) {
      s.kind_ = Kind::whole;
      s.number_ = arguments_->whole.value.size();
      arguments_->whole.value.push_back(x);
    } else {
      s.number_ = arguments_->split.size();
      arguments_->split.push_back({x, dim_});
    }
  }
  void read_sequence(nb::handle value, Structure& s) {
    for (nb::handle part : value)
      s.parts_.push_back(read(part));
  }
  void read_dict(nb::handle value, Structure& s) {
    s.kind_ = Kind::dict;
    s.object_ = share(value);
    const nb::object keys = nb::steal(PySequence_Tuple(value.ptr()));
    s.keys_ = share(keys);
    for (nb::handle key : keys)
      s.parts_.push_back(read(value[key]));
  }
  void read_rows(nb::handle list, Structure& s) {
    s.kind_ = Kind::rows;
    s.object_ = share(list);
    s.number_ = arguments_->rows.size();
    std::vector<std::int64_t> all(nb::len(list));
    std::iota(all.begin(), all.end(), 0);
    arguments_->rows.push_back(parallel::rows(std::move(all)));
  }
  void read_dataclass(nb::handle value, Structure& s) {
    s.kind_ = Kind::dataclass;
    s.object_ = share(value);
    nb::list names;
    for (nb::handle field : Names::get().fields(value)) {
      const nb::object name = field.attr("name");
      names.append(name);
      s.parts_.push_back(read(nb::getattr(value, name)));
    }
    s.keys_ = share(nb::tuple(names));
  }
  void read_constant(nb::handle value, Structure& s) {
    s.object_ = share(value);
    const bool must_agree = PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) ||
                            PyUnicode_Check(value.ptr()) || value.is_none();
    if (outputs_ != nullptr && must_agree)
      outputs_->constants.push_back(nb::cast<std::string>(nb::repr(value)));
  }

  Arguments* arguments_ = nullptr;
  Outputs* outputs_ = nullptr;
  int dim_ = 0;
  bool whole_ = false;
};

/// Puts a value together.
class Structure::Writer {
 public:
  explicit Writer(const Arguments& arguments) : arguments_(&arguments) {}
  explicit Writer(const Outputs& outputs) : outputs_(&outputs) {}

  nb::object write(const Structure& s) const {
    switch (s.kind_) {
      case Kind::tensor:
        return nb::cast(outputs_ != nullptr ? outputs_->tensors[s.number_]
                                            : arguments_->split[s.number_].value);
      case Kind::whole:
        return nb::cast(arguments_->whole.value[s.number_]);
      case Kind::rows: {
        nb::list own;
        for (const std::int64_t row : arguments_->rows[s.number_].value)
          own.append(nb::handle(s.object_.get())[nb::int_(row)]);
        return own;
      }
      case Kind::constant:
        return nb::borrow(s.object_.get());
      case Kind::tuple:
      case Kind::list:
        return write_sequence(s);
      case Kind::dict:
        return write_items(
            s, [](const nb::object& to, nb::handle key, const nb::object& x) { to[key] = x; });
      case Kind::dataclass:
        return write_items(s, [](const nb::object& to, nb::handle key, const nb::object& x) {
          // Not the class's own way, since it may be frozen.
          if (PyObject_GenericSetAttr(to.ptr(), key.ptr(), x.ptr()) != 0) throw nb::python_error();
        });
    }
    return nb::none();
  }

 private:
  nb::object write_sequence(const Structure& s) const {
    nb::list parts;
    for (const Structure& part : s.parts_)
      parts.append(write(part));
    const nb::handle type(s.object_.get());
    if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type)))) return parts;
    if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) return nb::tuple(parts);
    if (nb::hasattr(type, "_make")) return type.attr("_make")(parts);  // a named tuple
    return type(parts);
  }
  template <class Set>
  nb::object write_items(const Structure& s, Set set) const {
    const nb::object copy = Names::get().copy(nb::handle(s.object_.get()));
    std::size_t next = 0;
    for (nb::handle key : nb::handle(s.keys_.get()))
      set(copy, key, write(s.parts_[next++]));
    return copy;
  }

  const Arguments* arguments_ = nullptr;
  const Outputs* outputs_ = nullptr;
};

Arguments Structure::take_apart(nb::handle value, int dim) {
  Arguments arguments;
  arguments.structure = std::make_shared<const Structure>(Reader(arguments, dim).read(value));
  return arguments;
}

Outputs Structure::take_apart(nb::handle value) {
  Outputs outputs;
  outputs.structure = std::make_shared<const Structure>(Reader(outputs).read(value));
  return outputs;
}

nb::object Structure::put_together(const Arguments& arguments) {
  return Writer(arguments).write(*arguments.structure);
}

nb::object Structure::put_together(const Outputs& outputs) {
  return Writer(outputs).write(*outputs.structure);
}

}  // namespace tandem::python
