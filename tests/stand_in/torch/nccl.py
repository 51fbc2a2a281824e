# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""NCCL's calls as a program makes them that has found the library in its process."""

import contextlib
import ctypes
import os

import torch

LIBRARY = ctypes.CDLL("libnccl.so.2", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
LIBRARY.ncclGetLastError.restype = LIBRARY.ncclGetErrorString.restype = ctypes.c_char_p
SUCCESS, UNHANDLED_CUDA, INVALID_ARGUMENT, INVALID_USAGE, IN_PROGRESS = 0, 1, 4, 5, 7
SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE = range(5)
TYPES = {torch.uint8: 1, torch.int32: 2, torch.int64: 4, torch.float16: 6, torch.float32: 7, torch.float64: 8, torch.bfloat16: 9}


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("blocking", ctypes.c_int),
                ("rest", ctypes.c_byte * 64)]


def call(name, *arguments):
    """The call's result. Tensors are their addresses, and whole numbers C's int."""
    given = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in arguments]
    return getattr(LIBRARY, name)(*given)


def last_error():
    return LIBRARY.ncclGetLastError(None).decode()


def succeed(name, *arguments):
    result = call(name, *arguments)
    assert result in (SUCCESS, IN_PROGRESS), f"{name}: {result}, {last_error()}"


@contextlib.contextmanager
def group():
    succeed("ncclGroupStart")
    yield
    succeed("ncclGroupEnd")


class Communicators:
    """One for each of some GPUs, in this process."""

    def __init__(self, gpus, blocks=True):
        self.gpus, self.blocks = list(gpus), blocks
        self.handles = [ctypes.c_void_p() for _ in self.gpus]
        number = UniqueId()
        succeed("ncclGetUniqueId", ctypes.byref(number))
        config = Config(ctypes.sizeof(Config), 0xCAFEBEEF, 22807, 1 if blocks else 0)
        with group():
            for rank, gpu in enumerate(self.gpus):
                with torch.cuda.device(gpu):
                    succeed("ncclCommInitRankConfig", ctypes.byref(self.handles[rank]), len(self.gpus), number, rank, ctypes.byref(config))
        self.settle()

    def state(self, rank):
        state = ctypes.c_int()
        succeed("ncclCommGetAsyncError", self.handles[rank], ctypes.byref(state))
        return state.value

    def settle(self):
        for rank in range(len(self.gpus)):
            while not self.blocks and self.state(rank) == IN_PROGRESS:
                pass

    def stream(self, rank):
        return ctypes.c_void_p(torch.cuda.current_stream(self.gpus[rank]).cuda_stream)

    def run(self, name, arguments):
        """A collective of all: a list of each rank's arguments, without communicator and stream."""
        with group():
            for rank, own in enumerate(arguments):
                succeed(name, *own, self.handles[rank], self.stream(rank))
        self.settle()

    def close(self):
        for handle in self.handles:
            succeed("ncclCommFinalize", handle)
        self.settle()
        for handle in self.handles:
            succeed("ncclCommDestroy", handle)
