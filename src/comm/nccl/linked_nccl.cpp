// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <type_traits>

#include <nccl.h>

#include "comm/nccl/nccl_api.hpp"

namespace tandem::comm {
namespace {

// NCCL's header says what nccl_api.hpp does.
static_assert(static_cast<int>(NcclResult::success) == ncclSuccess);
static_assert(static_cast<int>(NcclResult::in_progress) == ncclInProgress);
static_assert(static_cast<int>(NcclType::u8) == ncclUint8);
static_assert(static_cast<int>(NcclType::i32) == ncclInt32);
static_assert(static_cast<int>(NcclType::i64) == ncclInt64);
static_assert(static_cast<int>(NcclType::f16) == ncclFloat16);
static_assert(static_cast<int>(NcclType::f32) == ncclFloat32);
static_assert(static_cast<int>(NcclType::f64) == ncclFloat64);
static_assert(static_cast<int>(NcclType::bf16) == ncclBfloat16);
static_assert(static_cast<int>(NcclOp::sum) == ncclSum);
static_assert(static_cast<int>(NcclOp::product) == ncclProd);
static_assert(static_cast<int>(NcclOp::max) == ncclMax);
static_assert(static_cast<int>(NcclOp::min) == ncclMin);
static_assert(static_cast<int>(NcclOp::average) == ncclAvg);
static_assert(static_cast<int>(NcclResidence::host) == ncclScalarHostImmediate);
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(NcclConfig, blocking));
static_assert(offsetof(ncclConfig_t, version) == offsetof(NcclConfig, version));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(NcclConfig, magic));

/// Whether a value of one type is passed as one of the other is.
template <class A, class B>
constexpr bool are_passed_alike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>&& std::is_class_v<A> ==
                                  std::is_class_v<B>;

/// Fills a call with NCCL's function, whose types have other names.
template <class... Own, class Result, class... Arguments>
void link(NcclCall<Own...>& call, Result (*function)(Arguments...)) {
  static_assert(are_passed_alike<NcclResult, Result>);
  static_assert((are_passed_alike<Own, Arguments> && ...));
  call.function = reinterpret_cast<decltype(call.function)>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

NcclApi linked_nccl() {
  NcclApi api;
  api.error_string = [](NcclResult result) {
    return ncclGetErrorString(static_cast<ncclResult_t>(result));
  };
  api.last_error = &ncclGetLastError;
  link(api.version, &ncclGetVersion);
  link(api.unique_id, &ncclGetUniqueId);
  link(api.init_rank, &ncclCommInitRankConfig);
  link(api.finalize, &ncclCommFinalize);
  link(api.destroy, &ncclCommDestroy);
  link(api.abort, &ncclCommAbort);
  link(api.async_error, &ncclCommGetAsyncError);
  link(api.group_start, &ncclGroupStart);
  link(api.group_end, &ncclGroupEnd);
  link(api.send, &ncclSend);
  link(api.receive, &ncclRecv);
  link(api.broadcast, &ncclBroadcast);
  link(api.reduce, &ncclReduce);
  link(api.all_reduce, &ncclAllReduce);
  link(api.all_gather, &ncclAllGather);
  link(api.reduce_scatter, &ncclReduceScatter);
  link(api.make_factor, &ncclRedOpCreatePreMulSum);
  link(api.destroy_op, &ncclRedOpDestroy);
  return api;
}

}  // namespace tandem::comm
