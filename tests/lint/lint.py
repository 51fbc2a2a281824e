#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the text of the source tree: layers, names, lengths, heads, locks, and what documents say of it.

usage: lint.py [ROOT]

Prints each violation as "path:line: [rule] what is wrong", then the ten largest files and the total.
Exits 1 if there is a violation. Every rule has a bad sample in lint_test.py.
"""

import os
import re
import sys

import cpp_text
import documents
import forward
import pairing
from tree import ARROWS, TOP_LEVEL, read_tree

# The folders of a layer that has some, and which of the others their sources may include, lowest first.
FOLDERS = {
    "parallel": {
        "errors": [],
        "reduce": [],
        "plan": ["errors"],
        "batch": ["errors"],
        "units": ["reduce"],
        "update": ["reduce", "units"],
        "options": ["plan", "units", "update"],
        "replicas": ["errors", "reduce", "plan", "batch", "units", "update", "options"],
        "ranks": ["errors", "reduce", "replicas", "units", "options"],
    },
    "parallel/replicas": {
        "device": [],
        "call": ["device"],
        "module": ["device", "call"],
        "step": ["device", "call", "module"],
        "set": ["device", "call", "module", "step"],
        "gather": ["call", "module", "set"],
    },
    "libtorch": {
        "versions": [],
        "gpu": ["versions"],
        "device": ["versions", "gpu"],
        "kernels": ["gpu", "device"],
        "exchange": ["versions", "gpu", "device", "kernels"],
        "modules": ["gpu", "device", "kernels", "exchange"],
        "graph": ["versions", "gpu", "device", "kernels", "exchange", "modules"],
        "update": ["device", "exchange"],
        "wrapper": ["gpu", "device", "kernels", "modules", "graph", "update"],
    },
    "stand_in": {
        "machine": [],
        "cuda": ["machine"],
        "nccl": ["machine"],
        "nvml": ["machine"],
        "torch": ["cuda"],
    },
    "sim": {
        "machine": [],
        "links": ["machine"],
        "step": ["machine", "links"],
        "fit": ["machine", "links", "step"],
    },
}
# Kernels stand beside the layers: only sources call them, from `tensor` upwards.
KERNELS = "kernels"
KERNELS_MAY_INCLUDE = {"core", "runtime", KERNELS}
NO_KERNELS = {"core", "runtime"}

ROOT = {".clang-format", ".clang-tidy", ".devcontainer", ".dockerignore", ".git", ".gitignore", ".venv", "CHANGELOG.md", "CITATION.cff",
        "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "Containerfile", "LICENSE", "README.md", "SECURITY.md", "THIRD_PARTY_NOTICES.md",
        "compile_commands.json", "conanfile.py", "dist", "docs", "ports", "pyproject.toml"}
# Folders whose files are written one like the other, down to the names, and are compiled one by one.
NAMES_ALIKE = {"src/comm/algorithms", "tests/stand_in"}
MAX_LINES, MAX_TEST_LINES, MAX_FUNCTION_LINES = 400, 500, 50
FORBIDDEN_NAMES = {"util", "utils", "common", "helper", "helpers", "manager", "managers"}

UMBRELLA = "tandem/tandem.hpp"
# Public headers that a program need not know, and the reason.
NOT_IN_UMBRELLA = {
    "tandem/report/memory_report.hpp": "a library of its own, of those who print reports",
    "tandem/libtorch/data_parallel.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/detail/checked_outputs.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/gradient_gate.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/module_copy.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/optimizer_view.hpp": "a part of libtorch/optimizer.hpp",
    "tandem/libtorch/detail/replica_loss.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/scattered_inputs.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/shared_update.hpp": "a part of libtorch/optimizer.hpp",
    "tandem/libtorch/detail/torch_replicas.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/detail/torch_device.hpp": "a part of libtorch/devices.hpp",
    "tandem/libtorch/devices.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/exchange.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/functional.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/module_options.hpp": "a part of libtorch/data_parallel.hpp",
    "tandem/libtorch/nest.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/optimizer.hpp": "a library of its own; its users have PyTorch",
    "tandem/libtorch/sync_batchnorm.hpp": "a library of its own; its users have PyTorch",
    "tandem/comm/row_group_adapter.hpp": "joins autograd's RowGroup to a Communicator; the wrappers use it",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else)\b")
BACKEND_CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*(CUDA|NCCL|CUDNN|ONEDNN|DNNL|MPI)")
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")
CUDA_HEADER = re.compile(r"^(cuda|cublas|cudnn|curand|cusparse|nccl|nvtx|nvml|nvToolsExt|cub/|thrust/|cooperative_groups)")
TORCH_USERS = ("src/python/torch/", "src/stand_in/torch/", "bench/libtorch/", "tests/libtorch/", "tests/consumer/torch.cpp", "examples/libtorch/")
TORCH_HEADER = re.compile(r"^(ATen|c10|torch)/")
OPEN_ITEM = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
HEAD = [r"SPDX-FileCopyrightText: \d{4} ", r"SPDX-License-Identifier: \S+"]


def closure(arrows):
    """{layer: the layers that it may include, itself too}"""

    def reach(layer):
        found = {layer}
        for below in arrows[layer]:
            found |= reach(below)
        return found

    return {layer: reach(layer) for layer in arrows}


ALLOWED = closure(ARROWS)
MAY_DECLARE = {layer: allowed | (set() if layer in NO_KERNELS else {KERNELS}) for layer, allowed in ALLOWED.items()}
MAY_DECLARE[KERNELS] = KERNELS_MAY_INCLUDE


def target_layer(source, included):
    """The layer that `#include "included"` names, seen from `source`; None if it names none."""
    parts = included.split("/")
    if parts[0] == "tandem":
        parts = parts[1:]
        if len(parts) == 1:
            name = os.path.splitext(parts[0])[0]
            return name if name in ARROWS else None
    elif len(parts) == 1:
        return source.layer
    return parts[0] if parts[0] in ARROWS or parts[0] == KERNELS else None


def check_arrows(source):
    if not source.is_cpp or source.layer is None:
        return
    layer = source.layer
    if layer not in ARROWS and layer != KERNELS:
        yield 1, "arrows", f"'{layer}' is not a layer; the layers are {', '.join(ARROWS)}, and {KERNELS}"
        return
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        included = match.group(2)
        if ".." in included.split("/"):
            yield number, "arrows", f'"{included}": name the path from include/ or src/, without ".."'
            continue
        if included == "tandem/tandem.hpp":
            yield number, "arrows", "the umbrella header is for users; include the headers that are needed"
            continue
        to = target_layer(source, included)
        if to is None or to == layer:
            continue
        if layer == KERNELS:
            good = to in KERNELS_MAY_INCLUDE
        elif to == KERNELS:
            good = not source.is_public and layer not in NO_KERNELS
        else:
            good = to in ALLOWED[layer]
        if not good:
            where = "a public header of " if source.is_public and to == KERNELS else ""
            yield number, "arrows", f'"{included}": {where}{layer} may not include {to}'


def check_folders(sources):
    """The folders of each place in FOLDERS have its sources with their headers, public ones too."""
    for home, folders in FOLDERS.items():
        start = home.split("/")
        own = [source for source in sources if source.is_cpp and source.place[:len(start) + 1] == ["src", *start]]
        folder_of = {source.path: source.place[len(start) + 1] if len(source.place) > len(start) + 2 else None for source in own}
        for source in own:
            if folder_of[source.path] not in folders:
                yield source.path, 1, "folders", f"'{folder_of[source.path]}' is not a folder of {home}; its folders are {', '.join(folders)}"
        of_header = {source.stem: folder_of[source.path] for source in own if source.suffix == ".cpp"}
        public = [source for source in sources if source.is_cpp and source.is_public and source.layer == start[0] and source.stem in of_header]
        folder_of |= {source.path: of_header[source.stem] for source in public}
        for source in own + public:
            folder = folder_of[source.path]
            for number, line in enumerate(source.lines, 1):
                to = included_folder(line, start, of_header)
                if folder in folders and to in folders and to not in (folder, *folders[folder]):
                    yield source.path, number, "folders", f"{home}/{folder} may include {', '.join(folders[folder]) or 'no other folder'}, not {to}"


def included_folder(line, start, of_header):
    """The folder of `start` that an include line names, by path or by a public header; None: it names none."""
    match = INCLUDE.match(line)
    place = match.group(2).split("/") if match else []
    if place[:2] == ["tandem", start[0]]:
        return of_header.get(place[-1].split(".")[0])
    return place[len(start)] if place[:len(start)] == start and len(place) > len(start) + 1 else None


def check_public_headers(source):
    if not source.is_public or not source.is_cpp:
        return
    if source.suffix == ".hpp" and not any(line.strip() == "#pragma once" for line in source.lines):
        yield 1, "pragma-once", "a header must begin with #pragma once"
    allowed = cpp_text.conditionals_around_define(source.lines, "TANDEM_HD")
    for number, line in enumerate(source.lines, 1):
        if CONDITIONAL.match(line) and number not in allowed:
            yield number, "conditional", "a public header may not compile conditionally; use a constant of tandem/config.hpp"
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, included = match.groups()
        if CUDA_HEADER.match(included):
            yield number, "cuda-header", f"{included}: a public header may not include a CUDA header"
        elif bracket == "<" and not STANDARD_HEADER.match(included):
            yield number, "foreign-header", f"<{included}>: a public header may include only the standard library"
        elif bracket == '"' and not included.startswith("tandem/"):
            yield number, "foreign-header", f'"{included}": a public header may include only "tandem/..."'


def check_torch_headers(source):
    """PyTorch's headers take half a minute to compile: only the layer over it includes them."""
    if not source.is_cpp or source.layer == "libtorch" or source.path.startswith(TORCH_USERS):
        return
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if match and TORCH_HEADER.match(match.group(2)):
            yield number, "torch-header", f"{match.group(2)}: only libtorch may include headers of PyTorch"


def check_backend_conditionals(source):
    if not source.is_cpp or source.is_public:
        return
    allowed = cpp_text.conditionals_around_define(source.lines, "TANDEM_HD")
    for number, line in enumerate(source.lines, 1):
        if BACKEND_CONDITIONAL.match(line) and number not in allowed:
            yield number, "conditional", "backends are chosen by CMake file lists and if constexpr, not by the preprocessor"


def check_locks(source):
    if not source.is_cpp or source.place[0] not in ("include", "src", "examples"):
        return
    for number in cpp_text.static_or_global_mutexes("\n".join(source.lines)):
        yield number, "mutex", "a mutex may not be static or global; make it a member of what it guards"


def check_name(source):
    stem = os.path.splitext(source.place[-1])[0].lower()
    bad = FORBIDDEN_NAMES & (set(re.split(r"[_.-]", stem)) | {folder.lower() for folder in source.place[:-1]})
    if bad:
        yield 1, "name", f"'{sorted(bad)[0]}' says nothing; name the file after what it holds"


def check_head(source):
    needs = source.is_cpp or source.suffix in (".py", ".sh") or source.has_shebang
    if not needs or not source.lines:
        return
    head = source.lines[1:3] if source.has_shebang else source.lines[:2]
    if len(head) < 2 or not all(re.search(pattern, line) for pattern, line in zip(HEAD, head)):
        yield 1, "spdx", "the first two lines (after #!) must be SPDX-FileCopyrightText and SPDX-License-Identifier"


def check_length(source):
    limit = MAX_TEST_LINES if source.place[0] == "tests" else MAX_LINES
    if source.is_code and len(source.lines) > limit:
        yield limit + 1, "length", f"{len(source.lines)} lines, but at most {limit} are allowed; split the file by what it holds"


def check_functions(source):
    if not source.is_cpp or source.place[0] == "tests":
        return
    for line, length in cpp_text.function_lengths("\n".join(source.lines)):
        if length > MAX_FUNCTION_LINES:
            yield line, "function-length", f"{length} lines, but at most {MAX_FUNCTION_LINES} are allowed; make functions of its parts"


def check_open_items(source):
    if not source.is_code:
        return
    for number, line in enumerate(source.lines, 1):
        match = OPEN_ITEM.search(line)
        if match:
            yield number, "todo", f"{match.group(1)} must name its issue: {match.group(1)}(#12)"


def check_unnamed_namespaces(sources):
    """No two sources of a folder define the same name in unnamed namespaces: one file of a unity batch has both."""
    seen = {}
    for source in sources:
        folder = os.path.dirname(source.path)
        if source.suffix != ".cpp" or source.place[0] not in ("src", "tests") or folder in NAMES_ALIKE:
            continue
        for line, what in cpp_text.unnamed_namespace_names("\n".join(source.lines)):
            other = seen.setdefault((folder, what), source.path)
            if other != source.path:
                yield source.path, line, "unnamed", f"{what} is also in {other}; give it another name, or move it to a header that both include"


SOURCE_LIST = re.compile(r"\b(target_sources|tandem_test|set|foreach)\(([^()]*)\)", re.DOTALL)


def check_source_lists(source):
    """Lists of sources and headers in a CMakeLists.txt are sorted, so that everyone adds to the same place."""
    if source.place[-1] != "CMakeLists.txt":
        return
    text = "\n".join(re.sub(r"#.*", "", line) for line in source.lines)
    for match in SOURCE_LIST.finditer(text):
        words = [word for word in match.group(2).split() if re.fullmatch(r"[\w/]+\.(cpp|cu|hpp)", word)]
        if match.group(1) == "set" and re.match(r"\s*headers\b", match.group(2)):
            words = match.group(2).split()[1:]
        for first, second in zip(words, words[1:]):
            if first > second:
                line = text.count("\n", 0, match.start()) + 1
                yield line, "order", f"{second} comes after {first}; sort the list"
                break


def check_root(root):
    """The root holds what ROOT names, folders of builds, and nothing by accident."""
    for name in sorted(os.listdir(root)):
        if name not in ROOT and name not in TOP_LEVEL and not re.match(r"build(-|$)", name):
            yield name, 1, "root", "does not belong in the root; if it does, name it in ROOT of lint.py"


def check_umbrella(sources):
    """Every public header is reached from the umbrella header, or is named in NOT_IN_UMBRELLA."""
    by_name = {source.path[len("include/"):]: source for source in sources if source.path.startswith("include/tandem/")}
    if UMBRELLA not in by_name:
        return
    reached, open_ = {UMBRELLA}, [UMBRELLA]
    while open_:
        for line in by_name[open_.pop()].lines:
            match = INCLUDE.match(line)
            if match and match.group(2) in by_name and match.group(2) not in reached:
                reached.add(match.group(2))
                open_.append(match.group(2))
    for name, source in sorted(by_name.items()):
        if name not in reached and name not in NOT_IN_UMBRELLA:
            yield source.path, 1, "umbrella", f"{UMBRELLA} does not include it; include it there, or say in NOT_IN_UMBRELLA of lint.py why not"
        elif name in reached and name in NOT_IN_UMBRELLA:
            yield source.path, 1, "umbrella", f"{UMBRELLA} includes it, but NOT_IN_UMBRELLA of lint.py says it does not"


CHECKS = [
    check_arrows,
    check_public_headers,
    check_torch_headers,
    check_backend_conditionals,
    check_locks,
    check_name,
    check_head,
    check_length,
    check_functions,
    check_open_items,
    check_source_lists,
]


def violations(sources):
    """[(path, line, rule, message)], in order of path and line."""
    found = []
    for source in sources:
        for check in CHECKS:
            found += [(source.path, line, rule, text) for line, rule, text in check(source)]
    found += check_folders(sources)
    found += check_umbrella(sources)
    found += check_unnamed_namespaces(sources)
    found += forward.check_forward(sources, MAY_DECLARE)
    found += pairing.check_pairs(sources)
    found += pairing.check_families(sources)
    return sorted(found)


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(__file__), "..", "..")
    sources = read_tree(root)
    if not sources:
        print(f"lint: no source file under {root}", file=sys.stderr)
        return 2
    of_documents = documents.violations(root, ARROWS, (KERNELS, KERNELS_MAY_INCLUDE))
    found = sorted(violations(sources) + of_documents + list(check_root(root)))
    for path, line, rule, text in found:
        print(f"{path}:{line}: [{rule}] {text}")

    code = [source for source in sources if source.is_code]
    print("the ten largest files:")
    for source in sorted(code, key=lambda s: (-len(s.lines), s.path))[:10]:
        print(f"{len(source.lines):6} {source.path}")
    print(f"{sum(len(source.lines) for source in code):6} lines in {len(code)} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
