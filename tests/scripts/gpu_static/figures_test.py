#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows what scripts/gpu-static reads of ptxas and of machine code, over the kernels of samples.cu.

usage: figures_test.py FOLDER-OF-SCRIPTS
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))

from gpu_static import kernels, names, ptxas, sass, tools  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SAID, ASSEMBLY = (HERE / "samples.ptxas").read_text(), (HERE / "samples.sass").read_text()


def by_name(found):
    return {k["name"]: k for k in found}


class Ptxas(unittest.TestCase):
    def test_figures_of_samples(self):
        found = by_name(kernels.join("samples", SAID, None))
        self.assertEqual(sorted(found), ["copy", "divide", "each<f32, Halve<f32>>", "each<f64, Halve<f64>>", "lookup", "mean"])
        self.assertEqual((found["lookup"]["registers"], found["lookup"]["stack"]), (10, 256))
        self.assertEqual((found["mean"]["shared"], found["mean"]["stack"]), (256, 0))
        self.assertTrue(all(k["architecture"] == 80 and k["spills"] == 0 for k in found.values()))
        self.assertNotIn("f64", found["mean"])

    def test_spills_and_what_a_called_function_has_on_the_stack(self):
        text = """\
ptxas info    : Compiling entry function '_Z1av' for 'sm_90a'
ptxas info    : Function properties for _Z1av
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 4096 bytes smem, 400 bytes cmem[0]
ptxas info    : Function properties for _Z5otherv
    32 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
"""
        self.assertEqual(ptxas.read(text), {(90, "_Z1av"): {"registers": 255, "stack": 48, "spills": 24, "shared": 4096}})

    def test_several_architectures_of_one_object(self):
        text = "".join(f"ptxas info    : Compiling entry function '_Z1av' for 'sm_{a}'\nptxas info    : Used {a} registers\n"
                       for a in (80, 100))
        self.assertEqual({a: k["registers"] for (a, _), k in ptxas.read(text).items()}, {80: 80, 100: 100})


class Sass(unittest.TestCase):
    def setUp(self):
        self.found = by_name(kernels.join("samples", SAID, ASSEMBLY))

    def check(self, name, **wanted):
        self.assertEqual({figure: self.found[name][figure] for figure in wanted}, wanted)

    def test_an_element_a_thread(self):
        self.check("each<f32, Halve<f32>>", loads=1, load_bytes=4, stores=1, store_bytes=4, elements=1, f64=0, loop=False)
        self.check("each<f64, Halve<f64>>", load_bytes=8, store_bytes=8, elements=1, f64=1)

    def test_a_vector_has_several_elements(self):
        self.check("copy", loads=1, load_bytes=16, stores=1, store_bytes=16, elements=4, in_flight=16)

    def test_divisions_of_integers(self):
        self.check("divide", div_i64=1, div_i32=1, div_f32=0, div_f64=0, in_flight=16)
        self.assertGreater(ASSEMBLY.count("\n"), 100 + self.found["divide"]["code"])  # the slow way of 64 bits is not counted

    def test_a_stack_is_loaded_and_stored(self):
        self.check("lookup", local_bytes=8, loads=1, stores=1)

    def test_the_loop_that_reads_is_what_an_element_goes_through(self):
        self.check("mean", loop=True, loads=1, stores=0, elements=1, f64=0, div_f64=0)
        self.assertLess(self.found["mean"]["instructions"], self.found["mean"]["code"] / 4)

    def test_the_lines_of_codes_are_no_instructions(self):
        raw = """\
\tcode for sm_90
\t\tFunction : _Z1av
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/              @!P0 LDG.E.U16 R2, desc[UR4][R2.64] ;     /* 0x0000000402028981 */
                                                                        /* 0x000ea2000c1e1500 */
        /*0010*/                   MUFU.RCP R3, R2 ;                    /* 0x0000000200037308 */
                                                                        /* 0x004e240000001000 */
        /*0020*/                   RED.E.ADD.F64.RN.STRONG.GPU desc[UR4][R4.64], R6 ;  /* 0x0000000604007f8e */
                                                                        /* 0x001fe2000c10ff84 */
        /*0030*/                   EXIT ;                               /* 0x000000000000794d */
                                                                        /* 0x000fea0003800000 */
        /*0040*/                   BRA 0x40;                            /* 0xfffffffc00fc7947 */
                                                                        /* 0x000fc0000383ffff */
"""
        self.assertEqual(list(sass.read(raw)), [(90, "_Z1av")])
        counted = sass.read(raw)[90, "_Z1av"]
        self.assertEqual({f: counted[f] for f in ("code", "loads", "load_bytes", "stores", "store_bytes", "div_f32", "loop")},
                         {"code": 4, "loads": 1, "load_bytes": 2, "stores": 1, "store_bytes": 8, "div_f32": 1, "loop": False})

    def test_what_stands_behind_the_end_and_jumps_back_is_no_loop(self):
        code = [("LDG.E", "R0, [R2.64]"), ("BRA", "0x40"), ("STG.E", "[R2.64], R0"), ("EXIT", ""), ("MOV", "R0, R1"), ("BRA", "0x20")]
        text = "\tcode for sm_80\n\t\tFunction : f\n" + "".join(
            f"        /*{16 * i:04x}*/                   {word} {operands} ;\n" for i, (word, operands) in enumerate(code))
        self.assertFalse(sass.read(text)[80, "f"]["loop"])


class Names(unittest.TestCase):
    def check(self, demangled, name, family):
        self.assertEqual(names.readable(demangled), (name, family))

    def test_types_are_short(self):
        self.check("void tandem::kernels::detail::each<unsigned int, tandem::kernels::detail::MapElement<tandem::kernels::"
                   "(anonymous namespace)::Where, tandem::BFloat16, unsigned char> >(long, tandem::Other<int>)",
                   "each<u32, MapElement<Where, bf16, u8>>", "each<MapElement<Where>>")

    def test_values_are_of_no_family(self):
        self.check("void tandem::kernels::reduce<tandem::Sum<long, std::integral_constant<bool, false> >, 4, (bool)1, "
                   "(tandem::(anonymous namespace)::After)1>(int)", "reduce<Sum<i64, false>, 4, true, 1>", "reduce<Sum>")

    def test_what_a_library_adds_is_left_out(self):
        self.check("void cub::CUB_3::detail::static_kernel<cub::CUB_3::policy_hub_t::policy_500_t, long, cub::CUB_3::op_wrapper_t<"
                   "long, tandem::kernels::Scale<double>, thrust::counting_iterator<long, thrust::use_default> > >(long, int)",
                   "static_kernel<op_wrapper_t<Scale<f64>>>", "static_kernel<op_wrapper_t<Scale>>")

    def test_a_kernel_that_is_no_template(self):
        self.check("tandem::kernels::copy(float4 const*, float4*)", "copy", "copy")

    def test_kernels_that_nobody_launches_are_left_out(self):
        text = "ptxas info    : Compiling entry function '_ZN3cub11EmptyKernelIvEEvv' for 'sm_80'\nptxas info    : Used 4 registers\n"
        self.assertEqual(kernels.join("a", text, None), [])


@unittest.skipUnless(tools.find("nvcc"), "there is no nvcc")
class Toolkit(unittest.TestCase):
    """The same with the tools that are here: they may print something else than those that made the samples."""

    def test_samples_compiled_here(self):
        with tempfile.TemporaryDirectory(prefix="tandem-test-") as folder:
            cubin = pathlib.Path(folder, "samples.cubin")
            done = subprocess.run([tools.find("nvcc"), "-std=c++20", "-arch=sm_80", "-Xptxas", "-v", "-cubin", HERE / "samples.cu",
                                   "-o", cubin], capture_output=True, text=True, check=True)
            found = by_name(kernels.join("samples", done.stderr, kernels.sass_of(cubin)))
        self.assertEqual(found["lookup"]["stack"], 256)
        self.assertEqual(found["mean"]["shared"], 256)
        self.assertTrue(all(0 < k["registers"] < 64 for k in found.values()))
        if "f64" in found["mean"]:
            self.assertEqual((found["divide"]["div_i64"], found["copy"]["load_bytes"], found["mean"]["loop"]), (1, 16, True))


if __name__ == "__main__":
    unittest.main()
