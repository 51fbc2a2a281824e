// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>

struct CUstream_st;
struct ncclComm;

// What is called of NCCL, as its header declares it from 2.18 on, so that a build without NCCL can
// use the one that another library has loaded.
namespace tandem::comm {

using NcclComm = ::ncclComm*;

/// ncclUniqueId
struct NcclId {
  std::array<char, 128> bytes;
};

/// The beginning of ncclConfig_t. NCCL takes as much as `size` says, and what `version` did not
/// have yet is as usual.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

/// ncclResult_t
enum class NcclResult : int { success = 0, in_progress = 7 };
/// ncclDataType_t
enum class NcclType : int { u8 = 1, i32 = 2, i64 = 4, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
/// ncclRedOp_t; larger ones are made.
enum class NcclOp : int { sum, product, max, min, average };
/// ncclScalarResidence_t
enum class NcclResidence : int { host = 1 };

/// A function of NCCL's.
template <class... Arguments>
struct NcclCall {
  const char* name;
  NcclResult (*function)(Arguments...) = nullptr;
};

/// NCCL's functions.
struct NcclApi {
  const char* (*error_string)(NcclResult) = nullptr;
  const char* (*last_error)(NcclComm) = nullptr;
  NcclCall<int*> version{"ncclGetVersion"};
  NcclCall<NcclId*> unique_id{"ncclGetUniqueId"};
  NcclCall<NcclComm*, int, NcclId, int, NcclConfig*> init_rank{"ncclCommInitRankConfig"};
  NcclCall<NcclComm> finalize{"ncclCommFinalize"};
  NcclCall<NcclComm> destroy{"ncclCommDestroy"};
  NcclCall<NcclComm> abort{"ncclCommAbort"};
  NcclCall<NcclComm, NcclResult*> async_error{"ncclCommGetAsyncError"};
  NcclCall<> group_start{"ncclGroupStart"};
  NcclCall<> group_end{"ncclGroupEnd"};
  NcclCall<const void*, std::size_t, NcclType, int, NcclComm, CUstream_st*> send{"ncclSend"};
  NcclCall<void*, std::size_t, NcclType, int, NcclComm, CUstream_st*> receive{"ncclRecv"};
  NcclCall<const void*, void*, std::size_t, NcclType, int, NcclComm, CUstream_st*> broadcast{
      "ncclBroadcast"};
  NcclCall<const void*, void*, std::size_t, NcclType, NcclOp, int, NcclComm, CUstream_st*> reduce{
      "ncclReduce"};
  NcclCall<const void*, void*, std::size_t, NcclType, NcclOp, NcclComm, CUstream_st*> all_reduce{
      "ncclAllReduce"};
  NcclCall<const void*, void*, std::size_t, NcclType, NcclComm, CUstream_st*> all_gather{
      "ncclAllGather"};
  NcclCall<const void*, void*, std::size_t, NcclType, NcclOp, NcclComm, CUstream_st*>
      reduce_scatter{"ncclReduceScatter"};
  NcclCall<NcclOp*, void*, NcclType, NcclResidence, NcclComm> make_factor{
      "ncclRedOpCreatePreMulSum"};
  NcclCall<NcclOp, NcclComm> destroy_op{"ncclRedOpDestroy"};

  /// Throws DeviceError, with the call's name and NCCL's reason, unless `result` is success or,
  /// with a non-blocking communicator, "in progress".
  void check(NcclResult result, const char* call) const;
  /// Calls the function. @throws DeviceError  see check.
  template <class... Arguments>
  void operator()(const NcclCall<Arguments...>& call,
                  std::type_identity_t<Arguments>... arguments) const {
    check(call.function(arguments...), call.name);
  }
};

/// The NCCL that the build has linked, or else the one that the process has loaded, as PyTorch's
/// library for CUDA does; none where there is none, or one before 2.18.
std::optional<NcclApi> find_nccl();
/// That of a build with NCCL. Defined only there.
NcclApi linked_nccl();

}  // namespace tandem::comm
