# cmake -D VARIANTS=x86-64-v2;x86-64-v3 -D OBJECTS=... -D OUTPUT=entries.cpp -D NM=nm -P enter_kernels.cmake
#
# Writes what leads each call of a kernel to the variant that was chosen: a table of addresses for each, and by the
# kernel's own name a jump through the table; and has src/kernels/variants.cpp choose before other files begin.
string(REPLACE "-" "_" VARIANTS "${VARIANTS}")
list(GET OBJECTS 0 first)
list(GET VARIANTS 0 least)
execute_process(COMMAND "${NM}" --defined-only --format=posix "${first}" OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "making the entries of the kernels: ${NM} cannot read ${first}")
endif()
string(REGEX MATCHALL "_ZN6tandem7kernels[^ ]+\\.${least} [TW] " entries "${symbols}")
list(TRANSFORM entries REPLACE "\\.${least} [TW] $" "")
if(NOT entries)
  message(FATAL_ERROR "making the entries of the kernels: ${first} has none")
endif()

set(text ".section .data.rel.ro, \"aw\"\n.balign 8\n.globl tandem_kernel_tables\n.hidden tandem_kernel_tables\ntandem_kernel_tables:\n")
foreach(variant IN LISTS VARIANTS)
  string(APPEND text ".quad .Ltable.${variant}\n")
endforeach()
foreach(variant IN LISTS VARIANTS)
  string(APPEND text ".Ltable.${variant}:\n")
  foreach(entry IN LISTS entries)
    string(APPEND text ".quad ${entry}.${variant}\n")
  endforeach()
endforeach()
string(APPEND text ".data\n.balign 8\n.globl tandem_kernel_table\n.hidden tandem_kernel_table\ntandem_kernel_table:\n"
                   ".quad .Ltable.${least}\n.section .init_array.00101, \"aw\"\n.balign 8\n.quad tandem_choose_kernels\n.text\n")
set(at 0)
foreach(entry IN LISTS entries)
  string(APPEND text ".balign 16\n.globl ${entry}\n.type ${entry}, @function\n${entry}:\nendbr64\n"
                     "movq tandem_kernel_table(%rip), %r11\njmp *${at}(%r11)\n.size ${entry}, .-${entry}\n")
  math(EXPR at "${at} + 8")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/enter_kernels.cmake.\nasm(R\"(\n${text})\");\n")
