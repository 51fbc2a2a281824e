// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/structure.hpp"

#include <utility>

#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

#include "python/torch/tensor_caster.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// Classes and functions of Python that are looked up once.
struct Names {
  nb::object replicated, split, rows, each;  // of tandem.marks
  nb::object copy, is_dataclass, fields;
  nb::object node_of_argument, node_of_output, registered;  // of tandem._nodes

  static const Names& get() {
    // The interpreter's lock guards it, which an import gives up: a guard of C++'s own would then
    // be waited for with the lock held. Never destroyed: the interpreter may have ended by then.
    static const Names* names = nullptr;
    if (names == nullptr) {
      const auto marks = nb::module_::import_("tandem.marks");
      const auto nodes = nb::module_::import_("tandem._nodes");
      const auto dataclasses = nb::module_::import_("dataclasses");
      names = new Names{marks.attr("Replicated"),
                        marks.attr("Split"),
                        marks.attr("Rows"),
                        marks.attr("Each"),
                        nb::module_::import_("copy").attr("copy"),
                        dataclasses.attr("is_dataclass"),
                        dataclasses.attr("fields"),
                        nodes.attr("node_of_argument"),
                        nodes.attr("node_of_output"),
                        nb::module_::import_("torch.utils._pytree").attr("SUPPORTED_NODES")};
    }
    return *names;
  }
};

bool is_a(nb::handle value, const nb::object& type) {
  return value.type().is(type);
}

/// Whether tuples and lists are made by their own class from their elements.
bool is_sequence(nb::handle value) {
  if (PyTuple_CheckExact(value.ptr()) || PyList_CheckExact(value.ptr())) return true;
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr())) return false;
  return !nb::cast<bool>(Names::get().registered.attr("__contains__")(value.type()));
}

/// Numbers, texts and None, which are in no class that could be opened.
bool is_plain(nb::handle value) {
  return value.is_none() || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) ||
         PyUnicode_Check(value.ptr()) || PyType_Check(value.ptr());
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
  Reader(Arguments& arguments, int dim) : arguments_(&arguments), dim_(dim) {}
  Reader(Outputs& outputs, int dim) : outputs_(&outputs), dim_(dim) {}

  Structure read(nb::handle value) {
    Structure s;
    if (THPVariable_Check(value.ptr())) {
      add_tensor(THPVariable_Unpack(value.ptr()), s);
      return s;
    }
    if (is_plain(value)) {
      s.object_ = share(value);
      return s;
    }
    const Depth depth;
    if (is_sequence(value)) {
      s.kind_ = PyTuple_Check(value.ptr()) ? Kind::tuple : Kind::list;
      s.object_ = share(value.type());
      read_parts(value, s);
    } else if (PyDict_Check(value.ptr())) {
      read_dict(value, s);
    } else if (!read_mark(value, s)) {
      read_object(value, s);
    }
    return s;
  }

 private:
  void add_tensor(const at::Tensor& x, Structure& s) {
    if (own_ != nullptr) {
      s.kind_ = Kind::own;
      s.number_ = own_->size();
      own_->push_back(x);
    } else if (outputs_ != nullptr) {
      s.kind_ = Kind::tensor;
      s.number_ = outputs_->tensors.size();
      outputs_->tensors.push_back({x, dim_});
    } else if (whole_ || x.dim() == 0) {
      s.kind_ = Kind::whole;
      s.number_ = arguments_->whole.value.size();
      arguments_->whole.value.push_back(x);
    } else {
      s.kind_ = Kind::tensor;
      s.number_ = arguments_->split.size();
      arguments_->split.push_back({x, dim_});
    }
  }
  void read_parts(nb::handle values, Structure& s) {
    for (nb::handle part : values)
      s.parts_.push_back(read(part));
  }
  void read_dict(nb::handle value, Structure& s) {
    s.kind_ = Kind::dict;
    s.object_ = share(value);
    const nb::object keys = nb::steal(PySequence_Tuple(value.ptr()));
    if (!keys.is_valid()) throw nb::python_error();
    s.keys_ = share(keys);
    for (nb::handle key : keys)
      s.parts_.push_back(read(value[key]));
  }
  /// @return  false if the value is not marked.
  bool read_mark(nb::handle value, Structure& s) {
    if (own_ != nullptr) return false;
    const Names& names = Names::get();
    if (is_a(value, names.split)) {
      const auto outer = std::exchange(dim_, nb::cast<int>(value.attr("dim")));
      s = read(value.attr("value"));
      dim_ = outer;
    } else if (is_a(value, names.rows)) {
      read_rows(value.attr("value"), s);
    } else if (is_a(value, names.replicated)) {
      if (outputs_ != nullptr)
        throw InvalidArgument(
            "gather: an output is marked by tandem.replicate, which is for arguments; return it "
            "from the program itself, or a tensor with the replica's rows");
      const auto outer = std::exchange(whole_, true);
      s = read(value.attr("value"));
      whole_ = outer;
    } else if (is_a(value, names.each)) {
      s.kind_ = Kind::each;
      s.object_ = share(value.attr("values"));
    } else {
      return false;
    }
    return true;
  }
  void read_rows(nb::handle list, Structure& s) {
    s.kind_ = Kind::rows;
    std::vector<at::Tensor>* const outer = own_;
    std::vector<RowElement> elements;
    const auto count = static_cast<std::int64_t>(nb::len(list));
    for (std::int64_t i = 0; i < count; ++i) {
      elements.push_back({i, {}});
      std::vector<at::Tensor>& tensors =
          outputs_ != nullptr ? outputs_->own : elements.back().tensors;
      const std::size_t before = tensors.size();
      own_ = &tensors;
      const nb::object element = list[nb::int_(i)];
      Structure part = read(element);
      if (tensors.size() == before) {  // then it is the same object everywhere
        part = Structure();
        part.object_ = share(element);
      }
      s.parts_.push_back(std::move(part));
    }
    own_ = outer;
    if (outputs_ != nullptr) return;
    s.number_ = arguments_->rows.size();
    arguments_->rows.push_back(parallel::rows(std::move(elements)));
  }
  void read_object(nb::handle value, Structure& s) {
    const Names& names = Names::get();
    if (nb::cast<bool>(names.is_dataclass(value))) return read_dataclass(value, s);
    const nb::object node =
        (outputs_ != nullptr ? names.node_of_output : names.node_of_argument)(value);
    const std::size_t before = tensors();
    if (!node.is_none()) {
      s.kind_ = Kind::node;
      s.object_ = share(node);
      s.keys_ = share(node.attr("keys"));
      read_parts(node.attr("parts"), s);
    }
    if (tensors() != before) return;
    s = Structure();  // it is the same object everywhere
    s.object_ = share(value);
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
  /// How much has been found so far that differs from replica to replica.
  std::size_t tensors() const {
    if (own_ != nullptr) return own_->size();
    if (outputs_ != nullptr) return outputs_->tensors.size() + outputs_->own.size();
    return arguments_->split.size() + arguments_->whole.value.size() + arguments_->rows.size();
  }

  Arguments* arguments_ = nullptr;
  Outputs* outputs_ = nullptr;
  std::vector<at::Tensor>* own_ = nullptr;  // of the element of a list by rows that is being read
  int dim_ = 0;
  bool whole_ = false;
};

/// Puts a value together.
class Structure::Writer {
 public:
  explicit Writer(const Arguments& arguments) : arguments_(&arguments) {}
  explicit Writer(const Outputs& outputs) : outputs_(&outputs), own_(&outputs.own) {}

  nb::object write(const Structure& s) {
    switch (s.kind_) {
      case Kind::tensor:
        return nb::cast(
            (outputs_ != nullptr ? outputs_->tensors : arguments_->split)[s.number_].value);
      case Kind::whole:
        return nb::cast(arguments_->whole.value[s.number_]);
      case Kind::own:
        return nb::cast((*own_)[s.number_]);
      case Kind::rows:
        return write_rows(s);
      case Kind::each:
        return nb::handle(s.object_.get())[nb::int_(context().replica)];
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
      case Kind::node:
        return nb::handle(s.object_.get()).attr("make")(write_parts(s));
    }
    return nb::none();
  }

 private:
  nb::list write_parts(const Structure& s) {
    nb::list parts;
    for (const Structure& part : s.parts_)
      parts.append(write(part));
    return parts;
  }
  nb::object write_rows(const Structure& s) {
    if (outputs_ != nullptr) return write_parts(s);
    nb::list own;
    for (const RowElement& element : arguments_->rows[s.number_].value) {
      own_ = &element.tensors;
      own.append(write(s.parts_[static_cast<std::size_t>(element.index)]));
    }
    return own;
  }
  nb::object write_sequence(const Structure& s) {
    const nb::list parts = write_parts(s);
    const nb::handle type(s.object_.get());
    if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type)))) return parts;
    if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) return nb::tuple(parts);
    if (nb::hasattr(type, "_make")) return type.attr("_make")(parts);  // a named tuple
    return type(parts);
  }
  template <class Set>
  nb::object write_items(const Structure& s, Set set) {
    const nb::object copy = Names::get().copy(nb::handle(s.object_.get()));
    std::size_t next = 0;
    for (nb::handle key : nb::handle(s.keys_.get()))
      set(copy, key, write(s.parts_[next++]));
    return copy;
  }

  const Arguments* arguments_ = nullptr;
  const Outputs* outputs_ = nullptr;
  const std::vector<at::Tensor>* own_ = nullptr;  // of the element that is written
};

Arguments Structure::take_apart(nb::handle value, int dim, Root root) {
  Arguments arguments;
  arguments.dim = dim;
  arguments.structure = std::make_shared<const Structure>(Reader(arguments, dim).read(value));
  check_rows(arguments, root);
  return arguments;
}

Outputs Structure::take_apart_output(nb::handle value, int dim) {
  Outputs outputs;
  outputs.replica = context().replica;
  outputs.structure = std::make_shared<Structure>(Reader(outputs, dim).read(value));
  return outputs;
}

nb::object Structure::put_together(const Arguments& arguments) {
  return Writer(arguments).write(*arguments.structure);
}

nb::object Structure::put_together(const Outputs& outputs) {
  return Writer(outputs).write(*outputs.structure);
}

}  // namespace tandem::python
