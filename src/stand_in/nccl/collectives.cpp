// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// libnccl.so.2: groups, collectives, messages, and operations of a program's own.

#include <cstring>
#include <string>

#include "stand_in/nccl/call.hpp"
#include "stand_in/nccl/group.hpp"
#include "stand_in/nccl/reduction.hpp"

using namespace tandem::stand_in;

namespace {

enum Residence : int { kInGpuMemory, kOnHost };

int refuse(const Part& part, NcclResult result, const std::string& why) {
  return nccl_refuse(result, std::string(part.name) + ": " + why);
}

/// What is no argument of any call.
int check(Machine& m, const ncclComm& comm, const Part& part) {
  if (nccl_size(part.type) == 0)
    return refuse(part, kInvalidArgument, "there is no type " + std::to_string(part.type));
  if (part.root < 0 || static_cast<std::size_t>(part.root) >= comm.clique->ranks())
    return refuse(part,
                  kInvalidArgument,
                  "there is no rank " + std::to_string(part.root) + " of " +
                      std::to_string(comm.clique->ranks()));
  if (part.op >= kFactorSum && part.factor == nullptr)
    return refuse(part, kInvalidArgument, "the operation was not made, or has been destroyed");
  if (part.factor != nullptr && part.factor->type != part.type)
    return refuse(part,
                  kInvalidArgument,
                  std::string("the operation is for ") + nccl_type_name(part.factor->type) +
                      ", and the values are " + nccl_type_name(part.type));
  if (comm.is_finalized) return refuse(part, kInvalidUsage, "the communicator was finalized");
  if (m.error(comm.gpu) != 0) return nccl_failed(m.error(comm.gpu));
  return kSuccess;
}

/// A buffer is memory of the communicator's GPU, or pinned.
int check_buffer(
    Machine& m, const ncclComm& comm, const Part& part, const void* p, std::size_t nbytes) {
  if (nbytes == 0 || m.memory.is_pinned(p)) return kSuccess;
  const auto* const block = m.memory.find(p);
  if (block != nullptr && block->gpu == comm.gpu) return kSuccess;
  const std::string why =
      "rank " + std::to_string(comm.rank) + " is on GPU " + std::to_string(comm.gpu) +
      ", and its buffer is " +
      (block != nullptr ? "memory of GPU " + std::to_string(block->gpu) : "none of a GPU's");
  m.reports.add("memory", part.name, std::string(part.name) + ": " + why);
  return refuse(part, kInvalidArgument, why);
}

int check_buffers(Machine& m, const ncclComm& comm, const Part& part) {
  const std::size_t rank = comm.rank, ranks = comm.clique->ranks();
  int result = check_buffer(m, comm, part, part.from, part.read_bytes(rank, ranks));
  if (result == kSuccess)
    result = check_buffer(m, comm, part, part.to, part.written_bytes(rank, ranks));
  if (result != kSuccess || part.has_its_place(rank, ranks)) return result;
  const std::string why = "rank " + std::to_string(rank) +
                          " is given buffers that overlap, and not in place: NCCL reads what it "
                          "has written";
  m.reports.add("memory", part.name, std::string(part.name) + ": " + why);
  return refuse(part, kInvalidUsage, why);
}

int add(ncclComm* handle, Part part, CUstream_st* stream) {
  return spoil_group(with_communicator(part.name, handle, [&](Machine& m, const auto& comm) {
    if (part.op >= kFactorSum) {
      const auto found = comm->factors.find(part.op);
      if (found != comm->factors.end()) part.factor = found->second;
      part.op = kFactorSum;
    }
    int result = check(m, *comm, part);
    if (result == kSuccess) result = check_buffers(m, *comm, part);
    if (result != kSuccess) return result;
    part.owner = comm.get();
    part.stream = m.stream(stream, comm->gpu);
    if (part.stream == nullptr || part.stream->is_destroyed)
      return refuse(part, kInvalidArgument, "there is no such stream, or not any more");
    if (part.stream->gpu != comm->gpu)
      return refuse(part,
                    kInvalidUsage,
                    "rank " + std::to_string(comm->rank) + " is on GPU " +
                        std::to_string(comm->gpu) + ", and its stream on GPU " +
                        std::to_string(part.stream->gpu));
    // NCCL leaves out a collective of nothing.
    if (part.count == 0 && !part.is_message()) return static_cast<int>(kSuccess);
    return add_part(m, {comm, part});
  }));
}

}  // namespace

extern "C" {

int ncclGroupStart() {
  return nccl_call(__func__, [](Machine&) { return begin_group(), kSuccess; });
}
// It ends the group also where it is told to fail.
int ncclGroupEnd() {
  const int failed = nccl_call(__func__, [](Machine&) { return static_cast<int>(kSuccess); });
  spoil_group(failed);
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  return end_group(m);
}

int ncclBcast(void* p, std::size_t n, int type, int root, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::broadcast, p, p, n, type, 0, root}, s);
}
int ncclBroadcast(
    const void* from, void* to, std::size_t n, int type, int root, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::broadcast, from, to, n, type, 0, root}, s);
}
int ncclReduce(const void* from,
               void* to,
               std::size_t n,
               int type,
               int op,
               int root,
               ncclComm* c,
               CUstream_st* s) {
  return add(c, {__func__, Part::Kind::reduce, from, to, n, type, op, root}, s);
}
int ncclAllReduce(
    const void* from, void* to, std::size_t n, int type, int op, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::all_reduce, from, to, n, type, op, 0}, s);
}
int ncclAllGather(
    const void* from, void* to, std::size_t n, int type, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::all_gather, from, to, n, type, 0, 0}, s);
}
int ncclReduceScatter(
    const void* from, void* to, std::size_t n, int type, int op, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::reduce_scatter, from, to, n, type, op, 0}, s);
}
int ncclSend(const void* from, std::size_t n, int type, int peer, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::send, from, nullptr, n, type, 0, peer}, s);
}
int ncclRecv(void* to, std::size_t n, int type, int peer, ncclComm* c, CUstream_st* s) {
  return add(c, {__func__, Part::Kind::receive, nullptr, to, n, type, 0, peer}, s);
}

int ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, ncclComm* handle) {
  return with_communicator(__func__, handle, [=](Machine&, const auto& comm) {
    if (nccl_size(type) == 0 || (residence != kInGpuMemory && residence != kOnHost))
      return nccl_refuse(kInvalidArgument, "ncclRedOpCreatePreMulSum: no such type or residence");
    Factor factor{type, 0, residence == kInGpuMemory ? scalar : nullptr};
    if (residence == kOnHost) std::memcpy(&factor.bits, scalar, nccl_size(type));
    *op = kFactorSum + comm->next_op++;
    comm->factors[*op] = std::make_shared<const Factor>(factor);
    return static_cast<int>(kSuccess);
  });
}
// A call that was given it has taken the factor.
int ncclRedOpDestroy(int op, ncclComm* handle) {
  return with_communicator(__func__, handle, [=](Machine&, const auto& comm) {
    if (comm->factors.erase(op) == 0)
      return nccl_refuse(kInvalidArgument,
                         "ncclRedOpDestroy: the operation was not made, or has been destroyed");
    return static_cast<int>(kSuccess);
  });
}

}  // extern "C"
