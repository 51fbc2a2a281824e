// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of NCCL that the backend calls. A group's calls are put on the streams after it has
// ended, rank by rank, while the caller asks for the state of its communicators; each rank's part
// then waits for all others', as NCCL's kernels do. Calls of a group that do not match are an
// error, where NCCL would hang.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nccl.h>

#include "tandem/core/float16.hpp"

#include "stand_in/runtime.hpp"

struct ncclComm {
  std::uint64_t world;
  int rank, ranks, gpu;
  bool uses_peers;
  bool is_ending = false;
  std::map<int, double> factors = {};  // of reductions made with one
  int next_factor = ncclNumOps;
};

namespace tandem::stand_in {
namespace {

enum class Kind : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  send,
  recv
};

struct Call {
  Kind kind;
  ncclComm* comm;
  cudaStream_t stream;
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;                    // or root
  const char* name = nullptr;  // of the function
  int rank = comm->rank;
  std::size_t ranks = static_cast<std::size_t>(comm->ranks);
  double factor = op < ncclNumOps ? 1 : comm->factors.at(op);

  /// Ranks agree on it. The operation of a rank's own factor is its own.
  bool matches(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && peer == other.peer &&
           (op == other.op || (op >= ncclNumOps && other.op >= ncclNumOps));
  }
};

std::size_t size_of(ncclDataType_t type) {
  if (type == ncclFloat64 || type == ncclInt64) return 8;
  if (type == ncclFloat32 || type == ncclInt32) return 4;
  return type == ncclFloat16 || type == ncclBfloat16 ? 2 : 1;
}

std::size_t part_bytes(const Call& c) {
  return c.count * size_of(c.type);
}
/// Bytes of what all ranks' parts are together.
std::size_t whole_bytes(const Call& c) {
  const bool has_parts = c.kind == Kind::all_gather || c.kind == Kind::reduce_scatter;
  return part_bytes(c) * (has_parts ? c.ranks : 1);
}
std::size_t input_bytes(const Call& c) {
  if (c.kind == Kind::broadcast && c.rank != c.peer) return 0;
  return c.kind == Kind::all_gather ? part_bytes(c) : whole_bytes(c);
}
std::size_t output_bytes(const Call& c) {
  return c.kind == Kind::reduce_scatter ? part_bytes(c) : whole_bytes(c);
}

/// Whether the rank's part is where it is in the whole, or outside of it: else NCCL reads what it
/// has written.
bool has_its_place(const Call& c) {
  if (part_bytes(c) == whole_bytes(c)) return true;
  const bool gathers = c.kind == Kind::all_gather;
  const auto* const part = static_cast<const std::byte*>(gathers ? c.input : c.output);
  const auto* const whole = static_cast<const std::byte*>(gathers ? c.output : c.input);
  return part == whole + static_cast<std::size_t>(c.rank) * part_bytes(c) ||
         part + part_bytes(c) <= whole || whole + whole_bytes(c) <= part;
}

thread_local int depth = 0;
thread_local std::vector<Call> group;
thread_local bool refused = false;  // a call of the group

std::uint64_t next_world = 1;
std::string last_error;

/// Bytes that a communicator takes of its GPU.
constexpr std::size_t kLinkBytes = std::size_t{1} << 20;

/// Calls f with a value of the type.
template <class F>
void with_type(ncclDataType_t type, F f) {
  if (type == ncclFloat64) return f(double{});
  if (type == ncclFloat32) return f(float{});
  if (type == ncclFloat16) return f(Half());
  if (type == ncclBfloat16) return f(BFloat16());
  if (type == ncclInt64) return f(std::int64_t{});
  if (type == ncclInt32) return f(std::int32_t{});
  f(std::uint8_t{});
}

/// The reduction of the calls' inputs, in double or in whole numbers that wrap.
template <class T>
void reduce_into(std::vector<std::byte>& result, const std::vector<Call>& calls) {
  constexpr bool whole = std::is_integral_v<T>;
  using Wide = std::conditional_t<whole, std::uint64_t, double>;
  const auto widened = [](T v) {
    if constexpr (whole)
      return static_cast<Wide>(v);
    else
      return static_cast<Wide>(static_cast<float>(v)) +
             (std::is_same_v<T, double> ? static_cast<Wide>(v) - static_cast<float>(v) : 0);
  };
  auto* const out = reinterpret_cast<T*>(result.data());
  for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) {
    Wide sum{};
    for (const Call& c : calls) {
      const T own = static_cast<const T*>(c.input)[i];
      Wide x = widened(own);
      if constexpr (!whole) {
        x *= c.factor;
      }
      if (&c == &calls.front())
        sum = x;
      else if (c.op == ncclProd)
        sum *= x;
      else if (c.op == ncclMin)
        sum = widened(std::min(static_cast<T>(sum), own));
      else if (c.op == ncclMax)
        sum = widened(std::max(static_cast<T>(sum), own));
      else
        sum += x;
    }
    if constexpr (!whole) {
      if (calls.front().op == ncclAvg) sum /= static_cast<double>(calls.size());
      if constexpr (sizeof(T) == 2)
        out[i] = T(static_cast<float>(sum));
      else
        out[i] = static_cast<T>(sum);
    } else {
      out[i] = static_cast<T>(sum);
    }
  }
}

/// The result, of which every receiving rank gets its part.
void compute(std::vector<std::byte>& result, const std::vector<Call>& calls) {
  const Call& first = calls.front();
  result.resize(whole_bytes(first));
  if (first.kind == Kind::all_reduce || first.kind == Kind::reduce ||
      first.kind == Kind::reduce_scatter) {
    with_type(first.type, [&](auto zero) { reduce_into<decltype(zero)>(result, calls); });
    return;
  }
  for (const Call& c : calls) {
    const bool gathers = c.kind == Kind::all_gather;
    const bool gives =
        gathers || c.kind == Kind::send || (c.kind == Kind::broadcast && c.rank == c.peer);
    const std::size_t at = gathers ? static_cast<std::size_t>(c.rank) * part_bytes(c) : 0;
    if (gives)
      std::copy_n(static_cast<const std::byte*>(c.input), part_bytes(c), result.data() + at);
  }
}

bool gets(const Call& c) {
  return c.kind != Kind::send && (c.kind != Kind::reduce || c.rank == c.peer);
}

/// What one rank does for a collective: nobody writes before all have come, and have been read.
class RankTasks {
 public:
  explicit RankTasks(const Call& call) : call_(call) {}
  void add(std::function<void()> run,
           std::shared_ptr<Mark> after = nullptr,
           std::shared_ptr<Mark> sets = nullptr) {
    tasks_.push_back({std::move(run), std::move(after), std::move(sets), call_.comm});
  }
  void launch(Runtime& r) { r.launches.push_back({call_.stream, std::move(tasks_)}); }

 private:
  const Call& call_;
  std::vector<Task> tasks_;
};

/// Queues one collective, or one message.
void queue(Runtime& r, std::vector<Call> calls) {
  if (calls.size() == 2 && calls[0].stream == calls[1].stream) {  // a message to itself
    RankTasks tasks(calls[0]);
    tasks.add([from = calls[0], to = calls[1]] {
      std::memmove(to.output, from.input, part_bytes(from));
    });
    return tasks.launch(r);
  }
  for (const Call& c : calls) {
    r.machine.next_task(c.stream);
    const auto use = [&](const void* p, std::size_t n, bool writes) {
      if (p != nullptr) r.machine.use(c.stream, r.locate(p, n).data, n, writes, c.name);
    };
    use(c.input, input_bytes(c), false);
    use(c.output, gets(c) ? output_bytes(c) : 0, true);
  }
  const bool far = calls.front().comm->uses_peers;
  const bool hangs = far && r.machine.settings.peers == Peers::hanging;
  const bool damages = far && r.machine.settings.peers == Peers::wrong_bytes;
  const auto all = std::make_shared<const std::vector<Call>>(std::move(calls));
  const auto result = std::make_shared<std::vector<std::byte>>();
  std::vector<std::shared_ptr<Mark>> here, read;
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    here.push_back(std::make_shared<Mark>());
    read.push_back(std::make_shared<Mark>());
  }
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    RankTasks tasks((*all)[rank]);
    tasks.add({}, nullptr, here[rank]);
    for (const auto& mark : here)
      tasks.add({}, mark);
    if (hangs) tasks.add({}, r.never);
    tasks.add(
        [all, result, damages] {
          if (!result->empty()) return;
          compute(*result, *all);
          if (damages && !result->empty()) (*result)[result->size() / 2] ^= std::byte{1};
        },
        nullptr,
        read[rank]);
    for (const auto& mark : read)
      tasks.add({}, mark);
    const Call& own = (*all)[rank];
    if (gets(own)) {
      tasks.add([own, result] {
        const bool scatters = own.kind == Kind::reduce_scatter;
        const std::size_t at = scatters ? static_cast<std::size_t>(own.rank) * part_bytes(own) : 0;
        std::copy_n(result->data() + at, output_bytes(own), static_cast<std::byte*>(own.output));
      });
    }
    tasks.launch(r);
  }
}

bool is_message(const Call& c) {
  return c.kind == Kind::send || c.kind == Kind::recv;
}

/// The next call of each rank of a world, where they are one collective; else nothing.
std::vector<Call> next_collective(std::vector<std::vector<Call>>& by_rank) {
  std::vector<Call> calls;
  for (auto& queue : by_rank) {
    if (queue.empty() || !queue.front().matches(by_rank.front().front())) return {};
    calls.push_back(queue.front());
  }
  for (auto& queue : by_rank)
    queue.erase(queue.begin());
  return calls;
}

/// Queues the calls of a group; false where some have no counterpart.
bool queue_group(Runtime& r, std::vector<Call> calls) {
  std::map<std::uint64_t, std::vector<std::vector<Call>>> worlds;
  std::vector<Call> sends;
  for (const Call& c : calls) {
    auto& by_rank = worlds[c.comm->world];
    by_rank.resize(static_cast<std::size_t>(c.comm->ranks));
    if (!is_message(c)) by_rank[static_cast<std::size_t>(c.comm->rank)].push_back(c);
    if (c.kind == Kind::send) sends.push_back(c);
  }
  for (const Call& c : calls) {
    if (c.kind != Kind::recv) continue;
    const auto from = std::ranges::find_if(sends, [&](const Call& s) {
      return s.comm->world == c.comm->world && s.comm->rank == c.peer && s.peer == c.comm->rank &&
             s.count == c.count && s.type == c.type;
    });
    if (from == sends.end()) return false;
    queue(r, {*from, c});
    sends.erase(from);
  }
  if (!sends.empty()) return false;
  for (auto& [world, by_rank] : worlds) {
    while (std::ranges::any_of(by_rank, [](const auto& queue) { return !queue.empty(); })) {
      std::vector<Call> one = next_collective(by_rank);
      if (one.empty()) return false;
      queue(r, std::move(one));
    }
  }
  return true;
}

/// A call under the machine's mutex, counted and made to fail as those of the run-time are.
template <class F>
ncclResult_t call(const char* name, F f) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.machine.mutex);
  try {
    r.enter(name, 0);
    return f(r);
  } catch (cudaError_t error) {
    const char* const what = error == cudaErrorMemoryAllocation ? "out of memory" : "refused";
    last_error = "Cuda failure " + std::to_string(error) + " '" + what + "'";
    return ncclUnhandledCudaError;
  }
}

/// Time passes for a communicator that is to end after its work.
void try_to_end(Runtime& r, ncclComm_t comm) {
  try {
    r.query([&] { return !r.has_work(comm); });
  } catch (cudaError_t) {  // it is not ready
  }
}

/// Gives up a communicator, which must be one.
ncclResult_t end(Runtime& r, ncclComm_t comm) {
  r.machine.unclaim(comm->gpu, kLinkBytes);
  r.handles.erase(comm);
  delete comm;
  return ncclSuccess;
}

ncclResult_t add(const char* name, Call c) {
  const ncclResult_t result = call(name, [&](Runtime& r) {
    r.check_handle(c.stream);
    if (c.stream->gpu != c.comm->gpu || depth == 0 || !has_its_place(c)) return ncclInvalidUsage;
    c.name = name;
    group.push_back(c);
    return ncclSuccess;
  });
  refused |= result != ncclSuccess;
  return result;
}

}  // namespace
}  // namespace tandem::stand_in

using namespace tandem::stand_in;

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "unhandled cuda error";
}
const char* ncclGetLastError(ncclComm_t) {
  return last_error.c_str();
}
ncclResult_t ncclGetVersion(int* version) {
  return call("ncclGetVersion", [&](Runtime&) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call("ncclGetUniqueId", [&](Runtime&) {
    *id = {};
    const std::uint64_t world = next_world++;
    std::memcpy(id->internal, &world, sizeof world);
    return ncclSuccess;
  });
}
ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  int gpu = 0;
  cudaGetDevice(&gpu);
  return call("ncclCommInitRankConfig", [&](Runtime& r) {
    std::uint64_t world = 0;
    std::memcpy(&world, id.internal, sizeof world);
    r.check_gpu(gpu);
    need(r.machine.claim(gpu, kLinkBytes), cudaErrorMemoryAllocation);
    const char* const disabled = std::getenv("NCCL_P2P_DISABLE");
    const bool uses_peers = disabled == nullptr || std::string_view(disabled) != "1";
    *comm = new ncclComm{world, rank, ranks, gpu, uses_peers};
    r.handles.insert(*comm);
    return ncclInProgress;
  });
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return call("ncclCommAbort", [&](Runtime& r) {
    r.check_handle(comm);
    r.drop_work(comm);
    return end(r, comm);
  });
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return call("ncclCommFinalize", [&](Runtime& r) {
    r.check_handle(comm);
    if (comm->is_ending) return ncclInvalidArgument;
    comm->is_ending = true;
    return ncclInProgress;
  });
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {  // NCCL's would wait where this one refuses
  return call("ncclCommDestroy", [&](Runtime& r) {
    r.check_handle(comm);
    return comm->is_ending && !r.has_work(comm) ? end(r, comm) : ncclInvalidUsage;
  });
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return call("ncclCommGetAsyncError", [&](Runtime& r) {
    r.check_handle(comm);
    r.check_gpu(comm->gpu);
    r.launch_one();
    if (comm->is_ending) try_to_end(r, comm);
    const bool is_launched = std::ranges::none_of(
        r.launches, [&](const Launch& l) { return l.tasks.front().owner == comm; });
    *error = is_launched && !(comm->is_ending && r.has_work(comm)) ? ncclSuccess : ncclInProgress;
    return ncclSuccess;
  });
}
ncclResult_t ncclGroupStart() {
  return call("ncclGroupStart", [](Runtime&) {
    ++depth;
    return ncclSuccess;
  });
}
ncclResult_t ncclGroupEnd() {
  --depth;
  std::vector<Call> calls = std::exchange(group, {});
  const bool is_void = std::exchange(refused, false);
  return call("ncclGroupEnd", [&](Runtime& r) {
    if (is_void) return ncclInvalidUsage;
    return queue_group(r, std::move(calls)) ? ncclInProgress : ncclInvalidUsage;
  });
}
ncclResult_t ncclRedOpCreatePreMulSum(
    ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t, ncclComm_t comm) {
  return call("ncclRedOpCreatePreMulSum", [&](Runtime&) {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(T) == 2)
        comm->factors[comm->next_factor] = static_cast<float>(*static_cast<const T*>(scalar));
      else
        comm->factors[comm->next_factor] = static_cast<double>(*static_cast<const T*>(scalar));
    });
    *op = static_cast<ncclRedOp_t>(comm->next_factor++);
    return ncclSuccess;
  });
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {  // its calls may not have run yet
  return call("ncclRedOpDestroy", [](Runtime&) { return ncclSuccess; });
}
ncclResult_t ncclAllReduce(const void* in,
                           void* out,
                           size_t n,
                           ncclDataType_t t,
                           ncclRedOp_t op,
                           ncclComm_t c,
                           cudaStream_t s) {
  return add("ncclAllReduce", {Kind::all_reduce, c, s, in, out, n, t, op, 0});
}
ncclResult_t ncclReduce(const void* in,
                        void* out,
                        size_t n,
                        ncclDataType_t t,
                        ncclRedOp_t op,
                        int root,
                        ncclComm_t c,
                        cudaStream_t s) {
  return add("ncclReduce", {Kind::reduce, c, s, in, out, n, t, op, root});
}
ncclResult_t ncclBroadcast(
    const void* in, void* out, size_t n, ncclDataType_t t, int root, ncclComm_t c, cudaStream_t s) {
  return add("ncclBroadcast", {Kind::broadcast, c, s, in, out, n, t, ncclSum, root});
}
ncclResult_t ncclAllGather(
    const void* in, void* out, size_t n, ncclDataType_t t, ncclComm_t c, cudaStream_t s) {
  return add("ncclAllGather", {Kind::all_gather, c, s, in, out, n, t, ncclSum, 0});
}
ncclResult_t ncclReduceScatter(const void* in,
                               void* out,
                               size_t n,
                               ncclDataType_t t,
                               ncclRedOp_t op,
                               ncclComm_t c,
                               cudaStream_t s) {
  return add("ncclReduceScatter", {Kind::reduce_scatter, c, s, in, out, n, t, op, 0});
}
ncclResult_t ncclSend(
    const void* in, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s) {
  return add("ncclSend", {Kind::send, c, s, in, nullptr, n, t, ncclSum, peer});
}
ncclResult_t ncclRecv(
    void* out, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s) {
  return add("ncclRecv", {Kind::recv, c, s, nullptr, out, n, t, ncclSum, peer});
}
