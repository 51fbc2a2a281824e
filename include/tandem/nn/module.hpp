// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/nn/member.hpp"
#include "tandem/nn/parameter.hpp"
#include "tandem/nn/state_dict.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::nn {

namespace detail {

class CallScope;
class Wrapping;

/// Refers to the wrapper that a module is in, for as long as that wrapper lives. A copy of a module
/// is in no wrapper.
struct WrapperMark {
  WrapperMark() = default;
  WrapperMark(const WrapperMark&) noexcept {}
  WrapperMark& operator=(const WrapperMark&) noexcept { return *this; }
  ~WrapperMark() = default;

  std::weak_ptr<const void> wrapper;
};

}  // namespace detail

/// How layers act that differ between training and evaluation (dropout, batch norm).
enum class Mode : std::uint8_t { training, evaluation };

/// A call of a module, as hooks see it. tandem::context() has the replica and the rows.
struct ForwardCall {
  const Module& module;
  const std::string& path;          ///< "" for the module that was called from outside
  std::span<const Tensor> tensors;  ///< the tensors of the arguments, or of the result
};
/// A function that sees the calls of a module. It is copied with the module, so replicas call it
/// from their own threads. Replicas have the hooks of the wrapped module, including those that are
/// registered after wrapping.
using ForwardHook = std::function<void(const ForwardCall&)>;

/// A module of a tree with its path ("blocks.0.conv1"; "" for the root).
struct NamedModule {
  std::string name;
  Module* module;
};

/// A part of a network: parameters, buffers and further modules, with a `forward` of its own type.
///
///     struct Net : nn::Module {
///       nn::Linear hidden{64, 32}, head{32, 10};
///       Tensor forward(const Tensor& x) { return head(relu(hidden(x))); }
///       TANDEM_MODULE(Net, hidden, head)
///     };
///
/// Members are held by value, with the names and the order given to TANDEM_MODULE. A copy of a
/// module shares its tensors; see nn::clone and nn::replicate. One thread may use a module at a
/// time; replicas are separate modules. Names and semantics are PyTorch's.
class Module {
 public:
  virtual ~Module() = default;

  /// The name of the class.
  virtual const char* type_name() const noexcept = 0;  // TANDEM_MODULE(Name, members...)
  /// Shows the direct members to `visitor`.
  virtual void visit_members(MemberVisitor& visitor) = 0;  // TANDEM_MODULE(Name, members...)

  /// Every parameter once, even if it has several names.
  std::vector<Tensor> parameters() const;
  /// Every parameter once, under its first name.
  ///
  /// @param prefix  Put before each name with a dot: "head" gives "head.weight". It distinguishes
  ///                the parameters of several modules in one optimizer.
  std::vector<NamedTensor> named_parameters(std::string_view prefix = {}) const;
  std::vector<Tensor> buffers() const;
  std::vector<NamedTensor> named_buffers() const;
  /// The direct members that are modules.
  std::vector<NamedModule> children();
  /// This module and all below it, parents first.
  std::vector<NamedModule> named_modules();
  std::vector<Module*> modules();
  /// Calls `f` for every module below this one, then for this one, as PyTorch does.
  void apply(const std::function<void(Module&)>& f);

  /// Parameters and buffers under all their names, off the tape. They share the module's storage.
  StateDict state_dict() const;
  /// Copies the values of `state` into the module, which keeps its dtypes and devices.
  ///
  /// @return  the names that Strict::no skipped.
  /// @throws InvalidArgument  if names are missing or unexpected (Strict::yes), or shapes differ.
  ///                          The message lists the first ten of each. The module is unchanged.
  LoadReport load_state_dict(const StateDict& state, Strict strict = Strict::yes);

  /// Moves parameters, their gradients and buffers. Every handle to them sees the new storage.
  Module& to(Device device);
  /// Converts float parameters, their gradients and float buffers.
  ///
  /// @throws InvalidArgument  if `dtype` is not a float type.
  Module& to(DType dtype);

  /// Sets the mode of this module and of all below it. A new module is in training mode.
  Module& train(Mode mode = Mode::training);
  Module& eval() { return train(Mode::evaluation); }
  bool is_training() const noexcept { return mode_ == Mode::training; }
  /// Clears the gradients of all parameters.
  void zero_grad();
  Module& requires_grad_(bool on = true);  // PyTorch's name and default

  /// @return  an id for remove_hook.
  int register_forward_pre_hook(ForwardHook hook);
  int register_forward_hook(ForwardHook hook);
  void remove_hook(int id);

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

 private:
  friend class detail::CallScope;
  friend class detail::Wrapping;
  enum class When : std::uint8_t { before, after };
  struct Hook {
    int id;
    When when;
    ForwardHook function;
  };
  int add_hook(When when, ForwardHook hook);
  void assign_paths(std::string& path);

  Mode mode_ = Mode::training;
  int next_hook_ = 0;
  std::vector<Hook> hooks_;
  detail::WrapperMark mark_;
  std::shared_ptr<const std::string> path_;  // in the tree called last; null before the first call
};

/// Calls `f` for every tensor of the tree, in the order of names. A tied tensor comes once under
/// each of its names. `f` may assign another tensor to `tensor`.
void visit_tensors(
    Module& module,
    const std::function<void(const std::string& name, Tensor& tensor, TensorKind)>& f);

namespace detail {

/// The scope of a module's call. It puts the module's path into the context, and a frame for random
/// numbers if the context has none.
class CallScope {
 public:
  explicit CallScope(Module& module);
  /// These two run the hooks before and after `forward`.
  void before(std::span<const Tensor> tensors) const { run_hooks(Module::When::before, tensors); }
  void after(std::span<const Tensor> tensors) const { run_hooks(Module::When::after, tensors); }
  bool has_hooks() const noexcept { return !module_.hooks_.empty(); }
  /// Tells that the call succeeded. A top-level call advances the random numbers if it was in
  /// training or drew any.
  void commit() const noexcept;

 private:
  void run_hooks(Module::When when, std::span<const Tensor> tensors) const;

  Module& module_;
  bool top_level_;
  ContextScope scope_;
};

/// The tensors of all `values` that are tensors or nests of tensors.
template <class... Values>
std::vector<Tensor> tensors_of(const Values&... values) {
  std::vector<Tensor> all;
  [[maybe_unused]] const auto add = [&all]<class T>(const T& value) {
    if constexpr (TensorNest<T>)
      for_each_leaf<Tensor>(value, [&all](const Tensor& x) { all.push_back(x); });
  };
  (add(values), ...);
  return all;
}

/// The implementation of a module's operator().
template <class M, class... Args>
auto call(M& module, Args&&... args) -> decltype(module.forward(std::forward<Args>(args)...)) {
  using Result = decltype(module.forward(std::forward<Args>(args)...));
  const CallScope scope(module);
  if (scope.has_hooks()) [[unlikely]]
    scope.before(tensors_of(args...));
  if constexpr (std::is_void_v<Result>) {
    module.forward(std::forward<Args>(args)...);
    if (scope.has_hooks()) [[unlikely]]
      scope.after({});
    scope.commit();
  } else {
    Result result = module.forward(std::forward<Args>(args)...);
    if (scope.has_hooks()) [[unlikely]]
      scope.after(tensors_of(result));
    scope.commit();
    return static_cast<Result&&>(result);
  }
}

}  // namespace detail
}  // namespace tandem::nn

/// Ends the class of a module.
///
/// `TANDEM_MODULE(Net, embed, blocks, head)` names the members for the state dict, for copies and
/// for moves. It also adds operator(), which calls `forward` with the module's path in the context.
/// Members may be modules, nn::Parameter, nn::BufferTensor, and optional, vector, array, tuple,
/// pair or map<string, ...> of them. A member that is not listed stays on its device when the
/// module moves.
#define TANDEM_MODULE(Self, ...)                                                           \
 public:                                                                                   \
  const char* type_name() const noexcept override {                                        \
    return #Self;                                                                          \
  }                                                                                        \
  void visit_members([[maybe_unused]] ::tandem::nn::MemberVisitor& visitor) override {     \
    ::tandem::nn::detail::visit_members(visitor, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                        \
  template <class... TandemArgs, class TandemSelf = Self>                                  \
  auto operator()(TandemArgs&&... args)                                                    \
      ->decltype(::tandem::nn::detail::call(std::declval<TandemSelf&>(),                   \
                                            std::forward<TandemArgs>(args)...)) {          \
    return ::tandem::nn::detail::call(static_cast<TandemSelf&>(*this),                     \
                                      std::forward<TandemArgs>(args)...);                  \
  }
