#!/bin/sh
# test_tool_verbs.sh -- what list, emit, run, bench and cache print when all is well, and what a wrong result looks like.
. tests/tool/lib.sh

json_is_whole() { ! command -v python3 >/dev/null || python3 -m json.tool <"$work/out" >/dev/null; }

# ---- help -------------------------------------------------------------------------------------------------

expect 0 "^ +tegula list +\[KERNEL\.\.\] +kernels" help
expect 0 "^tegula run KERNEL" help run
expect 2 "unknown command halp" halp

# ---- list -------------------------------------------------------------------------------------------------

expect 0 "^thread_naive +thread  N=4096 K=14336 dtype=f16  block_n=128 block_k=128$" list
holds "list: fourteen kernels of gemv.c, in the order of the file" [ "$("$TEGULA" list | awk '/^(thread|block)_/ {print $1}' |
    tr '\n' ' ')" = "thread_naive thread_naive_split_k thread_coalesced_naive_split_k thread_split_k \
thread_coalesced_split_k thread_vectorized_split_k thread_allreduce_split_k thread_shared_memory_split_k \
thread_intra_block_split_k block_naive block_split_k block_split_k_v2 block_pipelined block_alloc_reducer " ]
expect 0 "^good +thread  n dtype  block=64$" list good -k $mistakes
source=$mistakes # the command compiles it; from here on it is given compiled
mistakes=$(ready $source)
expect 0 '"block_n": 128' list thread_naive --json
holds "list --json is JSON" json_is_whole
printf '#include <tegula/kernel.h>\nKERNEL(tiles) { tensor(x, F32, 64); tensor(y, F32, 64); grid(pid, 1) threads(32) { shared(s, F32, 64); copy(tile(x, pid), s); copy(s, tile(y, pid)); } }\nKERNEL(mixed) { tensor(y, F32, 64); grid(pid, 1) threads(tid, 32) { shared(s, F32, 64); clear(s); set(at(y, add(pid, tid)), at(s, tid)); } }\nKERNEL(thread_naive) { tensor(y, F32, 32); grid(pid, 1) threads(tid, 32) { set(at(y, add(pid, tid)), 1); } }\n' >"$work/views.c"
expect 0 "^tiles +block" list -k "$work/views.c"
expect 0 "^mixed +both" list -k "$work/views.c"
expect 0 "^thread_naive +thread$" list -k "$work/views.c" # a user's kernel hides the built-in one of its name
holds "list names it once" [ "$(grep -c '^thread_naive ' "$work/out")" = 1 ]
expect 0 "32 threads|y\[pid \+ tid\] = 1.0f|output|y\[" emit thread_naive -k "$work/views.c" --body

# ---- emit -------------------------------------------------------------------------------------------------

expect 0 "^target: sm_80 \(a100\)$" emit thread_naive
expect 0 "^// thread_naive, made by tegula .* for sm_90a$" emit thread_naive --gpu h200
expect 0 "^target: sm_89$" emit thread_naive --target sm_89
expect 0 "^KERNEL\(thread_naive\) \{$" emit thread_naive --stage source
holds "emit --stage source ends with the kernel" [ "$(tail -n 1 "$work/out")" = "}" ]
holds "emit --stage source holds one kernel" [ "$(grep -c KERNEL "$work/out")" = 1 ]
for stage in tile tile_lower thread_simplify thread cuda; do
    expect 0 "thread_naive" emit thread_naive --stage $stage -q
    cp "$work/out" "$work/first"
    "$TEGULA" emit thread_naive --stage $stage -q >"$work/out"
    holds "emit --stage $stage is deterministic" cmp "$work/out" "$work/first"
done
expect 0 "gemv.c:[0-9]+" emit thread_naive --stage tile --lines
expect 0 "^ +[0-9]+  +serial\(pid_k, ceildiv\(K, block_k\)\) \{ +\| +for \(int pid_k = 0; pid_k < 112; \+\+pid_k\) \{$" \
    emit thread_naive --lines
holds "emit --lines leaves the prelude out" sh -c "! grep -q PRELUDE '$work/out'"
expect 0 "\|" emit thread_naive --lines -q --width 100
holds "emit --lines keeps within the width" sh -c "! awk 'length(\$0) > 100 {n++} END {exit n == 0}' '$work/out'"
"$TEGULA" emit thread_naive -q -o "$work/whole.cu" && "$TEGULA" emit thread_naive -q --body -o "$work/body.cu"
holds "emit --body is the end of the whole text" sh -c "tail -n \"\$(wc -l <'$work/body.cu')\" '$work/whole.cu' | cmp - '$work/body.cu'"
expect 0 '"text": "' emit thread_naive --json
holds "emit --json is JSON" sh -c "'$TEGULA' emit thread_naive --json -q >'$work/out'"
holds "emit --json is whole" json_is_whole
echo old >"$work/kept.cu"
expect 2 "unknown kernel" emit nothing -o "$work/kept.cu"
holds "a failed emit leaves the output file alone" grep -q old "$work/kept.cu"
expect 3 "could not be written" emit thread_naive -o "$work/no/such/folder"
[ -e /dev/full ] && expect 3 "could not be written: No space" emit thread_naive -o /dev/full
expect 0 "#line [0-9]+ .*gemv.c" emit thread_naive --lineinfo
expect 0 "^    grid_wait\(\); // the launches before have ended$" emit block_pipelined --dependent --target sm_90a
expect 0 "^sm_80 has no dependent launches, sm_90 and newer have: these are plain ones$" emit thread_naive --dependent
holds "emit --dependent where there is none is the plain text" sh -c "! grep -q grid_wait '$work/out'"
expect 0 "^ok block_pipelined" run block_pipelined -p N=64 -p K=512 --dependent --target sm_90a --device sim

if have_nvrtc; then
    for target in sm_80 sm_90a; do
        for kernel in $("$TEGULA" list -q | awk '{print $1}'); do
            holds "$kernel compiles for $target" "$TEGULA" emit "$kernel" --stage cubin --target $target -q -o "$work/k.cubin"
        done
    done
    holds "a cubin is an ELF file" sh -c "head -c 4 '$work/k.cubin' | grep -q ELF"
    expect 0 "^\.target sm_90a" emit thread_naive --stage ptx --gpu h100
    expect 2 "a cubin is no text" emit thread_naive --stage cubin --json
    expect 0 '^// thread_naive, made by' emit thread_naive -p dtype=bf16 --stage cuda
    holds "bf16 compiles" "$TEGULA" emit thread_naive -p dtype=bf16 --stage cubin -q -o "$work/k.cubin"
fi
(
    PATH=$work CUDA_HOME=$work "$TEGULA" emit thread_naive --stage sass >"$work/out" 2>&1
    echo $? >"$work/sass"
)
holds "sass without a disassembler or NVRTC is exit status 3, with one 0" grep -qE '^[03]$' "$work/sass"

# ---- run --------------------------------------------------------------------------------------------------

gemvs=$("$TEGULA" list -q | awk '/^(thread|block)_/ {print $1}')
for kernel in $gemvs; do
    for dtype in f16 bf16; do
        expect 0 "^ok $kernel: error " run "$kernel" -p N=96 -p K=1024 -p dtype=$dtype --device sim
    done
done
for kernel in $("$TEGULA" list -q | awk '!/^(thread|block)_/ {print $1}'); do
    expect 0 "^ok $kernel: error " run "$kernel" --device sim
done
# Odd shapes are right or refused in words.
for shape in "1 1" "1 8" "3 5" "31 100" "33 33" "63 129" "127 250" "257 64"; do
    for kernel in $gemvs; do
        "$TEGULA" run "$kernel" -p N="${shape% *}" -p K="${shape#* }" --device sim -q >"$work/out" 2>&1
        case $? in
        0) grep -q '^ok ' "$work/out" && pass || fail "$kernel $shape: no line begins with ok" ;;
        2) grep -q 'K must be even' "$work/out" && pass || fail "$kernel $shape: refused without a reason" ;;
        *) fail "$kernel $shape" ;;
        esac
    done
done
expect 0 "^device: simulator$" run thread_naive -p N=64 -p K=64
holds "the last line begins with ok" sh -c "'$TEGULA' run thread_naive -p N=64 -p K=64 --device sim 2>/dev/null | tail -n 1 | grep -q '^ok '"
holds "the last line begins with FAILED" sh -c "'$TEGULA' run is_wrong -k $mistakes --device sim 2>/dev/null | tail -n 1 | grep -q '^FAILED '"
expect 1 "mistakes.c:[0-9]+: race: .*write by thread" run races -k $source --device sim
holds "both lines of a race are named" [ "$(grep -c 'mistakes.c:19[0-9]:' "$work/out")" -ge 2 ]
expect 1 "^FAILED races \(race\)" run races -k $mistakes --device sim
expect 1 "mistakes.c:[0-9]+: out of bounds: " run reads_outside -k $mistakes --device sim
# A fragment is called by the user's name, whatever memory it goes through.
expect 1 "out of bounds: write of 'f\[i, j \+ 1\]': index \[0, 16\] outside \[4, 16\]" \
    run leaves_a_fragment -k $mistakes --device sim
expect 1 "out of bounds: read of 'r\[tid_x \+ 1\]': index \[4\] outside \[4\]" \
    run leaves_a_reducer -k $mistakes --device sim
expect 1 "race: 'f\[[0-3]\]': write by thread" run meets_in_a_fragment -k $mistakes --device sim
expect 1 "mistakes.c:[0-9]+: check failed: tid below 63" run fails_a_check -k $mistakes --device sim
expect 1 "^32 of 64 elements of y are wrong, 32 never written" run forgets_half -k $mistakes --device sim
expect 1 "y\[32\] was never written" run forgets_half -k $mistakes --device sim
expect 1 "y\[2\] is .*, wanted .* \(written last by mistakes.c:[0-9]+\)" run is_wrong -k $mistakes --device sim
expect 1 "40 NaN \(the reference has 40 NaN itself: do the inputs make sense\?\)" run gives_nan -k $mistakes --device sim
expect 0 "^ok writes_the_same" run writes_the_same -k $mistakes --device sim
expect 1 "^FAILED writes_the_same \(race of equal values\)" run writes_the_same -k $mistakes --device sim --strict
expect 0 "no reference of its own: compared with the tile reference in double$" run good -k $mistakes -p n=70 -p dtype=f64 --device sim
for dtype in bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64; do
    expect 0 "^ok good" run good -k $mistakes -p n=70 -p dtype=$dtype --device sim
done
expect 0 "^ok scales" run scales -k $mistakes -p rows=37 -p factor=0.25 --device sim
expect 0 "^scales .*rows=37 factor=0.25$" run scales -k $mistakes -p rows=37 -p factor=0.25 --device sim
# What is given to the kernel itself comes after what is given to all, whichever of the two looks like an integer.
for factors in "0.5 0.25" "0.5 4" "4 0.5" "2 4"; do
    expect 0 "^scales .*rows=37 factor=${factors#* }$" run -p factor=${factors% *} scales -k $mistakes -p rows=37 \
        -p factor=${factors#* } --device sim
done
cat >"$work/wide.c" <<'C'
#include <tegula/kernel.h>
KERNEL(wide) {
    tensor(x, U64, 64);
    tensor(s, I8, 64);
    tensor(y, U64, 64);
    scalar(mask, U64);
    scalar(low, I64);
    grid(p, 1) threads(t, 64) {
        check(le(at(s, t), 100), "s is within its range");
        set(at(y, t), bit_and(at(x, t), bit_xor(mask, cast(U64, low))));
    }
}
C
cat >"$work/wide.yaml" <<'Y'
wide: {inputs: {x: [0, 18446744073709551615], s: [-300, 100], low: -9223372036854775808}}
Y
expect 0 "^wide mask=18446744073709551615 low=-9223372036854775808$" run wide -k "$work/wide.c" -p mask=-1 --device sim
expect 2 "'factor' is no tensor: give -p factor=VALUE" run scales -k $mistakes -p rows=37 --in factor=x.npy --device sim
expect 2 "the extent 'rows' has no value" run scales -k $mistakes --device sim
expect 2 "unknown parameter 'factr'" run scales -k $mistakes -p rows=37 -p factr=0.25 --device sim
expect 2 "an extent is an integer" run scales -k $mistakes -p rows=3000000000 --device sim
expect 3 "GiB of memory" run scales -k $mistakes -p rows=2000000000 --device sim
expect 0 '"result": "ok"' run thread_naive -p N=64 -p K=64 --device sim --json -q
holds "run --json is JSON" json_is_whole
expect 1 '"written_at": ".*mistakes.c:[0-9]+"' run is_wrong -k $mistakes --device sim --json -q
holds "run --json of a failure is JSON" json_is_whole

# Inputs and outputs as files.
expect 0 "^ok" run thread_naive -p N=64 -p K=32 --device sim --save "$work/saved"
holds "--save writes inputs, output, and what is wanted" ls "$work/saved/vector.npy" "$work/saved/matrix.npy" \
    "$work/saved/output.npy" "$work/saved/output.wanted.npy"
expect 0 "^ok" run thread_naive -p N=64 -p K=32 --device sim --seed 5 --in matrix="$work/saved/matrix.npy" --in \
    vector="$work/saved/vector.npy" --save "$work/again"
holds "--in reads what --save wrote" cmp "$work/saved/output.npy" "$work/again/output.npy"
expect 0 "^ok" run thread_naive -p N=64 -p K=32 --device sim --seed 5 --save "$work/other"
holds "another seed is another input" sh -c "! cmp -s '$work/saved/matrix.npy' '$work/other/matrix.npy'"
expect 2 "its shape is \(64, 32\), that of 'vector' is \(32\)" run thread_naive -p N=64 -p K=32 --device sim \
    --in vector="$work/saved/matrix.npy"
expect 2 "the kernel has no such tensor, did you mean matrix\?" run thread_naive -p N=64 -p K=32 --device sim --in matrx=x.npy
expect 2 "cannot be read: .*No such file" run thread_naive -p N=64 -p K=32 --device sim --in matrix="$work/none.npy"
expect 2 "not a .npy file" run thread_naive -p N=64 -p K=32 --device sim --in matrix=$source
head -c 200 "$work/saved/matrix.npy" >"$work/short.npy"
expect 2 "the shape needs 4096 bytes" run thread_naive -p N=64 -p K=32 --device sim --in matrix="$work/short.npy"

# A user's shared object with a YAML file beside it.
cp $source "$work/user.c"
if ${CC:-cc} -std=gnu11 -shared -fPIC -Iinclude "$work/user.c" -o "$work/user.so" 2>"$work/out"; then
    printf 'good:\n    params: {n: 64, dtype: f16}\n    inputs: {x: [1, 2]}\n    tolerance: 0\n' >"$work/user.yaml"
    expect 0 "^ok good: error 0.00e\+00 of 0e\+00" run good -k "$work/user.so" --device sim
fi

# ---- run --configs ----------------------------------------------------------------------------------------

expect 0 "^ok thread_naive_split_k: 4 configurations right, 0 wrong, 0 refused$" run thread_naive_split_k -p N=8 \
    -p K=64 -p block_k=32 --configs 3 --device sim
expect 0 "^1 refused: 32 \* 256 threads in a block; at most 1024 are possible$" run thread_naive_split_k -p N=8 -p K=64 \
    --configs all --device sim
cat >"$work/twist.c" <<'END'
#include <tegula/kernel.h>
KERNEL(twisted) {
    params(n);
    tunables(block_n, 16, twist, 0);
    require(twist != 3, "three twists are too many");
    tensor(x, F32, n);
    tensor(y, F32, n);
    grid(pid, n / block_n) threads(tid, block_n) {
        let(i, add(mul(pid, block_n), tid));
        set(at(y, i), mul(at(x, i), twist == 2 ? 3.0 : 2.0));
    }
}
void twisted_reference(const tg_config *config, void *const args[]) {
    int64_t n = 0;
    tg_config_get(config, "n", &n);
    for (int64_t i = 0; i < n; i++) ((float *)args[1])[i] = 2 * ((float *)args[0])[i];
}
END
echo 'twisted: {params: {n: 64}, tune: {block_n: [16, 32], twist: [0, 1, 2, 3]}}' >"$work/twist.yaml"
expect 1 "^FAILED twisted: 5 configurations right, 2 wrong, 2 refused$" run twisted -k "$work/twist.c" --configs all --device sim
holds "run --configs names the wrong configurations" [ "$(grep -c '^twisted n=64 block_n=.* twist=2$' "$work/out")" = 2 ]
holds "run --configs gives the reason of the refused" grep -q "^2 refused: three twists are too many$" "$work/out"
expect 1 '"why": "three twists are too many"' run twisted -k "$work/twist.c" --configs all --device sim --json -q
holds "run --configs --json is JSON" json_is_whole
expect 2 "^FAILED twisted: 0 configurations right, 0 wrong, 3 refused$" run twisted -k "$work/twist.c" -p twist=3 --configs all --device sim
expect 0 "^ok copy_1d_block: 1 configuration right, 0 wrong, 0 refused; there is nothing to vary$" run copy_1d_block -p N=64 -p block_n=64 -p num_threads=32 --configs 5 --device sim
expect 2 "configs" run twisted -k "$work/twist.c" --configs few --device sim
echo 'twisted: {params: {n: 64}, tune: {a: [1, 2], block_n: [16, 32]}}' >"$work/twist.yaml"
expect 2 "'a'" run twisted -k "$work/twist.c" --configs all --device sim
# Of many reasons the first sixteen are named, the others counted.
cat >"$work/picky.c" <<'C'
#include <tegula/kernel.h>
KERNEL(picky) {
    tunables(a, 0);
    static const char *const why[] = {"", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13",
                                      "r14", "r15", "r16", "r17", "r18"};
    require(a == 0, why[a]);
    tensor(y, F32, 32);
    grid(1) threads(tid, 32) set(at(y, tid), 1);
}
C
echo 'picky: {tune: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}}' >"$work/picky.yaml"
expect 0 "^2 refused for other reasons" run picky -k "$work/picky.c" --configs all --device sim
holds "the last line counts all" grep -q "^ok picky: 1 configuration right, 0 wrong, 18 refused" "$work/out"

# ---- bench and cache --------------------------------------------------------------------------------------

if have_nvrtc; then
    "$TEGULA" bench --jit thread_naive --repeat 2 >"$work/out" 2>&1
    holds "bench --jit times every step" grep -qE '^thread_naive +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +-?[0-9.]+ +[0-9.]+$' "$work/out"
    holds "bench --jit judges" grep -qE '^(ok|FAILED) +build \+ lower \+ print of a GEMV, us .* \(at most 1000\) thread_naive' "$work/out"
    "$TEGULA" bench --jit transpose --repeat 2 >"$work/out" 2>&1
    holds "each by the limit of its kind" grep -qE '^(ok|FAILED) +build \+ lower \+ print of others, us .* \(at most 2000\) transpose' "$work/out"
    "$TEGULA" bench --jit thread_naive --repeat 2 --json >"$work/out" 2>/dev/null
    holds "bench --jit --json is JSON" json_is_whole
fi
expect 0 "^[0-9]+ cached entries removed, 0 left$" cache clear # what emit compiled
expect 0 "^entries +0$" cache stat
expect 0 "^0 cached entries removed, 0 left$" cache clear
expect 0 "^0 damaged entries removed" cache verify
expect 0 "^0 least recently used" cache prune
expect 0 '"entries": 0' cache stat --json
holds "cache stat --json is JSON" json_is_whole
expect 0 "holds nothing" cache list
"$TEGULA" doctor --json >"$work/out" 2>&1
holds "doctor --json is JSON" json_is_whole
holds "doctor finds the headers" sh -c "'$TEGULA' doctor | grep -q '^headers .*include'"

finish
