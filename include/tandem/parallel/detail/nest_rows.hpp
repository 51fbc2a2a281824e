// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/parallel/leaf_ops.hpp"
#include "tandem/parallel/marks.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::parallel {

namespace detail {

/// What `replica` gets of `x` by `rule`, on its device: a view or `x` itself if `x` is already
/// there, otherwise a counted copy. Undefined if `x` is.
template <class Leaf>
Leaf take_leaf(const Leaf& x, const LeafRule& rule, const Replica& replica) {
  using Ops = LeafOps<Leaf>;
  if (!Ops::defined(x)) return x;
  const ContextScope scope([](Context& c) { c.category = Category::input; });
  if (rule.whole) return Ops::to(x, replica.device, NonBlocking::yes);
  const RowRange rows = replica.rows;
  return Ops::to(
      Ops::narrow(x, rule.dim, rows.begin, rows.size()), replica.device, NonBlocking::yes);
}

/// Counts the rows of arguments, which must agree. The first pass writes no list; if the counts
/// differ, a second pass lists all arguments that have rows.
class RowCount {
 public:
  template <class T>
  void add_argument(const T& argument, int dim, std::size_t index) {
    const LeafPath path{nullptr, index};
    if constexpr (is_scatter_by<T>) {
      if (argument.rows) add_rows(*argument.rows, path);
    } else {
      auto f = [this](const auto& part, const LeafRule& rule, const LeafPath& at) {
        using U = std::remove_cvref_t<decltype(part)>;
        if (rule.whole) return;
        if constexpr (LeafTensor<U>) {
          add_tensor<LeafOf<U>>(part, rule.dim, at);
        } else if constexpr (is_rows<U>) {
          add_rows(static_cast<std::int64_t>(part.value.size()), at);
        }
      };
      visit_marked(argument, {.dim = dim}, path, f);
    }
  }
  /// None if no argument has rows.
  std::optional<std::int64_t> rows() const noexcept { return rows_; }
  bool differ() const noexcept { return differ_; }
  void begin_list() { list_.emplace(); }
  /// Throws what the second pass found.
  [[noreturn]] void refuse() const;

 private:
  template <class Leaf>
  void add_tensor(const Leaf& x, int dim, const LeafPath& path) {
    using Ops = LeafOps<Leaf>;
    if (!Ops::defined(x)) return;
    const int ndim = Ops::ndim(x);
    if (dim < -ndim || dim >= ndim) refuse_dim(ndim, dim, Ops::describe(x), path);
    const std::int64_t n = Ops::size(x, dim);
    if (list_) {
      add_rows(n, path, tandem::detail::concat(Ops::describe(x), ", dimension ", dim));
    } else {
      add_rows(n, path);
    }
  }
  /// Throws that a tensor of `ndim` dimensions has no dimension `dim`.
  [[noreturn]] static void refuse_dim(int ndim,
                                      int dim,
                                      const std::string& tensor,
                                      const LeafPath& path);
  void add_rows(std::int64_t n, const LeafPath& path, const std::string& text = "a vector");

  std::optional<std::int64_t> rows_;
  bool differ_ = false;
  std::optional<std::string> list_;
};

/// Replaces `value` by what `replica` gets of it.
/// @param take  (whole tensor, its rule, replica) -> its part, for each library of tensors that
///              `value` holds.
template <class T, class Take>
void cut(T& value, LeafRule rule, const Replica& replica, Take& take) {
  auto f = [&](auto& part, const LeafRule& at, const LeafPath&) {
    using U = std::remove_cvref_t<decltype(part)>;
    if constexpr (LeafTensor<U>) {
      using Leaf = LeafOf<U>;
      static_assert(std::invocable<Take&, const Leaf&, const LeafRule&, const Replica&>,
                    "dp(x) records tandem's tensors on tandem's tape, and takes none of another "
                    "library: convert them, or wrap the other library's module");
      Leaf& x = part;
      x = take(std::as_const(x), at, replica);
    } else if constexpr (is_rows<U>) {
      if (!at.whole)
        part.value = {part.value.begin() + replica.rows.begin,
                      part.value.begin() + replica.rows.end};
      using Element = typename decltype(part.value)::value_type;
      if constexpr (TensorNest<Element> && !tandem::detail::is_constant<Element>) {
        for (Element& element : part.value)
          cut(element, {.whole = true, .own = true}, replica, take);
      }
    }
  };
  visit_marked(value, rule, {}, f);
}

/// One replica's part of one argument.
template <class T, class Take>
PartOf<T> take_part(const T& argument, int dim, const Replica& replica, Take& take) {
  if constexpr (is_scatter_by<T>) {
    PartOf<T> part = argument.scatter(argument.value, replica);
    if constexpr (TensorNest<PartOf<T>>) cut(part, {.whole = true, .own = true}, replica, take);
    return part;
  } else {
    T part = argument;
    cut(part, {.dim = dim}, replica, take);
    if constexpr (std::same_as<T, PartOf<T>>) {
      return part;
    } else {
      return std::move(part.value);
    }
  }
}
template <class T>
PartOf<T> take_part(const T& argument, int dim, const Replica& replica) {
  auto take = [](const auto& whole, const LeafRule& rule, const Replica& r) {
    return take_leaf(whole, rule, r);
  };
  return take_part(argument, dim, replica, take);
}

}  // namespace detail

/// The number of rows of the arguments that are split, which must agree. None if no argument is
/// split.
///
/// @throws InvalidArgument  they differ: the arguments are named by place and field.
template <class... Args>
std::optional<std::int64_t> find_rows(int dim, const Args&... arguments) {
  detail::RowCount count;
  const auto pass = [&] {
    [[maybe_unused]] std::size_t index = 0;
    (count.add_argument(arguments, dim, index++), ...);
  };
  pass();
  if (count.differ()) {
    count.begin_list();
    pass();
    count.refuse();
  }
  return count.rows();
}

/// The same, but there must be one. @throws InvalidArgument  they differ, or there is none.
template <class... Args>
std::int64_t count_rows(int dim, const Args&... arguments) {
  const std::optional<std::int64_t> rows = find_rows(dim, arguments...);
  TANDEM_CHECK(rows.has_value(),
               "scatter: no argument has a tensor to split; give one, or call the module itself");
  return *rows;
}

namespace detail {

/// Bytes on `device` of a batch's tensors that are split.
template <class Batch>
std::size_t split_nbytes(const Batch& batch, Device device) {
  std::size_t sum = 0;
  auto add = [&]<class Part>(const Part& part, const LeafRule& rule, const LeafPath&) {
    if constexpr (LeafTensor<Part>) {
      using Ops = LeafOps<LeafOf<Part>>;
      if (!rule.whole && Ops::defined(part) && Ops::is_on(part, device)) sum += Ops::nbytes(part);
    }
  };
  if constexpr (!is_scatter_by<Batch>) visit_marked(batch, {}, {}, add);  // the user splits those
  return sum;
}

}  // namespace detail

}  // namespace tandem::parallel
