# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""DLPack both ways between tandem, NumPy and PyTorch. exchange_test.py LIBRARY: the built exchange_library.cpp."""

import ctypes
import gc
import sys
import threading
import unittest
import weakref

try:
    import numpy
except ModuleNotFoundError:
    print("NumPy is not there; scripts/setup --torch brings it with PyTorch")
    sys.exit(77)
import torch

NUMPY_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i32": "int32", "i64": "int64", "u8": "uint8",
                "bool": "bool"}
TORCH_DTYPES = {**NUMPY_DTYPES, "bf16": "bfloat16"}
VIEWS = ("transposed", "strided", "offset", "empty", "number")
SHAPE = (2, 3, 4)

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}


def load(path):
    library = ctypes.CDLL(path)
    results = {"error": ctypes.c_char_p, "make": ctypes.c_void_p, "view": ctypes.c_void_p, "lend": ctypes.c_void_p,
               "borrow": ctypes.c_void_p, "free": None, "data": ctypes.c_void_p, "ndim": ctypes.c_int,
               "size": ctypes.c_int64, "element": ctypes.c_double, "fill": ctypes.c_bool,
               "bytes_in_use": ctypes.c_size_t, "bytes_adopted": ctypes.c_size_t}
    arguments = {"make": [ctypes.c_char_p], "view": [ctypes.c_void_p, ctypes.c_char_p],
                 "lend": [ctypes.c_void_p, ctypes.c_bool, ctypes.c_bool], "borrow": [ctypes.c_void_p, ctypes.c_bool],
                 "size": [ctypes.c_void_p, ctypes.c_int], "element": [ctypes.c_void_p, ctypes.c_int64],
                 "fill": [ctypes.c_void_p, ctypes.c_double], "error": [], "bytes_in_use": [], "bytes_adopted": []}
    for name, result in results.items():
        function = getattr(library, f"exchange_{name}")
        function.restype = result
        function.argtypes = arguments.get(name, [ctypes.c_void_p])
    return library


class Tensor:
    """A tensor of tandem, with DLPack's protocol."""

    def __init__(self, handle):
        if not handle:
            raise ValueError(library.exchange_error().decode())
        self.handle = handle

    def __del__(self):
        self.free()

    def free(self):
        handle, self.handle = getattr(self, "handle", None), None
        if handle:
            library.exchange_free(handle)

    @staticmethod
    def make(dtype="f32"):
        return Tensor(library.exchange_make(dtype.encode()))

    @staticmethod
    def borrow(other, **how):
        capsule = other.__dlpack__(**(how or {"max_version": (1, 0)}))
        versioned = bool(python.PyCapsule_IsValid(capsule, NAMES[True]))
        managed = python.PyCapsule_GetPointer(capsule, NAMES[versioned])
        python.PyCapsule_SetName(capsule, USED[versioned])
        return Tensor(library.exchange_borrow(managed, versioned))

    def view(self, kind):
        return Tensor(library.exchange_view(self.handle, kind.encode()))

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, max_version=None, read_only=False, **_):
        versioned = max_version is not None and max_version[0] >= 1
        managed = library.exchange_lend(self.handle, read_only, versioned)
        if not managed:
            raise BufferError(library.exchange_error().decode())
        return python.PyCapsule_New(managed, NAMES[versioned], None)

    @property
    def data(self):
        return library.exchange_data(self.handle)

    @property
    def shape(self):
        return tuple(library.exchange_size(self.handle, d) for d in range(library.exchange_ndim(self.handle)))

    def values(self):
        return [library.exchange_element(self.handle, k) for k in range(int(numpy.prod(self.shape, dtype=int)))]

    def fill(self, value):
        if not library.exchange_fill(self.handle, value):
            raise ValueError(library.exchange_error().decode())


class ReadOnly:
    """Lends a tensor of tandem read-only."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(read_only=True, **how)


def address(x):
    return x.data_ptr() if isinstance(x, torch.Tensor) else x.ctypes.data


def values_of(x):
    return (x.to(torch.float64) if isinstance(x, torch.Tensor) else x.astype("float64")).reshape(-1).tolist()


def numpy_of(dtype):
    return numpy.arange(24).reshape(SHAPE).astype(NUMPY_DTYPES[dtype])


def torch_of(dtype):
    return torch.arange(24).reshape(SHAPE).to(getattr(torch, TORCH_DTYPES[dtype]))


def views_of(x):
    return {"transposed": x.swapaxes(0, 2), "strided": x[:, :, 1::2], "offset": x[:, 2], "empty": x[1:1],
            "number": x[1, 1, 1:2].reshape(())}


def on_thread(f):
    """Runs f on another thread. An exception there is one here."""
    errors = []

    def run():
        try:
            f()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the thread hangs"
    if errors:
        raise errors[0]


LIBRARIES = {"numpy": (numpy.from_dlpack, numpy_of, NUMPY_DTYPES), "torch": (torch.from_dlpack, torch_of, TORCH_DTYPES)}


class Exchange(unittest.TestCase):
    def each_dtype(self, check):
        for name, (take, make, dtypes) in LIBRARIES.items():
            for dtype, theirs in dtypes.items():
                with self.subTest(library=name, dtype=dtype):
                    check(take, make, dtype, theirs)

    def setUp(self):
        gc.collect()
        self.before = (library.exchange_bytes_in_use(), library.exchange_bytes_adopted())

    def tearDown(self):
        gc.collect()
        self.assertEqual((library.exchange_bytes_in_use(), library.exchange_bytes_adopted()), self.before)

    def test_each_dtype_has_the_same_address(self):
        def check(take, make, dtype, theirs):
            own = Tensor.make(dtype)
            there = take(own)
            self.assertEqual(str(there.dtype).removeprefix("torch."), theirs)
            self.assertEqual(tuple(there.shape), SHAPE)
            self.assertEqual(address(there), own.data)
            self.assertEqual(values_of(there), own.values())
            other = make(dtype)
            here = Tensor.borrow(other)
            self.assertEqual(here.shape, SHAPE)
            self.assertEqual(here.data, address(other))
            self.assertEqual(here.values(), values_of(other))

        self.each_dtype(check)

    def test_views_lie_as_they_lie(self):
        def check(take, make, dtype, _):
            own, other = Tensor.make(dtype), make(dtype)
            for kind in VIEWS:
                view = own.view(kind)
                there = take(view)
                self.assertEqual(tuple(there.shape), view.shape, kind)
                self.assertEqual(values_of(there), view.values(), kind)
                theirs = views_of(other)[kind]
                here = Tensor.borrow(theirs)
                self.assertEqual(here.shape, tuple(theirs.shape), kind)
                self.assertEqual(here.values(), values_of(theirs), kind)
                if kind != "empty":
                    self.assertEqual(address(there), view.data, kind)
                    self.assertEqual(here.data, address(theirs), kind)

        self.each_dtype(check)

    def test_a_write_is_seen_on_the_other_side(self):
        for take, make in ((numpy.from_dlpack, numpy_of), (torch.from_dlpack, torch_of)):
            own = Tensor.make()
            there = take(own.view("offset"))
            there[:] = 7
            self.assertEqual(own.values().count(7), 8 + 1)  # a seven was there
            own.fill(3)
            self.assertEqual(values_of(there), [3.0] * 8)
            other = make("f32")
            Tensor.borrow(other).fill(5)
            self.assertEqual(values_of(other), [5.0] * 24)

    def test_an_unversioned_capsule_goes_both_ways(self):
        other = numpy_of("f32")
        here = Tensor.borrow(other, max_version=None)
        self.assertEqual(here.data, other.ctypes.data)
        own = Tensor.make()

        class Old:
            __dlpack_device__ = own.__dlpack_device__

            def __dlpack__(self, stream=None):
                return own.__dlpack__()

        self.assertEqual(address(torch.from_dlpack(Old())), own.data)
        self.assertEqual(address(numpy.from_dlpack(Old())), own.data)

    def test_either_side_is_freed_first_on_either_thread(self):
        def here(f):
            f()

        for take, make in ((numpy.from_dlpack, numpy_of), (torch.from_dlpack, torch_of)):
            for first in (here, on_thread):
                for second in (here, on_thread):
                    # Lent by tandem: its tensor goes first, then the other library's, and the other way round.
                    for own_first in (True, False):
                        own = Tensor.make("f64")
                        in_use = library.exchange_bytes_in_use()
                        box = [take(own)]
                        if own_first:
                            first(own.free)
                            self.assertEqual(library.exchange_bytes_in_use(), in_use)
                            self.assertEqual(values_of(box[0]), list(range(24)))
                            second(box.clear)
                        else:
                            first(box.clear)
                            self.assertEqual(own.values(), list(range(24)))
                            second(own.free)
                        gc.collect()
                        self.assertLess(library.exchange_bytes_in_use(), in_use)
                    # Borrowed by tandem.
                    for own_first in (True, False):
                        box = [make("f64")]
                        watch = weakref.ref(box[0])
                        own = Tensor.borrow(box[0])
                        self.assertEqual(library.exchange_bytes_adopted(), self.before[1] + 24 * 8)
                        if own_first:
                            first(own.free)
                            self.assertEqual(values_of(box[0]), list(range(24)))
                            second(box.clear)
                        else:
                            first(box.clear)
                            self.assertEqual(own.values(), list(range(24)))
                            second(own.free)
                        gc.collect()
                        self.assertIsNone(watch())
                        self.assertEqual(library.exchange_bytes_adopted(), self.before[1])

    def test_threads_exchange_at_the_same_time(self):
        own, other = Tensor.make(), numpy_of("f32")
        errors = []

        def exchange():
            try:
                for _ in range(300):
                    assert values_of(numpy.from_dlpack(own))[5] == 5
                    assert values_of(torch.from_dlpack(own))[6] == 6
                    here = Tensor.borrow(other)
                    assert here.values()[7] == 7
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=exchange) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(errors, [])

    def test_read_only_is_honoured(self):
        other = numpy_of("f32")
        other.flags.writeable = False
        own = Tensor.borrow(other)
        self.assertEqual(own.data, other.ctypes.data)
        with self.assertRaisesRegex(ValueError, "for reading only"):
            own.fill(1)
        with self.assertRaisesRegex(ValueError, "for reading only"):
            own.view("offset").fill(1)
        self.assertEqual(values_of(other), list(range(24)))
        with self.assertRaises(BufferError):  # NumPy's: the old form cannot say it
            Tensor.borrow(other, max_version=None)
        back = numpy.from_dlpack(own)
        self.assertFalse(back.flags.writeable)
        with self.assertRaises(ValueError):
            back[0] = 1
        with self.assertRaisesRegex(BufferError, "before 1.0 cannot say"):
            own.__dlpack__()
        lent = numpy.from_dlpack(ReadOnly(Tensor.make()))
        self.assertFalse(lent.flags.writeable)
        self.assertTrue(numpy.from_dlpack(Tensor.make()).flags.writeable)

    def test_what_cannot_be_shared_is_refused(self):
        with self.assertRaisesRegex(ValueError, "int16"):
            Tensor.borrow(numpy.zeros(3, "int16"))
        with self.assertRaisesRegex(ValueError, "negative"):
            Tensor.borrow(numpy.arange(6.0)[::-1])
        with self.assertRaisesRegex(ValueError, "complex"):
            Tensor.borrow(torch.zeros(2, dtype=torch.complex64))

    def test_a_million_exchanges_leave_no_byte(self):
        own = {"numpy": Tensor.make(), "torch": Tensor.make()}
        other = {name: make("f32") for name, (_, make, _) in LIBRARIES.items()}
        rounds = 250_000  # four exchanges in each

        def exchange(count):
            for _ in range(count):
                for name, (take, _, _) in LIBRARIES.items():
                    take(own[name])
                    Tensor.borrow(other[name]).free()

        exchange(2_000)  # what is kept by caches
        gc.collect()
        resident, counted = resident_bytes(), (library.exchange_bytes_in_use(), library.exchange_bytes_adopted())
        exchange(rounds)
        gc.collect()
        self.assertEqual((library.exchange_bytes_in_use(), library.exchange_bytes_adopted()), counted)
        # A lost loan of the smallest kind, of 250 bytes, would be 60 MB for each direction.
        self.assertLess(resident_bytes() - resident, 4 << 20)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    library = load(sys.argv.pop(1))
    unittest.main(verbosity=2)
