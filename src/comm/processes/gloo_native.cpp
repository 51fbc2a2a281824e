// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/gloo_native.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>

#include "comm/processes/gloo_waits.hpp"
#include "comm/processes/no_pipe_signal.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using Native = ProcessLinks::Native;

/// For the connection to say that it has gone.
constexpr auto kConnectionSays = 1s;
/// Up to here gloo's binary blocks are faster than its ring.
constexpr std::size_t kFewBytes = std::size_t{64} << 10;

using Reduce = void (*)(void*, const void*, const void*, std::size_t);

template <class T>
Reduce reduction(Native::Op op) {
  switch (op) {
    case Native::Op::product:
      return &gloo::product<T>;
    case Native::Op::min:
      return &gloo::min<T>;
    case Native::Op::max:
      return &gloo::max<T>;
    case Native::Op::sum:
      break;
  }
  return &gloo::sum<T>;
}

template <class T, class Options>
void set(Options& options, const Native& call, T* output) {
  T* const input = static_cast<T*>(const_cast<void*>(call.input));
  if (input != nullptr && input != output) options.setInput(input, call.count);
  options.setOutput(output, call.count);
  options.setTag(call.tag);
  options.setTimeout(kForEver);
}

template <class T>
void broadcast(const std::shared_ptr<gloo::Context>& context, const Native& call) {
  gloo::BroadcastOptions options(context);
  set(options, call, static_cast<T*>(call.output));
  options.setRoot(call.root);
  gloo::broadcast(options);
}

/// gloo works in the outputs of all processes.
template <class T>
void reduce(const std::shared_ptr<gloo::Context>& context, const Native& call) {
  std::vector<T> aside(context->rank == call.root ? 0 : call.count);
  gloo::ReduceOptions options(context);
  set(options, call, aside.empty() ? static_cast<T*>(call.output) : aside.data());
  options.setRoot(call.root);
  options.setReduceFunction(reduction<T>(call.op));
  gloo::reduce(options);
}

template <class T>
void all_reduce(const std::shared_ptr<gloo::Context>& context, const Native& call) {
  gloo::AllreduceOptions options(context);
  using Algorithm = gloo::AllreduceOptions::Algorithm;
  options.setAlgorithm(call.count * sizeof(T) <= kFewBytes ? Algorithm::BCUBE : Algorithm::RING);
  set(options, call, static_cast<T*>(call.output));
  options.setReduceFunction(reduction<T>(call.op));
  gloo::allreduce(options);
}

template <class T>
void carry_out(const std::shared_ptr<gloo::Context>& context, const Native& call) {
  switch (call.kind) {
    case Native::Kind::all_reduce:
      return all_reduce<T>(context, call);
    case Native::Kind::broadcast:
      return broadcast<T>(context, call);
    case Native::Kind::reduce:
      return reduce<T>(context, call);
  }
}

}  // namespace

GlooNative::GlooNative(std::shared_ptr<gloo::Context> context,
                       const Native& call,
                       Connections connections)
    : connections_(std::move(connections)),
      thread_([this, context = std::move(context), call] { run(context, call); }) {}

GlooNative::~GlooNative() {
  const auto patience = std::chrono::steady_clock::now() + kLeaves;
  while (!has_ended_ && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(1ms);
  if (!has_ended_) connections_.close();
  thread_.join();
}

void GlooNative::run(const std::shared_ptr<gloo::Context>& context, const Native& call) {
  const NoPipeSignal no_signal;
  try {
    switch (call.type) {
      case Native::Type::f32:
        carry_out<float>(context, call);
        break;
      case Native::Type::f64:
        carry_out<double>(context, call);
        break;
      case Native::Type::i32:
        carry_out<std::int32_t>(context, call);
        break;
      case Native::Type::i64:
        carry_out<std::int64_t>(context, call);
        break;
      case Native::Type::u8:
        carry_out<std::uint8_t>(context, call);
        break;
    }
  } catch (const std::exception& e) {
    why_ = e.what();
  }
  end_ = std::chrono::steady_clock::now();
  has_ended_ = true;
  connections_.moved();
}

bool GlooNative::done() {
  if (!has_ended_) return false;
  if (why_.empty()) return true;
  connections_.check();
  if (std::chrono::steady_clock::now() - end_ > kConnectionSays)
    throw std::runtime_error("gloo: " + why_);
  return false;
}

}  // namespace tandem::comm
