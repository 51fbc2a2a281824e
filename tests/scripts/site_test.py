# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/site that need neither Sphinx nor Doxygen: site_test.py SCRIPTS"""

import ast
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SCRIPTS))

from site_pages import cpp_api, gallery, links, python_api, stage  # noqa: E402

INDEX = """# Documents

## If you use tandem

| [README](../README.md) | start |
| [Types](types.md) | types |

## If you teach or learn

| [Types](types.md#half) | types again |
| [Decisions](adr/README.md) | why |

## If you contribute, or want figures

| [Notes](../NOTES.md) | notes |
"""


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class StageTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.write("README.md", "# tandem\n")
        self.write("NOTES.md", "# Notes\n")
        self.write("docs/README.md", INDEX)
        self.write("docs/types.md", "# Types\n")
        self.write("docs/report.html", "<p></p>")
        self.write("docs/adr/README.md", "# Decisions\n")
        self.write("src/step.cpp", "int f() { return 1; }\n")
        self.stage = stage.Stage(self.root, self.root / "made")

    def test_a_document_is_in_the_first_book_that_names_it(self):
        self.assertEqual(self.stage.books(), {"Use": ["README.md", "docs/types.md"], "Learn": ["docs/adr/README.md"], "Contribute": ["NOTES.md"]})

    def test_links_lead_to_pages(self):
        for link, followed in (("[a](../README.md)", "[a](../index.md)"), ("[a](adr/)", "[a](adr/README.md)"),
                               ("[a](types.md#half)", "[a](types.md#half)"), ("[a](#here)", "[a](#here)"),
                               ("[a](https://pytorch.org/x)", "[a](https://pytorch.org/x)"),
                               ("[a](report.html)", '<a href="report.html">a</a>'), ("![a](p.png)", "![a](p.png)"),
                               ("[a](../src/step.cpp)", "[a](../src/step.cpp.md)")):
            self.assertEqual(self.stage.followed("docs/x.md", link), followed)
        self.assertEqual(self.stage.copied, {"docs/report.html"})
        self.assertEqual(self.stage.pictures, {"docs/p.png"})
        self.assertIn("```cpp\nint f()", self.stage.shown["src/step.cpp"])

    def test_what_looks_like_a_link_in_code_stays(self):
        code = "```cpp\nauto f = [x](README.md);\n```"
        self.assertEqual(self.stage.followed("docs/x.md", code), code)

    def test_a_book_without_a_heading_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no heading 'If you cook'"):
            stage.section(INDEX, "If you cook")

    def test_a_fence_is_longer_than_those_in_it(self):
        self.assertEqual(stage.fence("```sh\nls\n```", "text"), "````text\n```sh\nls\n```\n````\n")


class LinksTest(FolderTest):
    def test_links_that_lead_nowhere_are_named(self):
        self.write("index.html", '<a href="a/b.html#there">1</a><a href="a/b.html#gone">2</a><img src="no.png">'
                   '<a href="https://pytorch.org">3</a><a href="#top">4</a><h1 id="top"></h1>')
        self.write("a/b.html", '<h2 id="there"></h2><a href="../index.html">5</a>')
        faults, followed = links.broken(self.root)
        self.assertEqual(followed, 5)
        self.assertEqual([(str(page), link) for page, link, _ in faults], [("index.html", "a/b.html#gone"), ("index.html", "no.png")])


class PythonTest(unittest.TestCase):
    def entry(self, source):
        return python_api.entry("f", ast.parse(source).body[0])

    def test_a_table_of_arguments_becomes_a_list(self):
        made = self.entry('def f(a: int, b: str = "x") -> None:\n    """Does it.\n\n    a     how often\n          it is done\n    b, c  a word\n    """')
        self.assertIn("{py:function} f(a: int, b: str='x') -> None", made)
        self.assertIn("- `a`: how often it is done\n- `b, c`: a word", made)

    def test_a_class_shows_its_public_methods_without_self(self):
        made = self.entry("class f(Base):\n    def __init__(self, n: int) -> None: ...\n    def go(self, x: int) -> int: ...\n"
                          "    def _hidden(self) -> None: ...\n    @property\n    def rows(self) -> int: ...")
        self.assertIn("{py:class} f(n: int)\n", made)
        self.assertIn("{py:method} go(x: int) -> int", made)
        self.assertIn("{py:property} rows\n\n:type: int", made)
        self.assertNotIn("_hidden", made)

    def test_all_public_names_of_the_package_are_declared(self):
        root = SCRIPTS.parent
        for module in python_api.MODULES:
            tree = ast.parse(python_api.file_of(root, module).read_text(encoding="utf-8"))
            for name in python_api.public(tree):
                self.assertTrue(python_api.doc(python_api.declaration(root, module, name)) or name, name)


class CppTest(unittest.TestCase):
    def test_a_comment_becomes_markdown(self):
        node = ElementTree.fromstring(
            "<memberdef kind='function' static='no'><type>void</type><name>f</name><argsstring>(const Tensor &amp;x)</argsstring>"
            "<briefdescription><para>Sums a_b. </para></briefdescription><detaileddescription><para>Needs <computeroutput>x</computeroutput>."
            "<parameterlist kind='exception'><parameteritem><parameternamelist><parametername>Timeout</parametername></parameternamelist>"
            "<parameterdescription><para>late</para></parameterdescription></parameteritem></parameterlist></para>"
            "</detaileddescription></memberdef>")
        self.assertEqual("".join(cpp_api.entries([node])),
                         "```cpp\nvoid f(const Tensor& x);\n```\n\nSums a\\_b.\n\nNeeds `x`.\n\n**Throws:**\n\n- `Timeout`: late\n\n")

    def test_declarations_are_written_as_in_the_headers(self):
        for doxygen, ours in (("std::span< const Kind > kinds", "std::span<const Kind> kinds"),
                              ("std::vector< std::pair< int, Tensor > > f(T &&x)", "std::vector<std::pair<int, Tensor>> f(T&& x)"),
                              ("bool operator<(const A &a)", "bool operator<(const A& a)")):
            self.assertEqual(cpp_api.tidy(doxygen), ours)


class GalleryTest(unittest.TestCase):
    def test_each_example_in_the_list_prints_something(self):
        made = stage.Stage(SCRIPTS.parent, pathlib.Path("unused"))
        made.followed(gallery.LIST, made.read(gallery.LIST))
        self.assertGreaterEqual(len(list(gallery.example_cards(made))), 15)


if __name__ == "__main__":
    unittest.main()
