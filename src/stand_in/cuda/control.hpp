// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

struct CUstream_st;

// What libcudart.so of the stand-in has besides CUDA's calls: for kernels of the host, and for
// tests, which reach them by ctypes.
extern "C" {

/// A kernel of the calling thread begins on a stream (null: the GPU's default one), once all that
/// the stream was given before is done.
void stand_in_begin_kernel(CUstream_st* stream, int gpu);
/// Bytes that the kernel reads or writes. `name` lives as long as the process.
///
/// @return  0: they are not a GPU's, or not allocated.
int stand_in_use(
    CUstream_st* stream, int gpu, const void* p, std::size_t nbytes, int writes, const char* name);
void stand_in_end_kernel(CUstream_st* stream, int gpu);
/// The host has waited for the stream, as for a result whose size nobody knew before.
void stand_in_reach(CUstream_st* stream, int gpu);
/// Where the host finds the bytes of a GPU's address.
void* stand_in_host(const void* p);

/// Reports so far, and one of the first 1,000.
int stand_in_reports();
const char* stand_in_report(int i);
void stand_in_forget_reports();
/// Lets calls fail, by count from here on: "cudaMalloc:2,ncclReduce:1+" (class Failures).
///
/// @return  0: it is no such text, and nothing changes.
int stand_in_fail(const char* failures);
/// No call is to fail any more.
void stand_in_forget_failures();
/// How often a call was made.
unsigned long stand_in_calls(const char* name);
/// "cudaMalloc 3\ncudaFree 1\n": all of them. The text lives until the next call of this function.
const char* stand_in_all_calls();
/// See class WaitSites. The text lives until the next call of stand_in_wait_sites.
void stand_in_note_waits(int on);
const char* stand_in_wait_sites();
int stand_in_leave_out(std::size_t place, std::size_t depth);
/// Another process, by its number, has so many bytes of a GPU; 0: none any more; SIZE_MAX: nobody
/// tells how many, and they are free.
///
/// @return  0: there is no such GPU, or it has not as much.
int stand_in_occupy(int gpu, unsigned process, std::size_t nbytes);
/// Kernels that compiled CUDA code has registered.
int stand_in_kernels();
/// Ends the process with the name of a call that the stand-in has not got.
[[noreturn]] void stand_in_not_there(const char* call);
}
