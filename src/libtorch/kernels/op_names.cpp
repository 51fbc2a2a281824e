// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/op_names.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <torch/csrc/autograd/graph_task.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/kernels/kernel_scope.hpp"

namespace tandem::libtorch {
namespace {

thread_local bool is_in_op = false;

/// An op that is called by no other one.
class OutermostOp final : public at::ObserverContext {
 public:
  explicit OutermostOp(const char* name)
      : scope_([&](Context& c) {
          const std::string& module = current_module_path();
          c.module_path = std::make_shared<const std::string>(
              module.empty() ? name : module + '.' + short_name(name));
        }) {
    is_in_op = true;
  }
  ~OutermostOp() override { is_in_op = false; }
  OutermostOp(const OutermostOp&) = delete;
  OutermostOp& operator=(const OutermostOp&) = delete;

 private:
  ContextScope scope_;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& op) {
  if (is_in_op || torch::autograd::get_current_graph_task_id() >= 0) return nullptr;
  return std::make_unique<OutermostOp>(op.name());
}

}  // namespace

OpNames::OpNames() {
  if (Runtime::instance().observers() == nullptr) return;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&begin).scopes({at::RecordScope::FUNCTION}));
}

OpNames::~OpNames() {
  if (handle_ != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle_);
}

}  // namespace tandem::libtorch
