#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows for each rule of lint.py a sample that it refuses and one that it takes."""

import contextlib
import io
import os
import tempfile
import unittest

import documents
import lint

HEAD = "// SPDX-FileCopyrightText: 2026 The tandem authors\n// SPDX-License-Identifier: Apache-2.0\n"
SCRIPT_HEAD = HEAD.replace("//", "#")
HEADER = HEAD + "#pragma once\n"


def lint_files(files):
    """[(rule, path, line)] for {path: text}, written into a tree of their own."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return [(rule, path, line) for path, line, rule, _ in lint.violations(lint.read_tree(root))]


class Lint(unittest.TestCase):
    def refuses(self, rule, path, text, line):
        self.assertEqual(lint_files({path: text}), [(rule, path, line)])

    def takes(self, path, text):
        self.assertEqual(lint_files({path: text}), [])


class Arrows(Lint):
    def test_upward_include(self):
        self.refuses("arrows", "include/tandem/tensor/a.hpp", HEADER + '#include "tandem/ops/b.hpp"\n', 4)
        self.refuses("arrows", "src/core/a.cpp", HEAD + '#include "tandem/runtime/b.hpp"\n', 3)

    def test_siblings(self):
        self.refuses("arrows", "src/optim/a.cpp", HEAD + '#include "tandem/nn/b.hpp"\n', 3)

    def test_private_header_of_a_higher_layer(self):
        self.refuses("arrows", "src/io/a.cpp", HEAD + '#include "data/b.hpp"\n', 3)

    def test_layer_umbrella(self):
        self.refuses("arrows", "src/tensor/a.cpp", HEAD + '#include "tandem/autograd.hpp"\n', 3)
        self.refuses("arrows", "include/tandem/tensor.hpp", HEADER + '#include "tandem/nn/linear.hpp"\n', 4)

    def test_whole_umbrella_inside_the_library(self):
        self.refuses("arrows", "src/nn/a.cpp", HEAD + '#include "tandem/tandem.hpp"\n', 3)

    def test_parent_folder(self):
        self.refuses("arrows", "src/nn/a.cpp", HEAD + '#include "../ops/b.hpp"\n', 3)

    def test_unknown_layer(self):
        self.refuses("arrows", "src/misc/a.cpp", HEAD, 1)

    def test_kernels_know_no_tensor(self):
        self.refuses("arrows", "src/kernels/a.cpp", HEAD + '#include "tandem/tensor/tensor.hpp"\n', 3)

    def test_kernels_are_called_from_sources_above_the_runtime(self):
        self.refuses("arrows", "src/runtime/a.cpp", HEAD + '#include "kernels/b.hpp"\n', 3)
        self.takes("src/tensor/a.cpp", HEAD + '#include "kernels/b.hpp"\n')

    def test_no_public_header_shows_a_kernel(self):
        found = lint_files({"include/tandem/ops/a.hpp": HEADER + '#include "kernels/b.hpp"\n'})
        self.assertIn(("arrows", "include/tandem/ops/a.hpp", 4), found)

    def test_allowed(self):
        self.takes("src/train/a.cpp", HEAD + '#include "tandem/core/shape.hpp"\n#include "tandem/data/b.hpp"\n')
        self.takes("src/kernels/a.cpp", HEAD + '#include "kernels/b.hpp"\n#include "tandem/runtime/c.hpp"\n')
        self.takes("src/ops/a.cpp", HEAD + '#include "ops/b.hpp"\n#include "b.inl"\n#include "tandem/config.hpp"\n')
        self.takes("include/tandem/tandem.hpp", HEADER + '#include "tandem/train/b.hpp"\n')



class Forward(Lint):
    TYPE = {"include/tandem/autograd/b.hpp": HEADER + "namespace tandem::autograd {\nclass Tape {};\n}\n"}

    def declares(self, path, text):
        found = lint_files(self.TYPE | {path: HEADER + text})
        return [(rule, line) for rule, where, line in found if where == path and rule == "forward"]

    def test_a_type_of_a_higher_layer(self):
        text = "namespace tandem {\nnamespace autograd {\nclass Tape;\n}\n}\n"
        self.assertEqual(self.declares("include/tandem/runtime/a.hpp", text), [("forward", 6)])
        self.assertEqual(self.declares("src/runtime/a.hpp", text), [("forward", 6)])

    def test_a_type_of_a_lower_layer_or_of_its_own(self):
        text = "namespace tandem::autograd {\nclass Tape;  // autograd/b.hpp\n}\n"
        self.assertEqual(self.declares("include/tandem/ops/a.hpp", text), [])
        self.assertEqual(self.declares("include/tandem/autograd/a.hpp", text), [])

    def test_a_type_of_the_same_name_elsewhere(self):
        self.assertEqual(self.declares("include/tandem/runtime/a.hpp", "namespace tandem {\nclass Tape;\n}\n"), [])

    def test_types_in_classes_and_of_other_libraries(self):
        text = "struct CUstream_st;\nnamespace tandem::autograd {\nclass A {\n  class Tape;\n};\n}\n"
        self.assertEqual(self.declares("include/tandem/runtime/a.hpp", text), [])


class PublicHeaders(Lint):
    PATH = "include/tandem/core/a.hpp"

    def test_conditional(self):
        self.refuses("conditional", self.PATH, HEADER + "#if defined(TANDEM_CUDA)\n#endif\n", 4)
        self.refuses("conditional", self.PATH, HEADER + "#  ifdef X\n#endif\n", 4)

    def test_host_device_macro_is_the_exception(self):
        definition = "#ifdef __CUDACC__\n#define TANDEM_HD __host__ __device__\n#else\n#define TANDEM_HD\n#endif\n"
        self.takes(self.PATH, HEADER + definition)
        found = lint_files({self.PATH: HEADER + definition.replace("#else", "int x;\n#else")})
        self.assertEqual([rule for rule, _, _ in found], ["conditional", "conditional"])

    def test_cuda_header(self):
        self.refuses("cuda-header", self.PATH, HEADER + "#include <cuda_runtime.h>\n", 4)
        self.refuses("cuda-header", self.PATH, HEADER + '#include "nccl.h"\n', 4)

    def test_torch_header(self):
        self.refuses("torch-header", "src/optim/a.cpp", HEAD + "#include <ATen/ATen.h>\n", 3)
        self.takes("src/libtorch/device/a.cpp", HEAD + "#include <ATen/ATen.h>\n")

    def test_foreign_header(self):
        self.refuses("foreign-header", self.PATH, HEADER + "#include <tbb/task_arena.h>\n", 4)
        self.refuses("foreign-header", self.PATH, HEADER + "#include <zlib.h>\n", 4)
        self.refuses("foreign-header", self.PATH, HEADER + '#include "shape.hpp"\n', 4)
        self.takes(self.PATH, HEADER + "#include <source_location>\n")

    def test_pragma_once(self):
        self.refuses("pragma-once", self.PATH, HEAD, 1)


class Umbrella(Lint):
    UMBRELLA, A, B = "include/tandem/tandem.hpp", "include/tandem/core/a.hpp", "include/tandem/core/b.hpp"
    LEFT_OUT = "include/" + next(iter(lint.NOT_IN_UMBRELLA))

    def test_header_that_is_not_reached(self):
        files = {self.UMBRELLA: HEADER + '#include "tandem/core/a.hpp"\n', self.A: HEADER, self.B: HEADER}
        self.assertEqual(lint_files(files), [("umbrella", self.B, 1)])
        files[self.A] = HEADER + '#include "tandem/core/b.hpp"\n'
        self.assertEqual(lint_files(files), [])

    def test_header_that_is_left_out_on_purpose(self):
        files = {self.UMBRELLA: HEADER, self.LEFT_OUT: HEADER}
        self.assertEqual(lint_files(files), [])
        files[self.UMBRELLA] += f'#include "{self.LEFT_OUT[len("include/"):]}"\n'
        self.assertEqual(lint_files(files), [("umbrella", self.LEFT_OUT, 1)])


class Folders(Lint):
    def test_upward_include(self):
        self.refuses("folders", "src/parallel/plan/a.cpp", HEAD + '#include "parallel/replicas/b.hpp"\n', 3)
        self.takes("src/parallel/replicas/step/a.cpp", HEAD + '#include "parallel/plan/b.hpp"\n#include "parallel/replicas/call/c.hpp"\n')
        self.refuses("folders", "src/parallel/replicas/call/a.cpp", HEAD + '#include "parallel/replicas/step/b.hpp"\n', 3)

    def test_public_header_of_an_upper_folder(self):
        files = {"src/sim/step/b.cpp": HEAD, "src/sim/machine/a.cpp": HEAD + '#include "tandem/sim/b.hpp"\n'}
        self.assertEqual(lint_files(files), [("folders", "src/sim/machine/a.cpp", 3)])

    def test_upward_include_of_a_public_header(self):
        files = {"src/sim/step/b.cpp": HEAD, "src/sim/machine/a.cpp": HEAD,
                 "include/tandem/sim/a.hpp": HEADER + '#include "tandem/sim/b.hpp"\n', "include/tandem/sim/b.hpp": HEADER,
                 "include/tandem/tandem.hpp": HEADER + '#include "tandem/sim/a.hpp"\n'}
        self.assertEqual(lint_files(files), [("folders", "include/tandem/sim/a.hpp", 4)])

    def test_unknown_folder(self):
        self.refuses("folders", "src/parallel/misc/a.cpp", HEAD, 1)
        self.refuses("folders", "src/parallel/a.cpp", HEAD, 1)


class UnnamedNamespaces(Lint):
    A, B = "src/core/a.cpp", "src/core/b.cpp"

    def both(self, a, b):
        wrap = lambda text: HEAD + "namespace {\n" + text + "\n}  // namespace\n"
        return lint_files({self.A: wrap(a), self.B: wrap(b)})

    def test_a_name_that_two_files_of_a_folder_have(self):
        for text in ("constexpr int kMany = 3;", "const std::vector<int> kAll{1, 2};", "struct Part {\n};",
                     "int half(int x) {\n  return x / 2;\n}"):
            self.assertEqual(self.both(text, text), [("unnamed", self.B, 4)], text)

    def test_overloads_declarations_and_aliases(self):
        self.assertEqual(self.both("int half(int x) {\n}", "int half(long x) {\n}"), [])
        self.assertEqual(self.both("class Part;", "class Part;"), [])
        self.assertEqual(self.both("using Kind = int;", "using Kind = int;"), [])

    def test_other_folders_and_other_namespaces(self):
        text = HEAD + "namespace {\nconstexpr int kMany = 3;\n}\n"
        self.assertEqual(lint_files({self.A: text, "src/tensor/b.cpp": text}), [])
        named = text.replace("namespace {", "namespace b {")
        self.assertEqual(lint_files({self.A: text, self.B: named}), [])


class Pairs(Lint):
    PART = HEADER + """
namespace tandem {
int half(int x, const Options& options = {});
class Part {
 public:
  Part(int size = 1);
  int size() const;
};
}
"""

    def found(self, source, text):
        text = HEAD + "namespace tandem {\n" + text + "\n}\n"
        return lint_files({"include/tandem/core/part.hpp": self.PART, source: text})

    def test_a_function_in_a_source_of_another_name(self):
        for text in ("int half(int all, const Options& o) {\n}", "Part::Part(int n) : size_{n} {\n}", "int Part::size() const {\n}"):
            with self.subTest(text):
                self.assertEqual(self.found("src/core/parts.cpp", text), [("pair", "src/core/parts.cpp", 4)])
                self.assertEqual(self.found("src/core/part.cpp", text), [])

    def test_overloads_and_private_names(self):
        for text in ("int half(long x) {\n}", "namespace {\nint half(int x, const Options& o) {\n}\n}", "int Other::size() const {\n}",
                     "int half(int x, const Options& o);", "namespace b {\nint half(int x, const Options& o) {\n}\n}"):
            with self.subTest(text):
                self.assertEqual(self.found("src/core/parts.cpp", text), [])

    def test_other_layers(self):
        self.assertEqual(self.found("src/cli/parts.cpp", "int Part::size() const {\n}"), [])


class Families(Lint):
    HEADER, SOURCE, TEST = "include/tandem/ops/a.hpp", "src/ops/a.cpp", "tests/ops/a_test.cpp"

    def test_a_header_without_a_source_or_a_test(self):
        files = {self.HEADER: HEADER, self.SOURCE: HEAD, self.TEST: HEAD}
        self.assertEqual(lint_files(files), [])
        for missing in (self.SOURCE, self.TEST):
            self.assertEqual(lint_files({path: text for path, text in files.items() if path != missing}), [("family", self.HEADER, 1)])
        files["tests/ops/several_test.cpp"] = HEAD
        self.assertEqual(lint_files(files), [])

    def test_a_kernel_of_another_name(self):
        self.refuses("family", self.SOURCE, HEAD + '#include "kernels/b.hpp"\n', 3)
        self.takes(self.SOURCE, HEAD + '#include "kernels/a.hpp"\n#include "kernels/view.hpp"\n')
        self.assertEqual(lint_files({self.SOURCE: HEAD + '#include "kernels/b.hpp"\n', "src/ops/b.cpp": HEAD}), [])

    def test_a_kernel_of_one_backend(self):
        files = {"src/kernels/a.cu": HEAD, "src/kernels/a.cpp": HEAD}
        self.assertEqual(lint_files(files), [("family", "src/kernels/a.cu", 1)])
        files["src/kernels/a.hpp"] = HEADER
        self.assertEqual(lint_files(files), [])


class SourceLists(Lint):
    def test_order(self):
        self.refuses("order", "src/core/CMakeLists.txt", "\ntarget_sources(tandem PRIVATE b.cpp\n  a.cpp)\n", 2)
        self.refuses("order", "src/core/CMakeLists.txt", "set(headers b a)\n", 1)
        self.takes("src/core/CMakeLists.txt", "target_sources(tandem PRIVATE a.cpp b.cpp)\nset(headers a b)\n")


class Root(Lint):
    def test_a_file_by_accident(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("README.md", "build", "build-old", "src.txt"):
                os.makedirs(os.path.join(root, name))
            self.assertEqual([name for name, _, _, _ in lint.check_root(root)], ["src.txt"])


class Documents(unittest.TestCase):
    ARROWS = {"core": [], "io": ["core"], "nn": ["core"], "cli": ["io", "nn"]}
    PAGE = ["# Architecture", "```", "cli ───► io,      the program", "         nn", "io, nn ► core    files / modules", "core             errors",
            "kernels (src only) ► core  sizes", "```"]

    def layers(self, page):
        return [text for _, _, _, text in documents.check_layers({"docs/architecture.md": page}, self.ARROWS, ("kernels", {"core", "kernels"}))]

    def test_drawn_layers_are_those_of_the_arrows(self):
        self.assertEqual(self.layers(self.PAGE), [])
        self.assertEqual(self.layers([*self.PAGE[:4], "io, nn ► core, cli  files", *self.PAGE[5:]]),
                         ["io may include cli, core here, but core by ARROWS of tree.py", "nn may include cli, core here, but core by ARROWS of tree.py"])
        self.assertIn("cli may include io here, but io, nn by ARROWS of tree.py", self.layers([*self.PAGE[:3], *self.PAGE[4:]]))
        self.assertIn("core may include io here, but nothing by ARROWS of tree.py", self.layers([*self.PAGE[:5], "core ► io  errors", *self.PAGE[6:]]))
        self.assertEqual(self.layers([*self.PAGE[:6], *self.PAGE[7:]]), ["the layer 'kernels' of ARROWS of tree.py is not drawn"])
        self.assertEqual(self.layers([*self.PAGE[:6], "net ► core", *self.PAGE[6:]]), ["'net' is no layer; ARROWS of tree.py has core, io, nn, cli, kernels"])

    def test_links_and_words(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "docs"))
            texts = {"README.md": "[a](docs/a.md#one-two) [b](https://x.y/z) [c](docs/b.md)\n" + "word " * 997,
                     "docs/a.md": "# One, `two`\n[up](../README.md#none)\n[own](#one-two)\n"}
            for path, text in texts.items():
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual([(path, line, rule) for path, line, rule, _ in documents.violations(root, {}, ("kernels", []))],
                             [("README.md", 1, "links"), ("docs/a.md", 2, "links")])
            with open(os.path.join(root, "README.md"), "a", encoding="utf-8") as file:
                file.write("one more")
            self.assertIn(("README.md", "readme"), [(path, rule) for path, _, rule, _ in documents.violations(root, {}, ("kernels", []))])


class Sources(Lint):
    def test_backend_conditional(self):
        self.refuses("conditional", "src/ops/a.cpp", HEAD + "#ifdef TANDEM_HAS_CUDA\n#endif\n", 3)
        self.takes("src/kernels/a.cpp", HEAD + "#ifdef __AVX512F__\n#endif\n")
        self.takes("src/kernels/a.hpp", HEAD + "#ifdef __CUDACC__\n#define TANDEM_HD __device__\n#endif\n")

    def test_global_mutex(self):
        for code in ["std::mutex m;", "std::shared_mutex m[4];", "thread_local std::mutex m;", "std::mutex m{};"]:
            with self.subTest(code):
                self.refuses("mutex", "src/core/a.cpp", HEAD + "namespace tandem {\nnamespace {\n" + code + "\n}\n}\n", 5)

    def test_static_mutex(self):
        self.refuses("mutex", "src/core/a.cpp", HEAD + "void f() {\n  g();\n  static std::mutex m;\n}\n", 5)
        self.refuses("mutex", "src/core/a.cpp", HEAD + "struct S {\n public:\n  inline static std::recursive_mutex m;\n};\n", 4)

    def test_member_and_local_mutexes(self):
        self.takes("src/core/a.cpp", HEAD + """
// std::mutex of_a_comment;
const char* text = "std::mutex m;";
namespace tandem {
class Queue {
 public:
  void push() { std::lock_guard<std::mutex> lock(mutex_); }
  static void lock(std::mutex& mutex);

 private:
  mutable std::mutex mutex_;
};
template <class T>
struct Box { std::mutex m; };
void f() { std::mutex m; }
}  // namespace tandem
""")

    def test_name(self):
        self.refuses("name", "src/core/string_utils.cpp", HEAD, 1)
        self.refuses("name", "src/core/Manager.cpp", HEAD, 1)
        self.refuses("name", "tests/helpers/a.cpp", HEAD, 1)
        self.takes("src/core/utility_function.cpp", HEAD)

    def test_head(self):
        self.refuses("spdx", "src/core/a.cpp", "int x;\n", 1)
        self.refuses("spdx", "scripts/a", "#!/bin/bash\nset -e\n", 1)
        self.refuses("spdx", "bench/a.py", "import os\n", 1)
        self.takes("scripts/a", "#!/bin/bash\n" + SCRIPT_HEAD)
        self.takes("tests/cases/__init__.py", "")

    def test_length(self):
        self.takes("src/core/a.cpp", HEAD + "\n" * 398)
        self.refuses("length", "src/core/a.cpp", HEAD + "\n" * 399, 401)
        self.takes("tests/core/a.cpp", HEAD + "\n" * 498)
        self.refuses("length", "tests/core/a.cpp", HEAD + "\n" * 499, 501)
        self.refuses("length", "CMakeLists.txt", "\n" * 401, 401)
        self.takes("tests/data/table.txt", "1\n" * 9999)

    def test_function_length(self):
        def function(head, lines):
            return HEAD + "namespace tandem {\n" + head + " {\n" + "  g();\n" * (lines - 2) + "}\n}\n"

        for head in ["void f()", "A::A(int x) : x_{x}, y_{x}", "struct S { int g(); };\nauto f() -> S"]:
            line = 4 + head.count("\n")
            with self.subTest(head):
                self.takes("src/core/a.cpp", function(head, 50))
                self.refuses("function-length", "src/core/a.cpp", function(head, 51), line)
        self.takes("src/core/a.cpp", HEAD + "const int table[] = {\n" + "  1,\n" * 60 + "};\n")
        self.takes("src/core/a.hpp", HEAD + "class A {\n" + "  int f();\n" * 60 + "};\n")

    def test_open_item(self):
        word = "TO" + "DO"
        self.refuses("todo", "src/core/a.cpp", HEAD + f"// {word}: later\n", 3)
        self.refuses("todo", "cmake/A.cmake", f"# {word}(me): later\n", 1)
        self.takes("src/core/a.cpp", HEAD + f"// {word}(#12): later\n")


class Report(unittest.TestCase):
    def run_main(self, root):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return lint.main([root]), output.getvalue()

    def test_sizes_and_exit_status(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src/core"))
            for index in range(12):
                with open(os.path.join(root, f"src/core/f{index}.cpp"), "w", encoding="utf-8") as file:
                    file.write(HEAD + "\n" * index)
            status, output = self.run_main(root)
            self.assertEqual(status, 0)
            self.assertIn("    13 src/core/f11.cpp", output)
            self.assertNotIn("f1.cpp", output)
            self.assertIn("    90 lines in 12 files, 0 violations", output)

            with open(os.path.join(root, "src/core/utils.cpp"), "w", encoding="utf-8") as file:
                file.write(HEAD)
            status, output = self.run_main(root)
            self.assertEqual(status, 1)
            self.assertIn("src/core/utils.cpp:1: [name]", output)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(self.run_main(root)[0], 2)


if __name__ == "__main__":
    unittest.main()
