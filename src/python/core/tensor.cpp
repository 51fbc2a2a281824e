// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/tensor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/tensor/dlpack.hpp"

#include "tensor/dlpack_abi.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// The names of DLPack's capsules: of one that waits for its consumer, and of one that has had it.
template <class Managed>
struct Capsule;
template <>
struct Capsule<DLManagedTensor> {
  static constexpr const char *name = "dltensor", *used = "used_dltensor";
};
template <>
struct Capsule<DLManagedTensorVersioned> {
  static constexpr const char *name = "dltensor_versioned", *used = "used_dltensor_versioned";
};

/// Gives back the memory of a capsule that no one has consumed.
template <class Managed>
void drop(PyObject* capsule) {
  const char* name = Capsule<Managed>::name;
  if (PyCapsule_IsValid(capsule, name) != 1) return;
  from_dlpack(static_cast<Managed*>(PyCapsule_GetPointer(capsule, name)));
}

template <class Managed>
nb::object capsule_of(Managed* managed) {
  nb::object capsule = nb::steal(PyCapsule_New(managed, Capsule<Managed>::name, drop<Managed>));
  if (capsule.is_valid()) return capsule;
  from_dlpack(managed);
  throw nb::python_error();
}

using Version = std::pair<int, int>;
using DlpackDevice = std::pair<int, int>;

constexpr DlpackDevice kHost{1, 0};  // kDLCPU

nb::object lend(const Tensor& x,
                nb::handle,
                std::optional<Version> max_version,
                std::optional<DlpackDevice> device,
                std::optional<bool> copy) {
  if (device && *device != kHost)
    throw nb::buffer_error("a tensor of tandem is lent on the host alone, DLPack's device (1, 0)");
  try {
    const DlpackOptions options{.copy = copy.value_or(false)};
    if (max_version && max_version->first >= 1) return capsule_of(to_dlpack(x, options));
    return capsule_of(to_dlpack_unversioned(x, options));
  } catch (const InvalidArgument& error) {
    throw nb::buffer_error(error.what());  // as the protocol has it
  }
}

template <class Managed>
std::optional<Tensor> consumed(const nb::object& capsule, Device device) {
  const char* name = Capsule<Managed>::name;
  if (PyCapsule_IsValid(capsule.ptr(), name) != 1) return std::nullopt;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  PyCapsule_SetName(capsule.ptr(), Capsule<Managed>::used);
  return from_dlpack(managed, device);
}

/// The table of C functions that the class of a value offers, PyTorch's for one: the call of its
/// __dlpack__ would take most of the time. Null: it offers none that is known here.
const DLPackExchangeAPI* exchange_of(nb::handle value) {
  const nb::object capsule = nb::getattr(value.type(), "__dlpack_c_exchange_api__", nb::object());
  if (!capsule.is_valid() || PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") != 1)
    return nullptr;
  const auto* api = static_cast<const DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  // The table lends what __dlpack__ refuses with advice.
  const bool is_on_graph = nb::cast<bool>(nb::getattr(value, "requires_grad", nb::bool_(false)));
  return api->header.version.major == 1 && !is_on_graph ? api : nullptr;
}

Tensor borrow(nb::handle value, const std::string& device) {
  if (const DLPackExchangeAPI* api = exchange_of(value)) {
    DLManagedTensorVersioned* managed = nullptr;
    if (api->managed_tensor_from_py_object_no_sync(value.ptr(), &managed) != 0)
      throw nb::python_error();
    return from_dlpack(managed, parse_device(device));
  }
  if (!nb::hasattr(value, "__dlpack__"))
    throw InvalidArgument("from_dlpack: a " + nb::cast<std::string>(value.type().attr("__name__")) +
                          " has no __dlpack__; give a tensor of PyTorch, an array of NumPy or JAX");
  nb::object capsule;
  try {
    capsule = value.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = value.attr("__dlpack__")();  // of a library older than DLPack 1.0
  }
  const Device to = parse_device(device);
  if (auto x = consumed<DLManagedTensorVersioned>(capsule, to)) return *std::move(x);
  if (auto x = consumed<DLManagedTensor>(capsule, to)) return *std::move(x);
  throw InvalidArgument("from_dlpack: __dlpack__ returned no capsule, or a used one");
}

std::vector<std::int64_t> shape_of(const Tensor& x) {
  return {x.shape().begin(), x.shape().end()};
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m,
                     "Tensor",
                     "A tensor of tandem on a host device. numpy.from_dlpack(x) and "
                     "torch.from_dlpack(x) share its memory.")
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("dtype", [](const Tensor& x) { return std::string(name(x.dtype())); })
      .def_prop_ro("device", [](const Tensor& x) { return to_string(x.device()); })
      .def("__dlpack__",
           &lend,
           nb::kw_only(),
           nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack_device__", [](const Tensor&) { return kHost; });
  m.def("from_dlpack",
        &borrow,
        nb::arg("x"),
        nb::arg("device") = "cpu:0",
        "A tensor over the memory of NumPy's, PyTorch's or another library's, without a copy.\n"
        "\n"
        "The memory lives until the tensors of both have gone.");
}

}  // namespace tandem::python
