// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"
#include "runtime/openmp_threads.hpp"

namespace tandem::kernels::onednn {

/// The type of `x`, which is one that oneDNN computes in: bf16 or f32.
inline dnnl::memory::data_type type_of(const View& x) {
  return x.dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// What a primitive was made for: operation, threads, sizes, strides.
class Key {
 public:
  static constexpr int kMaxNumbers = 32;

  void add(std::int64_t value);
  void add(std::initializer_list<std::int64_t> values) {
    for (std::int64_t v : values)
      add(v);
  }
  std::size_t hash() const noexcept;
  friend bool operator==(const Key& a, const Key& b) noexcept;

 private:
  std::array<std::int64_t, kMaxNumbers> values_{};
  int size_ = 0;
};

/// A caller's tensor, and the layout in which the primitive wants it.
struct Argument {
  int id = 0;                 ///< DNNL_ARG_*
  dnnl::memory::desc user;    ///< as the caller has it
  dnnl::memory::desc wanted;  ///< equal to `user`: no reorder
  bool output = false;
};

/// A primitive with its memories, and the reorders around it.
class Prepared {
 public:
  Prepared(const dnnl::engine& engine,
           dnnl::primitive primitive,
           const dnnl::memory::desc& scratchpad,
           const std::vector<Argument>& arguments);

  /// Runs it. @param data  one pointer per argument, in their order.
  void run(const HostStream& s, dnnl::stream& stream, std::initializer_list<void*> data);

 private:
  struct Slot {
    int id;
    bool output;
    dnnl::memory user;
    std::optional<dnnl::memory> wanted;  // none: the user's layout is right
    dnnl::reorder reorder;
    std::size_t offset = 0;  // of `wanted` in the workspace
  };

  dnnl::primitive primitive_;
  std::vector<Slot> slots_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::optional<dnnl::memory> scratchpad_;
  std::size_t scratchpad_offset_ = 0;
  std::size_t workspace_ = 0;  // bytes
};

/// A device's engine and the primitives made so far.
struct State final : LibraryState {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept { return key.hash(); }
  };
  /// Null: oneDNN has nothing fast for the key.
  std::unordered_map<Key, std::unique_ptr<Prepared>, Hash> primitives;
};

/// The use of a device's state by one thread, for one call.
class Session {
 public:
  explicit Session(const HostStream& s);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The primitive of `key`, from `make(engine)` where it is new; null where there is nothing fast.
  Prepared* find(const Key& key,
                 const std::function<std::unique_ptr<Prepared>(const dnnl::engine&)>& make);
  void run(Prepared& prepared, std::initializer_list<void*> data) {
    prepared.run(at_, state_->stream, data);
  }

 private:
  OpenMpThreads threads_;
  HostStream at_;
  std::unique_ptr<State> state_;
};

/// Attributes of all our primitives: the scratchpad is the caller's.
dnnl::primitive_attr user_scratchpad();
/// Whether an implementation is worth to be used, by its name: it is none of the portable, slow
/// ones, and it works, see Note [Two copies of oneDNN].
bool is_usable(const char* implementation) noexcept;

}  // namespace tandem::kernels::onednn
