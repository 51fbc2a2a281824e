# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/torch-acceptance with small files, and with an apt-get, a cmake and tests that only pretend; nothing is fetched.

usage: torch_acceptance_test.py ROOT
"""

import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
from torch_acceptance import cases, command_line, manifest, mapping, programs, python_cases, source  # noqa: E402

CPP = "TEST_F(Fruit, Apple_CUDA) {\n}\nTEST_F(\n    Fruit,\n    Pear) {\n}\n// TEST(Not, Me)\n"
PYTHON = """
class Fruit(TestCase):
    def helper(self): pass
    @skip_if(True, "no")
    def test_apple(self): pass
    @only
    @dtypes(torch.float, torch.half)
    def test_pear(self, dtype): pass
"""
MANIFEST = 'version = "1.2"\n["a.cpp"]\n"Fruit.Apple_CUDA" = "pass"\n"Fruit.Pear" = "skip: it is ripe"\n' \
           '["b.py"]\n"Fruit.test_apple" = ["Tree.Grows", "Tree.Falls"]\n'
EXPECTED = [manifest.Expected("C++", "a.cpp", "Fruit.Apple_CUDA", "pass"),
            manifest.Expected("C++", "a.cpp", "Fruit.Pear", "skip", reason="it is ripe"),
            manifest.Expected("C++", "b.py", "Fruit.test_apple", "pass", ours=["Tree.Grows", "Tree.Falls"]),
            manifest.Expected("Python", "b.py", "Fruit.test_apple", "pass")]
FOUND = {"a.cpp": ["Fruit.Apple_CUDA", "Fruit.Pear"], "b.py": ["Fruit.test_apple"]}
RAN = {"Fruit.test_apple": "pass", "Fruit.Apple_CUDA": "pass", "Fruit.Pear": "skip", "Tree.Grows": "pass", "Tree.Falls": "pass"}


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, path, text, shell="/bin/sh"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{shell}\n{text}\n")
        path.chmod(0o755)
        return path

    def tarball(self, **files):
        path = self.folder / "pytorch.tar.xz"
        with tarfile.open(path, "w:xz") as archive:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        return path


class Cases(unittest.TestCase):
    def test_of_both_kinds_of_files(self):
        self.assertEqual(cases.of_cpp(CPP), ["Fruit.Apple_CUDA", "Fruit.Pear"])
        self.assertEqual(cases.of_python(PYTHON), ["Fruit.test_apple", "Fruit.test_pear_float", "Fruit.test_pear_half"])


class Manifest(Scratch):
    def read(self, text, language="C++"):
        path = self.folder / "manifest.toml"
        path.write_text(text)
        return manifest.read(path, language)

    def problems(self, found=FOUND, language="C++", **ran):
        ran = {key.replace("__", "."): value for key, value in ran.items()}
        return {o.case: (o.result, o.problem) for o in manifest.compare(EXPECTED, found, RAN | ran)
                if o.problem and o.language == language}

    def test_a_file(self):
        self.assertEqual(self.read(MANIFEST), ("1.2", EXPECTED[:3]))
        self.assertEqual(self.read('version = "1.2"\n["b.py"]\n"Fruit.test_apple" = "pass"', "Python"), ("1.2", EXPECTED[3:]))

    def test_what_is_wrong_is_named(self):
        for case, said in [('["a.cpp"]\n"Fruit.Apple" = "skip: "', "expected \"pass\""), ('["a.cpp"]\n"Fruit.Apple" = ["T.X"]', "expected \"pass\""),
                           ('["b.py"]\n"Fruit.t" = "pass"', "a list of tests of ours"), ('["b.py"]\n"Fruit.t" = []', "a list of tests of ours"),
                           ("", "a table for each file"), ("[[", "manifest.toml: ")]:
            with self.assertRaises(manifest.ManifestError) as caught:
                self.read(f'version = "1"\n{case}\n')
            self.assertIn(said, str(caught.exception))
        with self.assertRaises(manifest.ManifestError) as caught:
            self.read('version = "1"\n["b.py"]\n"Fruit.t" = ["T.X"]\n', "Python")
        self.assertIn('expected "pass"', str(caught.exception))
        with self.assertRaises(manifest.ManifestError):
            manifest.read(self.folder / "absent.toml", "C++")

    def test_a_run_as_expected(self):
        self.assertEqual(self.problems(), {})
        self.assertEqual([o.result for o in manifest.compare(EXPECTED, FOUND, RAN)], ["pass", "skip", "pass", "pass"])
        self.assertEqual(self.problems(Fruit__Pear="fail"), {})  # it may fail as well

    def test_a_case_that_changes(self):
        self.assertEqual(self.problems(Fruit__Apple_CUDA="fail"), {"Fruit.Apple_CUDA": ("fail", "it did not pass")})
        self.assertEqual(self.problems(Fruit__Apple_CUDA="skip"), {"Fruit.Apple_CUDA": ("skip", "it did not pass")})
        self.assertEqual(self.problems(Fruit__Pear="pass"), {"Fruit.Pear": ("pass", 'it passes now: enter it as "pass"')})
        self.assertEqual(self.problems(Tree__Falls="fail"), {"Fruit.test_apple": ("fail", "Tree.Falls: fail")})
        self.assertEqual(self.problems(Fruit__test_apple="fail"), {})  # of the other language
        self.assertEqual(self.problems(language="Python", Fruit__test_apple="fail"), {"Fruit.test_apple": ("fail", "it did not pass")})

    def test_a_case_or_a_test_that_is_missing(self):
        found = {"a.cpp": ["Fruit.Apple_CUDA"], "b.py": ["Fruit.test_apple", "Fruit.test_plum"]}
        self.assertEqual(self.problems(found), {"Fruit.Pear": ("absent", "a.cpp has no such case any more"),
                                                "Fruit.test_plum": ("absent", "the manifest does not know this case: enter it")})
        self.assertEqual(list(self.problems(found, "Python")), ["Fruit.test_plum"])
        absent = manifest.compare(EXPECTED, FOUND, {})
        self.assertEqual([o.problem for o in absent if o.file == "a.cpp" and o.case == "Fruit.Apple_CUDA"], ["it did not run"])
        self.assertEqual(absent[2].problem, "Tree.Grows: absent; Tree.Falls: absent")


class TheManifests(unittest.TestCase):
    def test_python_runs_the_cases_that_cpp_translates(self):
        version, expected = command_line.read_manifests(["C++", "Python"])
        self.assertEqual(version, "1.13.1")
        file = command_line.FILES["Python"]
        self.assertEqual([e.case for e in expected["Python"]], [e.case for e in expected["C++"] if e.file == file])
        self.assertGreaterEqual(sum(e.result == "pass" for e in expected["Python"]), 45)

    def test_names_tests_that_exist(self):
        _, of_language = command_line.read_manifests(["C++"])
        expected = of_language["C++"]
        self.assertEqual({file: sum(e.file == file for e in expected) for e in expected for file in [e.file]},
                         {"test/cpp/api/parallel.cpp": 9, "test/distributed/test_data_parallel.py": 46})
        exist = {name for path in (ROOT / "tests" / "libtorch").rglob("*_test.cpp") for name in cases.of_file(path)}
        named = {name for e in expected for name in [*e.ours, *re.findall(r"\b\w+Test\.\w+", e.reason)]}
        self.assertEqual(sorted(named - exist), [])
        self.assertGreater(len(named), 20)


class Programs(Scratch):
    def test_results_of_a_report(self):
        def test(name, **more):
            return {"name": name, "status": "RUN", "result": "COMPLETED", **more}

        report = {"testsuites": [{"name": "Fruit", "testsuite": [test("Apple"), test("Pear", result="SKIPPED"),
                                                                 test("Plum", failures=[{"failure": "sour"}]),
                                                                 test("Fig", status="NOTRUN", result="SUPPRESSED")]},
                                 {"name": "All/Tree", "testsuite": [test("Grows/0"), test("Grows/1", failures=[{}]), test("Falls/0")]}]}
        self.assertEqual(programs.results(report), {"Fruit.Apple": "pass", "Fruit.Pear": "skip", "Fruit.Plum": "fail",
                                                    "Tree.Grows": "fail", "Tree.Falls": "pass"})

    def test_a_crash_and_a_hang_are_failures(self):
        crash = self.program(self.folder / "crash", "echo bad; exit 139")
        self.assertEqual(programs.run(crash, ["A.B"], 20), ({"A.B": "fail"}, "bad\n\nended with 139, without a report"))
        hang = self.program(self.folder / "hang", "exec sleep 30")
        self.assertEqual(programs.run(hang, ["A.B"], 1), ({"A.B": "fail"}, "not finished after 1 s"))


class Mapping(unittest.TestCase):
    def test_devices_and_functions(self):
        for text, expected in [
                ("from torch.testing._internal.common_cuda import TEST_MULTIGPU, TEST_CUDA", "TEST_MULTIGPU = TEST_CUDA = True"),
                ("import dtypes, onlyCUDA, skipMeta\n    @onlyCUDA\n    @skipMeta", "import dtypes, skipMeta\n    @skipMeta"),
                ("import torch.nn.parallel as dp", "import tandem\nimport tandem.parallel as dp"),
                ("torch.nn.DataParallel(m); nn.DataParallel(m, [0]); dp.DataParallel(m)",
                 "tandem.DataParallel(m); tandem.DataParallel(m, [0]); tandem.DataParallel(m)"),
                ("torch.nn.parallel.replicate(m); nn.parallel.data_parallel(m, x); dp.scatter(x)",
                 "dp.replicate(m); dp.data_parallel(m, x); dp.scatter(x)"),
                ("'cuda', \"cuda:1\", 'a cuda'", "'tandem', \"tandem:1\", 'a cuda'"),
                ("x.cuda(0).is_cuda; torch.cuda.device(1)", "x.tandem(0).is_tandem; torch.tandem.device(1)"),
                ("from a.b import sandcastle_skip_if", "from unittest import skipIf as sandcastle_skip_if"),
                ("@torch.cuda.amp.autocast()", '@torch.autocast("tandem")'),
                ("instantiate_device_type_tests(T, globals())", 'instantiate_device_type_tests(T, globals(), only_for="tandem")'),
                ("created with nn\\.DataParallel\\(\\)", "created with nn\\.DataParallel\\(\\)")]:
            with self.subTest(text):
                self.assertEqual(mapping.mapped(text), expected)


class PythonCases(Scratch):
    """The program that runs the cases, with packages that only pretend."""

    def run_cases(self, text, names, timeout=20):
        build = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (build / "python").mkdir()
        (build / "python" / "tandem.py").write_text("import besides_torch\nconfigure_devices = register_devices = print\n")
        (build / "besides_torch.py").touch()
        (build / "CMakeCache.txt").write_text(f"A:BOOL=ON\nLIBTORCH_INCLUDE_DIR:PATH={build}/torch/include\n")
        cases_file = build / "cases.py"
        cases_file.write_text("import unittest\nclass Fruit(unittest.TestCase):\n" + text)
        return programs.run_python(build, cases_file, names, timeout)

    def test_what_cases_come_to(self):
        found, text = self.run_cases("    def test_apple(self): pass\n    def test_pear(self): self.assertEqual('sour', 'ripe')\n"
                                     "    def test_plum(self): raise KeyError('worm')\n"
                                     "    def test_fig(self): self.skipTest('none')\n", ["Fruit.test_apple", "Fruit.test_lost"])
        self.assertEqual(found, {"Fruit.test_apple": "pass", "Fruit.test_pear": "fail", "Fruit.test_plum": "fail",
                                 "Fruit.test_fig": "skip", "Fruit.test_lost": "fail"})
        self.assertIn("Fruit.test_plum: Traceback", text)
        self.assertIn("'sour' != 'ripe'", text)

    def test_a_crash_and_a_hang(self):
        before = "    def test_apple(self): pass\n    def test_pear(self): "
        names = ["Fruit.test_apple", "Fruit.test_pear"]
        for text, said in (("__import__('os')._exit(3)\n", "ended with 3"), ("__import__('time').sleep(30)\n", "not finished after 2 s")):
            with self.subTest(text):
                found, printed = self.run_cases(before + text, names, timeout=2)
                self.assertEqual(found, {"Fruit.test_apple": "pass", "Fruit.test_pear": "fail"})
                self.assertIn(said, printed)

    def test_names(self):
        class FruitPRIVATEUSE1(unittest.TestCase):
            def test_apple_tandem_float16(self): pass
            def test_pear(self): pass

        self.assertEqual([python_cases.case_name(FruitPRIVATEUSE1(name)) for name in ("test_apple_tandem_float16", "test_pear")],
                         ["Fruit.test_apple_half", "Fruit.test_pear"])


class Source(Scratch):
    def test_files_are_taken_out_and_kept(self):
        tarball = self.tarball(**{"pytorch-1.2/test/a.cpp": CPP, "pytorch-1.2/secret": "no"})
        cache = self.folder / "cache"
        kept = source.provide("1.2", ["test/a.cpp"], cache, "", tarball, 5)
        self.assertEqual([p.relative_to(cache).as_posix() for p in cache.rglob("*") if p.is_file()], ["pytorch-1.2/test/a.cpp"])
        tarball.unlink()
        self.assertEqual(source.provide("1.2", ["test/a.cpp"], cache, "", None, 5), kept)

    def test_another_source_is_refused(self):
        for tarball, said in [(self.tarball(**{"pytorch-1.3/test/a.cpp": CPP}), "the manifest is about PyTorch 1.2"),
                              (self.program(self.folder / "text", ""), "cannot be read as a tarball")]:
            with self.assertRaises(source.Unusable) as caught:
                source.provide("1.2", ["test/a.cpp"], self.folder / "cache", "", tarball, 5)
            self.assertIn(said, str(caught.exception))


class Command(Scratch):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def run_script(self, *arguments):
        environment = {"PATH": str(self.bin), "HOME": str(self.folder), "LANG": "C.UTF-8"}
        return subprocess.run([sys.executable, ROOT / "scripts" / "torch-acceptance", *arguments], capture_output=True, text=True,
                              timeout=50, env=environment, check=False)

    def pretend_tests(self, failing=""):
        """A cmake that builds nothing. The programs say of each test of their filter that it has passed, but for `failing`."""
        build = self.folder / "build"
        self.program(self.bin / "cmake", f"echo \"$@\" >> {self.folder}/cmake.log")
        build.mkdir()
        (build / "python").mkdir()
        (build / "python" / "tandem.py").write_text("configure_devices = register_devices = print\n")
        (build / "CMakeCache.txt").write_text(f"LIBTORCH_INCLUDE_DIR:PATH={self.folder}/packages/torch/include\n")
        test = f"""import json, sys
names = sys.argv[1].removeprefix("--gtest_filter=").split(":")[::3]
def test(n): return {{"name": n.split(".")[1], "status": "RUN", "result": "COMPLETED", **({{"failures": [1]}} if n == {failing!r} else {{}})}}
suites = [{{"name": n.split(".")[0], "testsuite": [test(n)]}} for n in names]
open(sys.argv[2].removeprefix("--gtest_output=json:"), "w").write(json.dumps({{"testsuites": suites}}))"""
        for place in programs.PLACES.values():
            self.program(build / place, test, sys.executable)

    def source_of_the_manifest(self):
        version, expected = command_line.read_manifests(["C++"])
        files = {}
        for e in expected["C++"]:
            suite, case = e.case.split(".")
            files.setdefault(e.file, {}).setdefault(suite, []).append(case)
        texts = {}
        for file, suites in files.items():
            if file.endswith(".cpp"):
                lines = [f"TEST_F({suite}, {case}) {{}}" for suite, of_suite in suites.items() for case in of_suite]
            else:
                lines = ["import unittest"]
                for suite, of_suite in suites.items():
                    lines += [f"class {suite}(unittest.TestCase):", *(f"  def {case}(self): pass" for case in of_suite)]
            texts[f"pytorch-{version}/{file}"] = "\n".join(lines)
        return self.tarball(**texts)

    def test_help_and_wrong_calls(self):
        done = self.run_script("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ("--json", "--language", "--source", "--build", "exit status"):
            self.assertIn(option, done.stdout)
        for arguments, said in [(["--timeout", "0"], "'0': expected a number above 0"), (["--fast"], "--fast")]:
            done = self.run_script(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_nothing_is_done_where_nothing_can_be_fetched(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("there is no apt-get", done.stderr)
        if source.KEYRING.exists():
            self.program(self.bin / "apt-get", "echo 'E: Failed to fetch, no network'; exit 100")
            done = self.run_script()
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("nothing is done", done.stderr)
            self.assertIn("E: Failed to fetch, no network", done.stderr)

    def test_all_cases_as_expected(self):
        self.pretend_tests()
        done = self.run_script("--source", self.source_of_the_manifest(), "--build", self.folder / "build", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["counts"]["fail"] + report["counts"]["absent"], 0)
        self.assertEqual(len(report["cases"]), 101)

    def test_one_language_alone(self):
        self.pretend_tests(failing="ParallelTest.Replicate_MultiCUDA")
        done = self.run_script("--source", self.source_of_the_manifest(), "--build", self.folder / "build", "--language", "Python")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("46 cases, 46 pass", done.stdout)
        calls = (self.folder / "cmake.log").read_text()
        self.assertIn("TANDEM_PYTHON=ON", calls)
        self.assertNotIn("libtorch_test", calls)

    def test_a_case_that_fails(self):
        self.pretend_tests(failing="ParallelTest.Replicate_MultiCUDA")
        done = self.run_script("--source", self.source_of_the_manifest(), "--build", self.folder / "build")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("DIFFERS fail   C++    test/cpp/api/parallel.cpp: ParallelTest.Replicate_MultiCUDA (it did not pass)", done.stdout)

    def test_a_build_that_fails(self):
        self.program(self.bin / "cmake", "echo 'there is no PyTorch'; exit 1")
        done = self.run_script("--source", self.source_of_the_manifest(), "--build", self.folder / "build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no PyTorch", done.stderr)


if __name__ == "__main__":
    unittest.main()
