#!/bin/sh
# test_tool_mistakes.sh -- whatever is wrong with a kernel, its configuration or the command line gets a clear message
# and the exit status that says whose fault it is.
. tests/tool/lib.sh
mistakes=$(ready $mistakes)

# ---- the command line -------------------------------------------------------------------------------------

expect 2 "unknown command emi, did you mean emit\?" emi
expect 2 "unknown command explian, did you mean explain\?" help explian
expect 2 "unknown command explian, did you mean explain\?" explian --help
expect 2 "doctor takes no 'now'" doctor now
expect 2 "unknown option --josn, did you mean --json\?" list --josn
expect 2 "unknown option -z" list -z
expect 2 "param needs NAME=VALUE" list -p
expect 2 "quiet takes no value" list --quiet=1
expect 2 "lines is no option of run" run thread_naive --lines
expect 2 "run needs a kernel" run
expect 2 "run needs one kernel only" run thread_naive thread_split_k
expect 2 "unknown kernel 'thread_naiv', did you mean thread_naive\?" run thread_naiv
expect 2 "unknown kernel 'matmul'; 'tegula list' names them" emit matmul
expect 2 "expected NAME=VALUE" emit thread_naive -p N
expect 2 "expected NAME=VALUE" emit thread_naive -p N=
expect 2 "expected NAME=VALUE" emit thread_naive -p =3
expect 2 "several values are for bench and tune" emit thread_naive -p N=1024,4096
expect 2 "expected auto, sim or cuda:N" run thread_naive --device gpu
expect 2 "expected auto, sim or cuda:N" run thread_naive --device cuda:-1
expect 2 "unknown GPU 'a10', did you mean a100\?" emit thread_naive --gpu a10
expect 2 "-o: the name of the file is empty" emit thread_naive -o ""
expect 2 "unknown kernel 'own.c': a file of kernels is named by -k" emit own.c
expect 2 "unknown target 'sm_91', did you mean sm_90\?" emit thread_naive --target sm_91
expect 2 "unknown stage 'cud', did you mean cuda\?" emit thread_naive --stage cud
expect 2 "expected an integer from 0" run thread_naive --seed -1
expect 2 "expected a number of seconds" run thread_naive --timeout never
expect 2 "seconds above 0, and 1000000 at most" run thread_naive --timeout 1e9
expect 2 "cache lis: expected list, stat, verify, prune or clear, did you mean list\?" cache lis
expect 2 "bench needs kernels, --suite, --replay or --jit" bench
expect 3 "tune times kernels on a GPU, and there is none" tune thread_naive --device sim
expect 2 "there is no suite .gem., did you mean gemv" bench --suite gem
expect 2 "expected stream, cold or both" bench thread_naive --mode hot
expect 2 "^Tegula: tile kernels" # without a command: the help, on stderr
expect 0 "^Tegula: tile kernels" --help
expect 0 "^tegula emit KERNEL" emit --help
expect 0 "^tegula [0-9]+\.[0-9]+\.[0-9]+$" --version

# ---- parameters -------------------------------------------------------------------------------------------

expect 2 "has 'M', which 'thread_naive' does not ask for" emit thread_naive -p M=3
expect 2 "^tegula: give -p n=\.\. -p dtype=\.\.$" emit good -k $mistakes
for rows in -1 2147483648 1.5 nan; do
    expect 2 "-p rows: an extent is an integer from 0 to 2147483647" run softmax -p rows=$rows --device sim
done
expect 2 "^tegula: give -p n=\.\.$" run good -k $mistakes -p dtype=f16 --device sim
expect 2 "did you mean 'block_n'" emit thread_naive -p blok_n=3
expect 2 "has no 'n', a parameter of 'good'" emit good -k $mistakes -p dtype=f16
expect 2 "'x' is neither an integer nor an element type" emit thread_naive -p N=x
expect 2 "'64k' is neither" emit thread_naive -p N=64k
expect 2 "did you mean bf16\?" emit thread_naive -p dtype=bf15
expect 2 "99999999999999999999 does not fit 64 bits" emit thread_naive -p N=99999999999999999999
expect 2 "N is a number, such as 4096" emit thread_naive -p N=f16
expect 2 "dtype is an element type, such as f16" emit thread_naive -p dtype=16
expect 2 "expected an integer or an element type" emit good -k $mistakes -p dtype=f16 -p n=0.5
expect 2 "extent 0 is 0; it must be positive" emit thread_naive -p N=0
expect 2 "extent 0 is -5; it must be positive" emit thread_naive -p N=-5
expect 2 "gemv.c:[0-9]+: error: .*dtype must be f16 or bf16" emit thread_naive -p dtype=f32
expect 2 "K must be even" emit thread_vectorized_split_k -p K=333
expect 2 "block_k must be a multiple of reduce_threads" emit thread_split_k -p reduce_threads=24
expect 2 "block_k must be a multiple of reduce_threads" emit thread_split_k -p reduce_threads=0
expect 2 "n must be a multiple of 48" emit breaks_require -k $mistakes -p n=100
expect 0 "__global__" emit breaks_require -k $mistakes -p n=96
expect 0 "^// *block_n = 64 \(given\)" emit thread_naive -p block_n=64

# Before a kernel's name for all, after it for that kernel.
expect 0 "N = 128," emit -p N=128 thread_naive
expect 0 "N = 256," emit -p N=128 thread_naive -p N=256

# ---- kernels ----------------------------------------------------------------------------------------------

# The message has file and line, the line itself and a caret.
refuses() {
    kernel=$1 pattern=$2
    shift 2
    expect 2 "mistakes\.c:[0-9]+: error: .*$pattern" emit "$kernel" -k $mistakes "$@"
    holds "$kernel: the source line and a caret" grep -q '^ *| *^$' "$work/last"
}
emit_keeps() { "$TEGULA" "$@" >"$work/last" 2>&1; }
for row in \
    "ceildiv_by_zero|the divisor is 0|-p n=64 -p part=0" \
    "too_many_threads|threads in a block; at most 1024|" \
    "empty_grid|the extent of 'pid' is 0|-p n=0" \
    "too_tall_grid|70000 blocks, sm_80 allows 65535|" \
    "too_much_shared|4194304 bytes exceed the 166912 that sm_80 allows|" \
    "wrong_rank|'y' has 2 dimensions but is indexed with 1|" \
    "mixed_types|operands are f16 and f32|" \
    "literal_too_large|70000 does not fit 'y', which is f16|" \
    "cannot_be_wide|is not contiguous|" \
    "reduces_no_axis|'pid' is no thread axis|" \
    "breaks_out|left by break, after mistakes.c:[0-9]+|" \
    "returns|did a return or goto leave it|"; do
    kernel=${row%%|*} rest=${row#*|}
    # shellcheck disable=SC2086
    emit_keeps emit "$kernel" -k $mistakes ${rest#*|}
    # shellcheck disable=SC2086
    refuses "$kernel" "${rest%%|*}" ${rest#*|}
done
expect 2 "100 blocks|shared memory: .* sm_86" emit too_much_shared -k $mistakes --gpu a6000

# ---- user code that goes wrong ----------------------------------------------------------------------------

expect 2 "divides_by_zero: its builder crashed \(an integer divided by zero\) after mistakes.c:[0-9]+" \
    emit divides_by_zero -k $mistakes -p n=64 -p part=0
expect 2 "crashes: its builder crashed .* after mistakes.c:[0-9]+" emit crashes -k $mistakes -p n=64
expect 2 "overflows_the_stack: its builder crashed .* after mistakes.c:[0-9]+" \
    emit overflows_the_stack -k $mistakes -p n=64
expect 2 "loops: its builder did not end in the time given .* after mistakes.c:[0-9]+" \
    run loops -k $mistakes -p n=64 --timeout 1
expect 2 "grows: its builder did not end in the time given .* after mistakes.c:[0-9]+" \
    run grows -k $mistakes -p n=64 --timeout 1
expect 2 "its builder ended the process with exit status 0 after mistakes.c:[0-9]+" \
    run ends_the_process -k $mistakes -p n=64
# The last line of run says it, too.
expect 2 "^FAILED loops: its builder did not end in the time given .* after mistakes.c:[0-9]+" \
    run loops -k $mistakes -p n=64 --timeout 0.5
expect 2 "^FAILED crashes: its builder crashed .* after mistakes.c:[0-9]+" run crashes -k $mistakes -p n=64
expect 2 "^FAILED mixed_types: mistakes.c:[0-9]+: operands are f16 and f32" run mixed_types -k $mistakes --device sim
expect 2 "^FAILED thread_naiv: unknown kernel 'thread_naiv', did you mean thread_naive\?$" run thread_naiv
expect 2 "^is_wrong +thread" list -k $mistakes --timeout 1 # one that crashes hides no other

# ---- kernel files -----------------------------------------------------------------------------------------

expect 2 "no_such_file.c: No such file" list -k "$work/no_such_file.c"
echo 'kernels' >"$work/kernels.txt"
expect 2 "expected FILE.c or FILE.so" list -k "$work/kernels.txt"
echo 'int x;' >"$work/none.c"
expect 2 "none.c defines no kernel" list -k "$work/none.c"
echo 'not an object' >"$work/broken.so"
expect 2 "broken.so cannot be loaded" list -k "$work/broken.so"
printf '#include <tegula/kernel.h>\nKERNEL(k) {\n    params(n);\n    tensor(y, F32, n);\n    set(at(y, "one"), 1);\n    copy(1, y)\n}\n' \
    >"$work/syntax.c"
# $1: the body of a kernel; $2: its file.
in_kernel() { printf '#include <tegula/kernel.h>\nKERNEL(k) {\n    tensor(y, F32, 32);\n    grid(1) threads(t, 32) {\n%s\n    }\n}\n' "$1" >"$work/$2.c"; }
in_kernel '        set(at(y, t + 1), y[0]);' operators
in_kernel '        if (lt(t, 3)) { }
        at(y, t) = f32(t);' statements
for compiler in "${CC:-cc}" gcc clang; do
    command -v ${compiler%% *} >/dev/null || continue
    export CC="$compiler"
    expect 2 "syntax.c:5:" list -k "$work/syntax.c"
    expect 2 "^    6 \|     copy\(1, y\)$" list -k "$work/syntax.c"
    holds "$compiler: messages inside macros do not say where the macros come from" \
        sh -c "! grep -qE '^ +from |tg_v_|^note' '$work/out'"
    expect 2 "syntax.c does not compile" list -k "$work/syntax.c"
    holds "$compiler: its messages are short" [ "$(wc -l <"$work/out")" -le 12 ]
    holds "$compiler: one of a line says enough" [ "$(grep -c 'syntax.c:5:' "$work/out")" = 1 ]
    # C where words are wanted: the words are named, each once.
    expect 2 "values are combined by words: add\(a, b\)" list -k "$work/operators.c"
    expect 2 "decides by when\(condition\) or choose" list -k "$work/statements.c"
    expect 2 "an element is written by set\(at\(buffer, i\), value\)" list -k "$work/statements.c"
    expect 2 "an element of a buffer is at\(buffer, i\)" list -k "$work/operators.c"
    holds "$compiler: advice is given once" [ "$(grep -c '^tegula: values are' "$work/out")" = 1 ]
done
unset CC
many=''
for i in 1 2 3 4 5 6; do # what was made of each goes (lib.sh looks)
    printf '#include <tegula/kernel.h>\nKERNEL(one%s) { tensor(y, F32, 32); grid(1) threads(tid, 32) set(at(y, tid), 1); }\n' \
        $i >"$work/one$i.c"
    many="$many -k $work/one$i.c"
done
# shellcheck disable=SC2086
expect 0 "^one6 +thread" list $many
# Builder words outside a kernel do nothing but say so.
printf '#include <tegula/kernel.h>\nstatic void stray(void) { tg_buf none = {0}; set(at(none, 0), 1); }\n__attribute__((constructor)) static void begin(void) { stray(); }\nKERNEL(fine) { tensor(y, F32, 32); grid(pid, 1) threads(tid, 32) set(at(y, add(pid, tid)), 1); }\n' \
    >"$work/stray.c"
expect 0 "^fine +thread" list -k "$work/stray.c"
expect 0 "outside" list -k "$work/stray.c"
printf '#include <stdlib.h>\n#include <tegula/kernel.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\nKERNEL(fine) { params(n); }\n' \
    >"$work/constructor.c"
expect 2 "loading crashed" list -k "$work/constructor.c"
CC="$work/no-compiler" && export CC
expect 3 "C compiler .* could not be started" list -k "$work/none.c"
CC=" "
expect 3 "CC=' ': expected a C compiler and at most 23 options" list -k "$work/none.c"
CC="cc $(seq -s ' -O' 30)"
expect 3 "CC='cc 1 .*': expected a C compiler and at most 23 options" list -k "$work/none.c"
unset CC

# ---- YAML -------------------------------------------------------------------------------------------------

cp $mistakes "$work/m.so"
yaml() {
    printf "$1" >"$work/m.yaml"
    expect "$2" "$3" emit good -k "$work/m.so" -q
}
yaml 'good: {params: {n: 64, dtype: f16}}\n' 0 '__global__'
yaml 'good:\n  params: {n: 64, dtype f16\n' 2 'm.yaml:[0-9]+:[0-9]+: error: '
yaml 'good:\n\tparams: 1\n' 2 'm.yaml:2:1: error: '
yaml 'good:\n  parms: {n: 64}\n' 2 "m.yaml:2:3: error: unknown key 'parms', did you mean params\?"
yaml 'god:\n  params: {n: 64}\n' 2 "m.yaml:1:1: error: there is no kernel 'god', did you mean good\?"
yaml 'good:\n  params: {n: many}\n' 2 "m.yaml:2:15: error: 'many' is neither an integer"
yaml 'good:\n  params: [64]\n' 2 'm.yaml:2:11: error: expected a mapping'
yaml 'good: {params: &a {n: 64}}\n' 2 'm.yaml:1:16: error: anchors are not allowed'
yaml 'good: *a\n' 2 'm.yaml:1:7: error: aliases are not allowed'
yaml 'good: !!map {}\n' 2 'm.yaml:1:7: error: tags are not allowed'
yaml 'good: {}\ngood: {}\n' 2 "m.yaml:2:1: error: 'good' stands here for the second time \(first in line 1\)"
yaml 'good: {tolerance: low}\n' 2 "m.yaml:1:19: error: 'low' is not a number"
yaml 'good: {tolerance: {f17: 1}}\n' 2 "error: 'f17' is no element type"
yaml 'good: {inputs: {x: [2, 1]}}\n' 2 'error: low is above high'
yaml 'good: {}\n---\ngood: {}\n' 2 'm.yaml:2:1: error: a second document'
yaml '' 2 'm.yaml:1:1: error: the file is empty'
printf 'good: {params: {n: 64, dtype: f16}, reference: nowhere}\n' >"$work/m.yaml"
expect 2 "the reference 'nowhere' .* is not in its file" run good -k "$work/m.so" --device sim

# The sources of the gallery are shown wherever the command runs.
case $TEGULA in /*) command=$TEGULA ;; *) command=$PWD/$TEGULA ;; esac
(cd "$work" && "$command" emit thread_naive -p N=0 >"$work/out" 2>&1)
holds "a mistake in the gallery shows its line outside the checkout" grep -qE '^ *[0-9]+ \| +[a-z]' "$work/out"

# One warning where nothing can be cached.
if "$TEGULA" emit thread_naive --stage cubin --no-cache -q -o /dev/null >/dev/null 2>&1; then
    touch "$work/no_folder"
    TEGULA_CACHE_DIR=$work/no_folder "$TEGULA" emit thread_naive --stage cubin -q -o "$work/k.cubin" >"$work/out" 2>&1
    holds "emit goes on without a cache" [ -s "$work/k.cubin" ]
    holds "emit says once that there is none" [ "$(grep -c 'no_folder is not used: ' "$work/out")" = 1 ]
fi

finish
