// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <nanobind/nanobind.h>

#include "tandem/libtorch/data_parallel.hpp"

#include "python/torch/options.hpp"
#include "python/torch/python_module.hpp"
#include "python/torch/python_update.hpp"

namespace tandem::python {

/// What tandem.DataParallel holds of C++: the replicas of a module of Python. They are made at the
/// first call, and again where the module's tensors or parts were replaced.
///
/// All functions are called with the interpreter's lock, and give it up while replicas work.
class DataParallel {
 public:
  /// @param copies  a tandem._copies.Copies of the module.
  DataParallel(nanobind::object copies, ReadOptions options);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// The replicas are made by the first call. @throws InvalidArgument  what they would be refused
  /// for
  void check() const;
  nanobind::object forward(nanobind::handle positional, nanobind::handle named);
  /// @param optimizer  None: gradients are added to the module's. Otherwise one of PyTorch.
  /// @param update     of a tandem.Optimizer; null: it is another one.
  parallel::StepResult step(nanobind::handle batch,
                            nanobind::handle loss,
                            nanobind::handle optimizer,
                            PythonUpdate* update);

  /// @param update  of the optimizer, whose state counts; null: there is none.
  parallel::StepModel step_model(nanobind::handle batch,
                                 nanobind::handle loss,
                                 nanobind::handle optimizer,
                                 PythonUpdate* update);
  /// @param make  called with a number of rows, returns a batch.
  parallel::LargestBatch find_largest_batch(nanobind::handle make,
                                            nanobind::handle loss,
                                            nanobind::handle optimizer,
                                            PythonUpdate* update,
                                            std::int64_t most);

  std::vector<std::int64_t> plan(std::int64_t rows);
  void sync();
  /// Gradients stay in the replicas until as many ends as begins.
  void begin_no_sync();
  void end_no_sync();

  /// For the garbage collector: shows it the objects that are held, and lets go of them.
  int traverse(visitproc visit, void* argument) const;
  void clear();

 private:
  using Wrapper = libtorch::DataParallel<PythonModule>;

  /// A call, from the time at which copies follow the module: Python gives other threads the
  /// interpreter's lock meanwhile. Its end gives copies their tensors back.
  class CallScope {
   public:
    /// @throws InvalidArgument  another call is running.
    explicit CallScope(DataParallel& wrapper);
    ~CallScope();
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    /// The module gets what a forward has assigned. @throws  what Python throws.
    void keep();

   private:
    DataParallel& wrapper_;
    bool is_settled_ = false;
  };

  /// The wrapper, which has followed what Python sees of the module.
  Wrapper& followed();
  Arguments arguments_of(nanobind::handle value, Structure::Root root) const;
  /// What replicas returned, once it has one structure, as one value where outputs go. Without the
  /// interpreter's lock.
  Outputs gathered(const parallel::Distributed<Outputs>& parts) const;

  SharedObject copies_;
  parallel::DataParallelOptions options_;
  libtorch::ModuleOptions<PythonModule> module_options_;
  bool outputs_on_host_;
  /// The devices' replicas that live; changed with the interpreter's lock.
  std::shared_ptr<std::vector<std::weak_ptr<PythonModule>>> replicas_;
  std::shared_ptr<PythonModule> module_;
  std::unique_ptr<Wrapper> wrapper_;
  std::vector<parallel::NoSync<libtorch::detail::TorchReplicas>> no_syncs_;
  bool is_called_ = false;  // changed with the interpreter's lock
};

void bind_data_parallel(nanobind::module_& m);

}  // namespace tandem::python
