# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-static"""

import argparse
import fnmatch
import json
import os
import pathlib
import sys

from . import build, document, kernels, limits, table, tools

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = pathlib.Path(__file__).resolve().parent / "limits.toml"
OK, EXCEEDED, WRONG_CALL, NOTHING_DONE, INTERRUPTED = 0, 1, 2, 77, 130

ABOUT = """\
Compiles the CUDA kernels, optimised, and shows what each needs: registers, stack, spills and shared memory as ptxas says,
and, from its machine code, the bytes that it loads and stores, the instructions, those of f64 and the divisions for an
element. Fails if a kernel exceeds a limit of scripts/gpu_static/limits.toml. No GPU is needed.

nvcc is looked for in the PATH, in $CUDA_PATH and in /usr/local/cuda. The figures of machine code need cuobjdump and
nvdisasm, which small toolkits lack: scripts/setup --cuda-tools installs them. Without them those columns are absent, and
their limits are not checked.

A kernel is named by its file and its template, e.g. "compare: each<MapElement<Less, bool, f32, f32>>". A row of a table is a
family: the kernels that differ only in types and values. docs/gpu.md says what the figures mean, and what they cannot."""

END = """\
exit status: 0 no limit is exceeded; 1 a limit is exceeded, or something does not compile; 2 wrong call; 77 there is no nvcc,
and nothing was done"""


def architectures(text):
    words = text.replace("sm_", "").split(",")
    if not all(w.isdigit() for w in words):
        raise argparse.ArgumentTypeError(f"'{text}': expected numbers of architectures, e.g. 80,90")
    return [int(w) for w in words]


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number above 0")
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu-static", description=ABOUT, epilog=END,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", type=architectures, default=[75, 80, 90, 100], metavar="LIST",
                        help="architectures to compile for (default: 75,80,90,100)")
    parser.add_argument("--kernels", default="*", metavar="PATTERN",
                        help="show and check these kernels alone, e.g. 'reduce: *' or '*<Add*'; 'reduce:' compiles one file alone")
    parser.add_argument("--limits", type=pathlib.Path, default=LIMITS, metavar="FILE", help="another file of limits")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gpu-static", metavar="FOLDER",
                        help="folder of the build; what it has is not compiled again (default: build/gpu-static)")
    parser.add_argument("--jobs", type=count, default=os.cpu_count(), metavar="N",
                        help="files that are compiled at once (default: one for each core)")
    parser.add_argument("--quiet", action="store_true", help="show what exceeds a limit, and no table")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", metavar="FILE", help="write the tables as a document; the figures of families are those of the "
                      "first architecture; - is standard output")
    form.add_argument("--json", metavar="FILE", help="write all figures of each kernel; - is standard output")
    return parser.parse_args(arguments)


def say(text):
    print(f"gpu-static: {text}", file=sys.stderr, flush=True)


def wants_file(pattern):
    """Whether a file's kernels may match the pattern."""
    file, colon, _ = pattern.partition(":")
    return lambda name: not colon or fnmatch.fnmatchcase(name, file)


def write_json(found, exceeded, args):
    text = json.dumps({"architectures": args.arch, "sass": table.has_sass(found), "kernels": found, "exceeded": exceeded}, indent=1)
    if args.json == "-":
        print(text)
    else:
        pathlib.Path(args.json).write_text(text + "\n")


def write_markdown(found, classes, args):
    text = document.tables(found, classes, args.arch, ROOT)
    if args.markdown == "-":
        print(text)
    else:
        pathlib.Path(args.markdown).write_text(text + "\n")


def write_tables(found, classes, args):
    for architecture in args.arch:
        print(f"sm_{architecture}\n{table.aligned(table.by_family(found, architecture))}\n")
    print(table.aligned(table.by_class(found, classes, args.arch)))


def complain(found, classes, exceeded, args):
    """Says what exceeds a limit, and which limits and kernels have nothing to do with each other."""
    for e in exceeded:
        say(f"sm_{e['architecture']}: {e['kernel']}: {e['figure']} {table.show(e['value'])}, but at most {e['maximum']} "
            f"for the class '{e['class']}'")
    for name in limits.without_class(found, classes):
        say(f"{name} is of no class of {args.limits}")
    for name in limits.without_kernel(found, classes) if args.kernels == "*" else []:
        say(f"no kernel is of the class '{name}' of {args.limits}")
    if not table.has_sass(found):
        say("there is no cuobjdump or no nvdisasm, so machine code is not read, and its limits are not checked; "
            "scripts/setup --cuda-tools installs both")


def run(args):
    classes = limits.read(args.limits)
    build.check_architectures(args.arch)
    pattern = args.kernels + ("*" if args.kernels.endswith(":") else "")
    folder = args.build.resolve()
    with build.alone_in(folder):
        objects = build.compile_kernels(ROOT, folder, args.arch, args.jobs, wants_file(args.kernels))
        found = [k for k in kernels.read(objects, args.jobs) if fnmatch.fnmatchcase(k["id"], pattern)]
    if not found:
        say(f"no kernel matches '{args.kernels}'")
        return WRONG_CALL
    exceeded = limits.exceeded(found, classes)
    if args.json:
        write_json(found, exceeded, args)
    elif args.markdown:
        write_markdown(found, classes, args)
    elif not args.quiet:
        write_tables(found, classes, args)
    complain(found, classes, exceeded, args)
    say(f"{len(found)} kernels for {', '.join(f'sm_{a}' for a in args.arch)}; limits exceeded: {len(exceeded)}")
    return EXCEEDED if exceeded else OK


def main(arguments=None):
    args = parse(arguments)
    if not tools.find("nvcc"):
        say("there is no nvcc, so nothing is compiled; it is looked for in the PATH, in $CUDA_PATH and in /usr/local/cuda")
        return NOTHING_DONE
    try:
        return run(args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (build.BuildError, kernels.ReadError) as e:
        say(str(e))
        return EXCEEDED
    except (build.ArchitectureError, limits.LimitsError) as e:
        say(str(e))
        return WRONG_CALL
