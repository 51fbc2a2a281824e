// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/data_parallel.hpp"

#include <functional>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/check.hpp"

#include "parallel/options/check_options.hpp"
#include "python/torch/call_python.hpp"
#include "python/torch/python_optimizer.hpp"
#include "python/torch/released_lock.hpp"
#include "python/torch/tensor_caster.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// A loss, as DataParallel::step takes it.
struct LossParts {
  at::Tensor sum;
  std::optional<at::Tensor> weight;  ///< none: the rows of the replica
};

/// The loss function of Python: loss(replica, batch). It returns a scalar, which counts as the mean
/// over the replica's rows, or a pair of a sum and what it is a sum over.
class PythonLoss {
 public:
  explicit PythonLoss(nb::handle function) : function_(share(function)) {}

  LossParts operator()(PythonModule& replica, const Arguments& batch) const {
    return call_python(batch, [&](const nb::object& part) {
      const nb::object value = nb::handle(function_.get())(replica.object(), part);
      if (PyTuple_Check(value.ptr()) && nb::len(value) == 2)
        return LossParts{tensor(value[0]), weight(value[1])};
      return LossParts{tensor(value) * static_cast<double>(context().rows.size()), std::nullopt};
    });
  }

 private:
  static at::Tensor tensor(nb::handle value) {
    at::Tensor x;
    if (!nb::try_cast(value, x))
      throw InvalidArgument(tandem::detail::concat(
          "step: the loss function returned a ",
          nb::cast<std::string>(value.type().attr("__name__")),
          "; return a scalar tensor, or (sum, weight) for a loss that is exact in any chunks"));
    return x;
  }
  static at::Tensor weight(nb::handle value) {
    at::Tensor x;
    return nb::try_cast(value, x) ? x : at::scalar_tensor(nb::cast<double>(value), at::kDouble);
  }

  SharedObject function_;
};

/// An optimizer of PyTorch in Python, which the user's module has.
class OwnOptimizer {
 public:
  explicit OwnOptimizer(nb::handle optimizer) : optimizer_(share(optimizer)) {}
  void zero_grad() const { call_method("zero_grad"); }
  void step() const { call_method("step"); }

 private:
  void call_method(const char* name) const {
    const InterpreterLock lock;
    nb::handle(optimizer_.get()).attr(name)();
  }

  SharedObject optimizer_;
};

/// A tandem.Optimizer, whose update the devices share.
class DevicesOptimizer : public OwnOptimizer {
 public:
  DevicesOptimizer(nb::handle optimizer, PythonUpdate& update)
      : OwnOptimizer(optimizer), view_(optimizer, update.rule()), update_(update) {}
  optim::Optimizer& shared_by(const std::shared_ptr<libtorch::detail::TorchReplicas>& replicas) {
    return update_.attach(replicas, view_);
  }

 private:
  PythonOptimizer view_;
  PythonUpdate& update_;
};

}  // namespace

DataParallel::DataParallel(nb::object copies, ReadOptions options)
    : copies_(share(copies)),
      options_(std::move(options.parallel)),
      module_options_(std::move(options.module)),
      outputs_on_host_(options.outputs_on_host),
      replicas_(std::make_shared<std::vector<std::weak_ptr<PythonModule>>>()) {
  module_options_.make = [copies = copies_, replicas = replicas_] {
    const InterpreterLock lock;
    auto made = PythonModule::make(nb::handle(copies.get()).attr("make")());
    std::erase_if(*replicas, [](const auto& replica) { return replica.expired(); });
    replicas->push_back(made);
    return made;
  };
}

void DataParallel::check() const {
  static_cast<void>(parallel::checked(options_.devices, options_));
}

DataParallel::~DataParallel() {
  clear();
}

int DataParallel::traverse(visitproc visit, void* arg) const {
  Py_VISIT(copies_.get());
  if (module_ != nullptr)
    if (const int stop = module_->traverse(visit, arg); stop != 0) return stop;
  for (const auto& replica : *replicas_)
    if (const auto alive = replica.lock(); alive != nullptr)
      if (const int stop = alive->traverse(visit, arg); stop != 0) return stop;
  return 0;
}

void DataParallel::clear() {
  const nb::gil_scoped_release release;
  no_syncs_.clear();
  wrapper_.reset();
  module_.reset();
  module_options_.make = nullptr;
  copies_.reset();
}

DataParallel::CallScope::CallScope(DataParallel& wrapper) : wrapper_(wrapper) {
  TANDEM_CHECK(!wrapper.is_called_,
               "DataParallel: another call is running; use one thread at a time, and do not call "
               "the wrapper from inside a replica");
  wrapper_.is_called_ = true;
}

DataParallel::CallScope::~CallScope() {
  wrapper_.is_called_ = false;
  if (is_settled_ || wrapper_.copies_ == nullptr) return;
  const nb::error_scope under_way;
  try {
    nb::handle(wrapper_.copies_.get()).attr("settle")(false);
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("DataParallel: tensors that a forward has assigned");
  }
}

void DataParallel::CallScope::keep() {
  is_settled_ = true;
  nb::handle(wrapper_.copies_.get()).attr("settle")(true);
}

DataParallel::Wrapper& DataParallel::followed() {
  const bool changed = nb::cast<bool>(nb::handle(copies_.get()).attr("follow")());
  if (wrapper_ == nullptr || changed) {
    TANDEM_CHECK(no_syncs_.empty(),
                 "DataParallel: a tensor or a part of the module was replaced under no_sync, while "
                 "gradients wait in the copies; replace it after the block");
    auto module = PythonModule::make(nb::handle(copies_.get()).attr("module"));
    const nb::gil_scoped_release release;
    wrapper_.reset();
    wrapper_ = std::make_unique<Wrapper>(module, options_, module_options_);
    module_ = std::move(module);
  }
  module_->read_mode();
  return *wrapper_;
}

Arguments DataParallel::arguments_of(nb::handle value, Structure::Root root) const {
  Arguments arguments = Structure::take_apart(value, options_.dim, root);
  arguments.caller = std::make_shared<CallerContext>(wrapper_->devices().size());
  return arguments;
}

nb::object DataParallel::forward(nb::handle positional, nb::handle named) {
  CallScope call(*this);
  Wrapper& wrapper = followed();
  const Arguments arguments =
      arguments_of(nb::make_tuple(positional, named), Structure::Root::call);
  const auto join = [](const std::vector<Outputs*>& outputs,
                       const parallel::GatherOptions& options) {
    {
      const InterpreterLock lock;
      Structure::join(outputs);
    }
    std::vector<std::vector<parallel::Split<at::Tensor>>> tensors;
    for (const Outputs* output : outputs)
      tensors.push_back(output->tensors);
    libtorch::detail::check_gather(tensors, options);
  };
  const Outputs outputs = without_lock(
      *arguments.caller, [&] { return gathered(wrapper.distributed_if(join, arguments)); });
  call.keep();
  return Structure::put_together(outputs);
}

Outputs DataParallel::gathered(const parallel::Distributed<Outputs>& parts) const {
  Outputs whole = parts.parts().front().value;
  whole.tensors = wrapper_->gather(parts.map(std::mem_fn(&Outputs::tensors)));
  whole.own = wrapper_->to_output_device(whole.own);
  if (outputs_on_host_) for_each_leaf(whole, [](at::Tensor& x) { x = x.cpu(); });
  return whole;
}

parallel::StepResult DataParallel::step(nb::handle batch,
                                        nb::handle loss,
                                        nb::handle optimizer,
                                        PythonUpdate* update) {
  CallScope call(*this);
  Wrapper& wrapper = followed();
  const Arguments arguments = arguments_of(batch, Structure::Root::batch);
  const PythonLoss of_replica(loss);
  OwnOptimizer own(optimizer);
  auto result = without_lock(*arguments.caller, [&] {
    if (optimizer.is_none()) return wrapper.step(arguments, of_replica);
    if (update == nullptr) return wrapper.step(arguments, of_replica, own);
    DevicesOptimizer shared(optimizer, *update);
    return wrapper.step(arguments, of_replica, shared);
  });
  call.keep();
  return result;
}

parallel::StepModel DataParallel::step_model(nb::handle batch,
                                             nb::handle loss,
                                             nb::handle optimizer,
                                             PythonUpdate* update) {
  const CallScope call(*this);
  Wrapper& wrapper = followed();
  const Arguments arguments = arguments_of(batch, Structure::Root::batch);
  const PythonLoss of_replica(loss);
  return without_lock(*arguments.caller, [&] {
    if (update == nullptr) return wrapper.step_model(arguments, of_replica);
    DevicesOptimizer shared(optimizer, *update);
    return wrapper.step_model(arguments, of_replica, shared);
  });
}

parallel::LargestBatch DataParallel::find_largest_batch(nb::handle make,
                                                        nb::handle loss,
                                                        nb::handle optimizer,
                                                        PythonUpdate* update,
                                                        std::int64_t most) {
  const CallScope call(*this);
  Wrapper& wrapper = followed();
  const auto caller = std::make_shared<CallerContext>(wrapper.devices().size());
  const PythonLoss of_replica(loss);
  const auto make_batch = [&](std::int64_t rows) {
    const InterpreterLock lock;
    try {
      Arguments arguments = Structure::take_apart(make(rows), options_.dim, Structure::Root::batch);
      arguments.caller = caller;
      return arguments;
    } catch (const nb::python_error& error) {
      rethrow_out_of_memory(error);
      throw;
    }
  };
  return without_lock(*caller, [&] {
    if (update == nullptr) return wrapper.find_largest_batch(make_batch, of_replica, most);
    DevicesOptimizer shared(optimizer, *update);
    return wrapper.find_largest_batch(make_batch, of_replica, shared, most);
  });
}

std::vector<std::int64_t> DataParallel::plan(std::int64_t rows) {
  const CallScope call(*this);
  std::vector<std::int64_t> sizes;
  for (const RowRange& range : followed().plan(rows))
    sizes.push_back(range.size());
  return sizes;
}

void DataParallel::sync() {
  const CallScope call(*this);
  Wrapper& wrapper = followed();
  const nb::gil_scoped_release release;
  wrapper.sync();
}

void DataParallel::begin_no_sync() {
  const CallScope call(*this);
  no_syncs_.push_back(followed().no_sync());
}

void DataParallel::end_no_sync() {
  no_syncs_.pop_back();
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<DataParallel>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<DataParallel>(self)->clear();
  return 0;
}

}  // namespace

void bind_data_parallel(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {0, nullptr}};
  nb::class_<parallel::StepResult>(m, "StepResult", "The loss of a step, and what else it reports.")
      .def_ro("loss", &parallel::StepResult::loss)
      .def_ro("weight", &parallel::StepResult::weight)
      .def_ro("rows", &parallel::StepResult::rows)
      .def_ro("skipped", &parallel::StepResult::skipped);
  nb::class_<DataParallel>(m, "DataParallel", nb::type_slots(slots))
      .def(
          "__init__",
          [](DataParallel* self,
             nb::object copies,
             const nb::typed<nb::dict, nb::str, nb::object>& options) {
            new (self) DataParallel(std::move(copies), read_options(options));
          },
          nb::arg("copies"),
          nb::arg("options"))
      .def("check", &DataParallel::check)
      .def("forward", &DataParallel::forward, nb::arg("positional"), nb::arg("named"))
      .def("step",
           &DataParallel::step,
           nb::arg("batch"),
           nb::arg("loss"),
           nb::arg("optimizer").none(),
           nb::arg("update").none())
      .def("step_model",
           &DataParallel::step_model,
           nb::arg("batch"),
           nb::arg("loss"),
           nb::arg("optimizer").none(),
           nb::arg("update").none())
      .def("find_largest_batch",
           &DataParallel::find_largest_batch,
           nb::arg("make"),
           nb::arg("loss"),
           nb::arg("optimizer").none(),
           nb::arg("update").none(),
           nb::arg("most"))
      .def("plan", &DataParallel::plan, nb::arg("rows"))
      .def("sync", &DataParallel::sync)
      .def("begin_no_sync", &DataParallel::begin_no_sync)
      .def("end_no_sync", &DataParallel::end_no_sync);
}

}  // namespace tandem::python
