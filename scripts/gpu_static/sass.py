# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of each kernel in what `cuobjdump -sass` prints.

The count is of the code that an element goes through: what accesses global memory by 16 bytes, or else the innermost loops that
access it, or, if there is no such loop, the whole kernel. It is of the code as it stands: a loop in it that accesses nothing
counts once, and so does each copy of an unrolled one. What the kernel calls (the slow way of a division) stands behind it and is
not counted; the call is.
"""

import re
from dataclasses import dataclass

FUNCTION = re.compile(r"^\s*Function : (\S+)")
ARCHITECTURE = re.compile(r"^\s*(?:code for|\.target\s+)\s*sm_(\d+)")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?)\s*;")
TARGET = re.compile(r"0x([0-9a-f]+)\)?$")

WIDTHS = {"U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2, "64": 8, "U64": 8, "S64": 8, "F64": 8, "128": 16, "256": 32}
GLOBAL_LOADS, GLOBAL_STORES, ATOMICS = {"LDG", "LD"}, {"STG", "ST"}, {"RED", "REDG", "ATOM", "ATOMG"}
F64 = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "DMMA", "CLEARF64"}
JUMPS = {"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "CALL", "BREAK", "WARPSYNC"}


@dataclass
class Instruction:
    address: int
    opcode: str  # without what follows its first point
    suffixes: list
    operands: str
    predicated: bool = False  # done only if a condition holds

    @property
    def width(self):
        """Bytes that one thread loads or stores."""
        return next((WIDTHS[s] for s in self.suffixes if s in WIDTHS), 4)

    @property
    def target(self):
        match = TARGET.search(self.operands) if self.opcode in JUMPS else None
        return int(match.group(1), 16) if match else None

    @property
    def fills(self):
        """Whether it stands behind the end: nothing, or a jump to itself."""
        return self.opcode == "NOP" or (self.opcode == "BRA" and self.target == self.address)

    @property
    def is_access(self):
        return self.opcode in GLOBAL_LOADS | GLOBAL_STORES | ATOMICS

    @property
    def is_f64(self):
        return self.opcode in F64 or any("F64" in s or s.endswith("64H") for s in self.suffixes)

    def is_integer_reciprocal(self, bits):
        """Whether a division of integers begins here: the divisor becomes a float that is rounded up."""
        of_64 = "U64" in self.suffixes or "S64" in self.suffixes
        return self.opcode == "I2F" and "RP" in self.suffixes and of_64 == (bits == 64)


def functions(text):
    """Yields (architecture, mangled name, instructions) of each function."""
    architecture, name, found = 0, "", []
    for line in text.splitlines():
        if line.endswith(" */") and ";" not in line:
            continue  # the second half of an instruction's code
        if match := INSTRUCTION.match(line):
            address, predicate, word, operands = match.groups()
            opcode, *suffixes = word.split(".")
            found.append(Instruction(int(address, 16), opcode, suffixes, operands, bool(predicate)))
        elif match := FUNCTION.match(line):
            if name:
                yield architecture, name, found
            name, found = match.group(1), []
        elif match := ARCHITECTURE.match(line):
            if name:
                yield architecture, name, found
            architecture, name, found = int(match.group(1)), "", []
    if name:
        yield architecture, name, found


def split_subroutines(code):
    """The kernel's own instructions, and {address: instructions} of what it calls, which stands behind it."""
    last_exit = max((i.address for i in code if i.opcode == "EXIT"), default=0)
    starts = sorted({i.target for i in code if i.opcode == "CALL" and i.target is not None and i.target > last_exit})
    ends = starts[1:] + [code[-1].address + 1] if starts else []
    bodies = {start: [i for i in code if start <= i.address < end] for start, end in zip(starts, ends)}
    return [i for i in code if not starts or i.address < starts[0]], bodies


def loads_of(code):
    return [i for i in code if i.opcode in GLOBAL_LOADS]


def stores_of(code):
    return [i for i in code if i.opcode in GLOBAL_STORES | ATOMICS]


def loops(code):
    """The loops that access global memory, as ranges of the code; a jump back out of what stands behind the end makes no loop."""
    at = {i.address: number for number, i in enumerate(code)}
    ends = {}
    for number, i in enumerate(code):
        if i.opcode == "BRA" and i.target in at and at[i.target] < number:
            ends[at[i.target]] = number
    found = [range(start, end + 1) for start, end in ends.items()]
    return [loop for loop in found if any(code[n].is_access for n in loop) and
            not any(code[n].opcode == "EXIT" and not code[n].predicated for n in loop)]


def hot(code):
    """What an element goes through, and whether it is in loops: where accesses are of 16 bytes, else the innermost loops."""
    ranges = loops(code)
    whole = range(len(code))
    own = {}
    for loop in [whole, *ranges]:
        inner = [other for other in ranges if other != loop and loop.start <= other.start and other.stop <= loop.stop]
        own[loop] = set(loop).difference(*inner)
    wide = [loop for loop, numbers in own.items() if any(code[n].is_access and code[n].width >= 16 for n in numbers)]
    innermost = [loop for loop in ranges if len(own[loop]) == len(loop)]
    chosen = wide or innermost or [whole]
    return [code[n] for n in sorted(set().union(*(own[loop] for loop in chosen)))], chosen != [whole]


def in_flight(code):
    """The most bytes that a thread loads before it has to wait for one of them.

    It cannot know of another block of instructions, or of what it loads behind a store: the store waits for its value.
    """
    targets = {i.target for i in code}
    most = now = 0
    for i in code:
        if i.opcode in JUMPS or i.opcode in GLOBAL_STORES or i.address in targets:
            now = 0
        if i.opcode in GLOBAL_LOADS:
            now += i.width
            most = max(most, now)
    return most


def divisions(code, bodies):
    """The divisions and reciprocals of each type. One of 64 bits has one of 32 beside it, for small numbers, which is not counted."""
    reciprocals = sum(i.is_integer_reciprocal(32) for i in code)
    slow = {start for start, body in bodies.items() if any(i.is_integer_reciprocal(64) for i in body)}
    of_64 = sum(i.is_integer_reciprocal(64) or (i.opcode == "CALL" and i.target in slow) for i in code)
    return {
        "div_i64": of_64,
        "div_i32": max(0, reciprocals - of_64),
        "div_f64": sum(i.opcode == "MUFU" and "RCP64H" in i.suffixes for i in code),
        "div_f32": max(0, sum(i.opcode == "MUFU" and "RCP" in i.suffixes for i in code) - reciprocals),
    }


def numbers(accesses, of_kernel):
    """How many numbers are accessed. The narrowest access of the kernel is of one; what is wider than any type has four bytes each."""
    narrowest = min((i.width for i in of_kernel), default=4)
    return sum(i.width for i in accesses) // (narrowest if narrowest <= 8 else 4)


def count(code):
    """The figures of one kernel."""
    kernel, bodies = split_subroutines([i for i in code if not i.fills])
    code, is_loop = hot(kernel)
    loads, stores = loads_of(code), stores_of(code)
    return {
        "code": len(kernel), "loop": is_loop,
        "elements": max(1, numbers(stores, stores_of(kernel)) or numbers(loads, loads_of(kernel))),
        "instructions": len(code),
        "loads": len(loads), "load_bytes": sum(i.width for i in loads), "widest_load": max((i.width for i in loads), default=0),
        "stores": len(stores), "store_bytes": sum(i.width for i in stores),
        "local_bytes": sum(i.width for i in code if i.opcode in ("LDL", "STL")),
        "f64": sum(i.is_f64 for i in code),
        **divisions(code, bodies),
        "in_flight": in_flight(code),
    }


def read(text):
    """{(architecture, mangled name): figures}"""
    return {(architecture, name): count(code) for architecture, name, code in functions(text) if code}
