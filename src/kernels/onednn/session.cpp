// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/onednn/session.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "tandem/core/check.hpp"
#include "tandem/runtime/cpu_capability.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/onednn/fast_path.hpp"

namespace tandem::kernels::onednn {
namespace {

/// Shapes that a device keeps primitives for; then it starts anew (batches of ever new sizes).
constexpr std::size_t kMaxPrimitives = 512;

std::size_t aligned(std::size_t nbytes) {
  constexpr std::size_t kLine = 64;
  return (nbytes + kLine - 1) / kLine * kLine;
}

}  // namespace

void Key::add(std::int64_t value) {
  TANDEM_ASSERT(size_ < kMaxNumbers, "a primitive's key has more than ", kMaxNumbers, " numbers");
  values_[static_cast<std::size_t>(size_++)] = value;
}

std::size_t Key::hash() const noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a, a number at a time
  for (int i = 0; i < size_; ++i) {
    h = (h ^ static_cast<std::uint64_t>(values_[static_cast<std::size_t>(i)])) * 0x100000001b3ULL;
    h ^= h >> 32;
  }
  return h;
}

bool operator==(const Key& a, const Key& b) noexcept {
  return a.size_ == b.size_ &&
         std::equal(a.values_.begin(), a.values_.begin() + a.size_, b.values_.begin());
}

Prepared::Prepared(const dnnl::engine& engine,
                   dnnl::primitive primitive,
                   const dnnl::memory::desc& scratchpad,
                   const std::vector<Argument>& arguments)
    : primitive_(std::move(primitive)) {
  const auto place = [&](const dnnl::memory::desc& desc) {
    const std::size_t at = workspace_;
    workspace_ += aligned(desc.get_size());
    return at;
  };
  for (const Argument& a : arguments) {
    Slot slot{a.id, a.output, dnnl::memory(a.user, engine, nullptr), std::nullopt, {}, 0};
    if (a.wanted != a.user) {
      slot.wanted = dnnl::memory(a.wanted, engine, nullptr);
      slot.offset = place(a.wanted);
      slot.reorder = a.output ? dnnl::reorder(*slot.wanted, slot.user)
                              : dnnl::reorder(slot.user, *slot.wanted);
    }
    arguments_.emplace(a.id, slot.wanted ? *slot.wanted : slot.user);
    slots_.push_back(std::move(slot));
  }
  if (scratchpad.get_size() > 0) {
    scratchpad_ = dnnl::memory(scratchpad, engine, nullptr);
    scratchpad_offset_ = place(scratchpad);
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, *scratchpad_);
  }
}

void Prepared::run(const HostStream& s, dnnl::stream& stream, std::initializer_list<void*> data) {
  TANDEM_ASSERT(data.size() == slots_.size(),
                "a primitive with ",
                slots_.size(),
                " arguments got ",
                data.size());
  const Buffer workspace(s.device, workspace_, Category::workspace);
  if (!s.computes) return;
  char* const base = static_cast<char*>(workspace.data());
  if (scratchpad_) scratchpad_->set_data_handle(base + scratchpad_offset_);

  auto pointer = data.begin();
  for (Slot& slot : slots_) {
    slot.user.set_data_handle(*pointer++);
    if (!slot.wanted) continue;
    slot.wanted->set_data_handle(base + slot.offset);
    if (!slot.output) slot.reorder.execute(stream, slot.user, *slot.wanted);
  }
  primitive_.execute(stream, arguments_);
  for (Slot& slot : slots_) {
    if (slot.wanted && slot.output) slot.reorder.execute(stream, *slot.wanted, slot.user);
  }
}

namespace {

// Note [Two copies of oneDNN]: PyTorch has a copy of oneDNN inside, which exports the function that
// makes the kernels of its products, by the same name as the system's. In a program that is linked
// with both, the one that was loaded first answers for both. The other one's products are then
// without kernels, and refuse to run (dnnl_unimplemented), alone or as a part of a convolution.

/// Whether oneDNN's own products have their kernels in this process.
bool multiplies() noexcept {
  static const bool works = [] {
    constexpr dnnl_dim_t kSize = 2;
    std::array<float, kSize * kSize> a{}, b{}, c{};
    return dnnl_sgemm('N',
                      'N',
                      kSize,
                      kSize,
                      kSize,
                      1,
                      a.data(),
                      kSize,
                      b.data(),
                      kSize,
                      0,
                      c.data(),
                      kSize) == dnnl_success;
  }();
  return works;
}

dnnl::cpu_isa isa_of(CpuCapability capability) noexcept {
  switch (capability) {
    case CpuCapability::baseline:
      return dnnl::cpu_isa::sse41;
    case CpuCapability::avx2:
      return dnnl::cpu_isa::avx2;
    case CpuCapability::avx512:
      return dnnl::cpu_isa::avx512_core;
    case CpuCapability::avx512_bf16:
    case CpuCapability::amx:
      break;
  }
  // oneDNN 2.6 runs a convolution in bf16 on the matrix tiles of newer processors (AMX) without
  // having configured them, which ends the program by SIGILL.
  return dnnl::cpu_isa::avx512_core_bf16;
}

/// ONEDNN_MAX_CPU_ISA says another limit.
void limit_instructions() {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr && std::getenv("DNNL_MAX_CPU_ISA") == nullptr)
    dnnl::set_max_cpu_isa(isa_of(get_cpu_capability()));
}

std::unique_ptr<State> make_state() {
  static std::once_flag once;  // before the first primitive: later the limit stands
  std::call_once(once, limit_instructions);
  return std::make_unique<State>();
}

}  // namespace

Session::Session(const HostStream& s) : threads_(s.threads), at_(s) {
  std::unique_ptr<LibraryState> kept = logical_device(s.device).take_library(Library::onednn);
  state_ = kept ? std::unique_ptr<State>(static_cast<State*>(kept.release())) : make_state();
}

Session::~Session() {
  logical_device(at_.device).give_library(Library::onednn, std::move(state_));
}

Prepared* Session::find(const Key& key,
                        const std::function<std::unique_ptr<Prepared>(const dnnl::engine&)>& make) {
  auto& primitives = state_->primitives;
  const auto hit = primitives.find(key);
  if (hit != primitives.end()) return hit->second.get();
  if (primitives.size() >= kMaxPrimitives) primitives.clear();
  std::unique_ptr<Prepared> made;
  try {
    made = make(state_->engine);
  } catch (const dnnl::error& e) {
    if (e.status != dnnl_unimplemented)
      throw InternalError(tandem::detail::concat("oneDNN: ", e.what()));
  }
  return primitives.emplace(key, std::move(made)).first->second.get();
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_linked() noexcept {
  return true;
}

bool is_usable(const char* implementation) noexcept {
  const std::string_view name = implementation;
  return !name.starts_with("ref") && (!name.starts_with("gemm") || multiplies());
}

}  // namespace tandem::kernels::onednn
