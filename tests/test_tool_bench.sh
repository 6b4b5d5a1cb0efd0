#!/bin/sh
# test_tool_bench.sh -- bench without a GPU: refusals, what it shows of a file, and a whole measurement on the driver's
# double, where every two events lie 1.5 ms apart and no kernel runs.
. tests/tool/lib.sh

file=tests/tool/bench.json
others=tests/tool/elsewhere.json

# ---- refusals ---------------------------------------------------------------------------------------------

no_driver() {
    export TEGULA_LIBCUDA=/nowhere/libcuda.so.1
    expect "$@"
    unset TEGULA_LIBCUDA
}
no_driver 3 "bench needs a GPU; 'bench --jit' times the compiler" bench thread_naive --mode both
no_driver 3 "bench needs a GPU" bench --suite gemv --csv
no_driver 0 "block_pipelined" bench --replay $file
expect 2 "--replay shows a file" bench thread_naive --replay $file
expect 2 "there is no suite 'gem', did you mean gemv\?" bench --suite gem
expect 2 "expected a number of seconds above 0" bench thread_naive --seconds 0
expect 2 "nowhere.json" bench --replay /nowhere.json

# mistake PATTERN TEXT: a file of that text is refused with its place.
mistake() {
    printf '%s\n' "$2" >"$work/bad.json"
    expect 2 "^$work/bad.json:[0-9]+:[0-9]+: error: $1" bench --replay "$work/bad.json"
}
good='"problem": "N=1", "name": "a", "bytes": 8'
mistake "rows is missing" '{"gpu": "x"}'
mistake "unknown key 'row', did you mean rows" '{"row": []}'
mistake "expected a list" '{"rows": 1}'
mistake "problem is missing" '{"rows": [{"name": "a", "bytes": 8}]}'
mistake "name is missing" '{"rows": [{"problem": "N=1", "bytes": 8}]}'
mistake "bytes is missing, and no row before tells those of 'N=1'" '{"rows": [{"problem": "N=1", "name": "a"}]}'
mistake "median_us is missing" "{\"rows\": [{$good, \"stream\": {\"low_us\": 1}}]}"
mistake "median_us must be above 0" "{\"rows\": [{$good, \"stream\": {\"median_us\": 0}}]}"
mistake "'fast' is not a number" "{\"rows\": [{$good, \"cold\": {\"median_us\": fast}}]}"
mistake "unknown key 'median', did you mean median_us" "{\"rows\": [{$good, \"cold\": {\"median\": 1}}]}"
mistake "unknown kind: expected kernel, .. or elsewhere" "{\"rows\": [{$good, \"kind\": \"toy\"}]}"
mistake "low_us must be a number of at least 0" "{\"rows\": [{$good, \"cold\": {\"median_us\": 1, \"low_us\": -1}}]}"
mistake "noisy must be true or false" "{\"rows\": [{$good, \"cold\": {\"median_us\": 1, \"noisy\": 2}}]}"
printf '{"rows": []}\n' >"$work/empty.json"
expect 2 "holds no rows" bench --replay "$work/empty.json"

# What bench itself writes for many shapes is read again: 3000 rows are 100 shapes of 30 kernels.
awk 'BEGIN {
    printf "{\"gpu\": \"G\", \"rows\": ["
    for (i = 0; i < 3000; i++) {
        printf "%s\n{\"problem\": \"N=%d\", \"kind\": \"kernel\", \"name\": \"k%d\", \"variant\": \"default\", ", i ? "," : "", int(i / 30), i % 30
        printf "\"config\": \"\", \"bytes\": %d, \"check\": \"right\", \"stream\": {\"median_us\": 3.5, ", 1000 + int(i / 30)
        printf "\"low_us\": 3.4, \"high_us\": 3.6, \"min_us\": 3.3, \"interval_us\": 0.1, \"samples\": 40, "
        printf "\"launches\": 100, \"noisy\": false, \"clock_mhz\": 1980, \"gb_per_s\": 12.5, \"percent\": 44}}"
    }
    print "]}"
}' >"$work/many.json"
expect 0 "^N=99 .* k" bench --replay "$work/many.json"
printf '{"rows": [{' >"$work/torn.json"
expect 2 "torn.json:[0-9]+:[0-9]+: error" bench --replay "$work/torn.json"

# ---- what is shown ----------------------------------------------------------------------------------------

expect 0 "^Test GPU <1>, driver 13.0, NVRTC 13.0, cuBLAS 13.0.2; tegula 0.1.0" bench --replay $file
expect 0 "^read kernel +2\.00 \(1\.90-2\.10\) +4000  100\.0 +4\.00 .* 2000  100\.0" bench --replay $file
expect 0 "^thread_naive +16\.00 \(15\.50-17\.50\)~ +500 +12\.5 +20\.00 .* default block_n=128 block_k=128" bench --replay $file
expect 0 "^thread_naive +8\.00 .* 1000 +25\.0 +- +- +- +tuned block_n=32" bench --replay $file
expect 0 "^block_naive .*WRONG +default +differs from the reference" bench --replay $file
expect 0 "^N=4096 K=1024 dtype=f16 +2\.50 +80\.0 +3\.20 +1\.28 +block_pipelined +tuned" bench --replay $file
expect 0 "^cuBLAS takes 0\.800 times as long in the geometric mean of 2 problems, 0\.500 at least" bench --replay $file
expect 0 "^Other compiler 3\.6 +2\.20 .* 3636 +90\.9" bench --replay $file --rows $others

"$TEGULA" bench --replay $file --csv >"$work/out"
holds "CSV quotes what holds a comma" grep -qF '"512 threads x 4 x 16 B, 256 blocks"' "$work/out"
holds "CSV has a line for each row and mode" [ "$(wc -l <"$work/out")" = 14 ]
holds "every line of CSV has as many fields" awk 'BEGIN {FS = ","} NR == 1 {n = NF} {gsub(/"[^"]*"/, "x")} NF != n {exit 1}' "$work/out"

"$TEGULA" bench --replay $file --json >"$work/one.json"
"$TEGULA" bench --replay "$work/one.json" --json >"$work/two.json"
holds "JSON read is JSON written" cmp "$work/one.json" "$work/two.json"
holds "JSON keeps what is derived" grep -q '"percent": 62.5' "$work/one.json"
printf '{"rows": [{"problem": "N=9", "name": "a"}]}\n' >"$work/unknown.json"
expect 2 "unknown.json:1:11: error: bytes is missing" bench --replay $file --rows "$work/unknown.json"

# ---- the figure -------------------------------------------------------------------------------------------

expect 0 "^Test GPU" bench --replay $file --rows $others --svg "$work/f.svg"
has() {
    holds "the figure shows $1" grep -qE -- "$2" "$work/f.svg"
}
has "both colour schemes" "prefers-color-scheme: dark"
has "a bar for the default" '<rect [^>]*class="first"><title>block_n=128 block_k=128: 500 GB/s'
has "a bar for the tuned" '<rect [^>]*class="second"><title>block_n=32 block_k=64: 1000 GB/s'
has "the ceiling" '<text [^>]*class="ceiling end">read kernel, 2.00 us<'
has "the library" '<line [^>]*class="line library"/>'
has "rows from elsewhere" '>Other compiler 3.6, 2.20 us<'
has "the share of the ceiling" '>80.0 %<'
has "the machine, escaped" 'Test GPU &lt;1&gt;, driver 13.0'
holds "wrong kernels are left out" sh -c "! grep -q block_naive '$work/f.svg'"
if command -v xmllint >/dev/null; then
    holds "the figure is XML" xmllint --noout "$work/f.svg"
fi
# Twice the rate, twice the bar.
bars=$(sed -n 's/.*width="\([0-9.]*\)" height="9" class="\(first\|second\)"><title>block_n=\(128\|32\) .*/\1/p' "$work/f.svg" | tr '\n' ' ')
holds "bars are as long as their rates ($bars)" awk -v bars="$bars" 'BEGIN {split(bars, b, " "); exit !(b[1] > 0 && (b[2] / b[1] - 2) ^ 2 < 1e-4)}'

# ---- a measurement on the driver's double -----------------------------------------------------------------

# Its kernels never run: what is only written stays as it was, all bits set, which is what this reference wants.
cat >"$work/minus.c" <<'C'
#include <tegula/kernel.h>
KERNEL(minus_one) {
    params(N);
    tunables(block, 128);
    tensor(x, I32, N);
    tensor(y, I32, N);
    grid(pid, ceildiv(N, block)) threads(tid, block) {
        let(i, add(mul(pid, block), tid));
        when(lt(i, N)) set(at(y, i), sub(sub(at(x, i), at(x, i)), 1));
    }
}
KERNEL(minus_two) {
    params(N);
    tunables(block, 64);
    tensor(x, I32, N);
    tensor(y, I32, N);
    grid(pid, ceildiv(N, block)) threads(tid, block) {
        let(i, add(mul(pid, block), tid));
        when(lt(i, N)) set(at(y, i), sub(mul(at(x, i), 0), block == 32 ? 2 : 1));
    }
}
/* Reads and writes its output in place; otherwise it has the arguments of a matrix times a vector. */
KERNEL(keep) {
    params(N, K);
    tensor(vector, F16, K);
    tensor(matrix, F16, N, K);
    tensor(output, F16, N);
    grid(pid, ceildiv(N, 128)) threads(tid, 128) {
        let(i, add(mul(pid, 128), tid));
        when(lt(i, N)) set(at(output, i), choose(lt(i, N), at(output, i), mul(at(matrix, i, 0), at(vector, 0))));
    }
}
C
if [ -n "${TEGULA_FAKE_CUDA:-}" ] && have_nvrtc; then
    export TEGULA_LIBCUDA="$TEGULA_FAKE_CUDA"
    printf '{"rows": [{"problem": "N=4096", "name": "Other", "stream": {"median_us": 1}}]}\n' >"$work/rows.json"
    minus=$(ready "$work/minus.c")
    measure="bench -k $minus minus_one -p N=4096"
    # shellcheck disable=SC2086
    {
        expect 0 "^Fake GPU, driver 13.0" $measure
        expect 0 "^minus_one +11\.72 .* 100\.0 +1500\.00 .* 100\.0 +default block=128" $measure --mode both
        expect 0 "^minus_one .*given block=64" $measure -p block=64
        expect 0 "^N=8192: 0.065536 MB" $measure -p N=4096,8192
        expect 0 "^driver's copy +11\.72" $measure
        expect 0 "^ran once: minus_one N=4096 block=128: right" $measure --profile
        expect 0 "^N=4096,kernel,minus_one,default,block=128,cold,1500\.0000,.*,right$" $measure --mode cold --csv
        expect 0 '"samples": 7,$' $measure --json --repeat 7
        expect 1 "^thread_naive .*WRONG .*differs from the reference before timing" bench thread_naive -p N=64 -p K=64
        expect 0 "^minus_one, dependent +11" $measure --dependent
        holds "plain launches stand beside dependent ones" grep -qE "^minus_one +11" "$work/out"
        expect 0 "^minus_two +11" bench -k $minus -p N=4096 minus_one minus_two
        expect 1 "^minus_two .*WRONG +given block=32" bench -k $minus -p N=4096 -p block=64,32 minus_one minus_two
        holds "configurations of a kernel stand together" awk '/^minus/ {if ($1 != last) n++; last = $1} END {exit n != 2}' "$work/out"
        expect 0 "^Other +1\.00 " $measure --rows "$work/rows.json"
    }
    library="bench -k $minus keep -p N=256 -p K=64"
    # shellcheck disable=SC2086
    {
        export TEGULA_CUBLAS="$TEGULA_FAKE_CUBLAS"
        expect 0 "^cuBLAS +11\.72 .* +GemmEx$" $library
        expect 0 "cuBLAS 13\.0\.2" $library
        expect 0 '"check": "right"' $library --json
        export TEGULA_CUBLAS=/nowhere
        expect 0 "^cuBLAS +- .* no cuBLAS: TEGULA_CUBLAS=/nowhere: " $library
        export TEGULA_CUBLAS="$work"
        expect 0 "^cuBLAS +- .* no cuBLAS: TEGULA_CUBLAS=$work: holds no libcublas.so" $library
        unset TEGULA_CUBLAS
    }

    # What a kernel is held against may hang as a kernel may: a ceiling, which has blocks of 512 threads; the flush of
    # cold mode, which has 256; cuBLAS.  What was measured is shown.
    hang_against() { # MOOD KERNEL-ROW REASON ARGUMENT..
        FAKE_CUDA=$1 row=$2 reason=$3
        export FAKE_CUDA
        shift 3
        timeout 60 "$TEGULA" bench "$@" --timeout 1 >"$work/out" 2>&1
        holds "bench ends, exit status 1" [ $? = 1 ]
        holds "the reason" grep -qE "$reason" "$work/out"
        holds "the row before" grep -qE "$row" "$work/out"
        unset FAKE_CUDA
    }
    hang_against "512:hang" "^minus_one +28\.00 .*block=64" "^tegula: the memory's ceilings: the launch did not end in 1 s" \
        -k $minus minus_one -p N=4096 -p block=64,32
    holds "the rest is left out" grep -q "the GPU is lost with that: 1 more configurations were not measured" "$work/out"
    hang_against "256:hang" "^minus_one .*block=64 +the launch did not end in 1 s" "^tegula: minus_one: the launch did not end" \
        -k $minus minus_one -p N=4096 -p block=64 --mode cold
    TEGULA_CUBLAS=$TEGULA_FAKE_CUBLAS FAKE_CUBLAS=hang
    export TEGULA_CUBLAS FAKE_CUBLAS
    hang_against "" "^cuBLAS +- .* the launch did not end in 1 s" "^tegula: cuBLAS: the launch did not end in 1 s" \
        -k $minus keep -p N=256 -p K=64
    holds "and the kernel's row" grep -qE "^keep +[0-9]" "$work/out"
    unset TEGULA_CUBLAS FAKE_CUBLAS

    # Configurations that fail.

    kernels=$(ready tests/tool/tune.c)
    FAKE_CUDA="96:hang"
    export FAKE_CUDA
    expect 1 "^unchanged .*given num_threads=96 tag=1  the launch did not end in 3 s" \
        bench -k $kernels unchanged -p num_threads=64,96,128 --timeout 3
    holds "what was measured before is shown" grep -qE "^unchanged +28.00 .*num_threads=64" "$work/out"
    holds "what comes behind is counted" grep -q "the GPU is lost with that: 1 more configurations were not measured" "$work/out"
    expect 1 "^FAILED unchanged: the launch did not end in 3 s$" run -k $kernels unchanged -p num_threads=96 --timeout 3
    # One that hangs only while it is timed: after the call that is checked; in the first samples.
    for after in 1 50; do
        FAKE_CUDA_AFTER=$after
        export FAKE_CUDA_AFTER
        expect 1 "^unchanged .*given num_threads=96 tag=1  the launch did not end in 2 s" \
            bench -k $kernels unchanged -p num_threads=64,96,128 --timeout 2
        holds "what was measured before is shown" grep -qE "^unchanged +28.00 .*num_threads=64" "$work/out"
    done
    FAKE_CUDA_AFTER=5
    expect 1 "^FAILED unchanged: the launch did not end in 2 s$" run -k $kernels unchanged -p num_threads=96 --timeout 2
    unset FAKE_CUDA_AFTER

    # A configuration that hangs costs nothing of what is known of those before, whoever ends it.
    FAKE_CUDA="64:wrong 96:hang"
    ended="3 configurations right, 2 wrong, 0 refused; num_threads=96 tag=1: the launch did not end in 2 s; 9 more not run"
    expect 1 "^FAILED unchanged: $ended$" run -k $kernels unchanged --configs all --timeout 2
    holds "reports of those before" [ "$(grep -c '^unchanged N=1000 num_threads=64 tag=[12]$' "$work/out")" = 2 ]
    expect 1 '"reports": "unchanged N=1000 num_threads=64 tag=1' run -k $kernels unchanged --configs all --timeout 2 --json
    holds "JSON says how it ended" grep -q '"ended_by": "num_threads=96 tag=1",$' "$work/out"
    expect 2 "its builder did not end" run -k $kernels bad_builder --configs all --timeout 1 -v -o "$work/report"
    holds "reports of a process that was ended" [ "$(grep -c '^ok bad_builder: ' "$work/report")" = 2 ]
    holds "and its last line" grep -qE \
        "^FAILED bad_builder: 2 configurations right, .*; num_threads=64: its builder did not .*; 2 more not run$" "$work/report"
    "$TEGULA" run -k $kernels unchanged --configs all --timeout 60 >"$work/out" 2>&1 &
    hanging=$!
    holds "what is known is printed at once" within 50 grep -q "^unchanged N=1000 num_threads=64 tag=2$" "$work/out"
    holds "while another hangs" kill $hanging
    wait $hanging 2>"$work/log"

    # A check() that fails is a failure whatever came out.
    cat >"$work/guard.c" <<'C'
#include <tegula/kernel.h>
KERNEL(guard) {
    params(n);
    tensor(x, F32, n);
    grid(p, 1) threads(t, 64) { check(lt(at(x, t), 2.0), "x is below 2"); }
}
C
    FAKE_CUDA=
    expect 0 "^ok guard: it writes nothing" run -k "$work/guard.c" guard -p n=64
    FAKE_CUDA="64:check"
    expect 1 "^FAILED guard \(check failed\): it writes nothing" run -k "$work/guard.c" guard -p n=64
    holds "with its place" grep -q "guard.c:5: check failed: x is below 2" "$work/out"
    expect 1 '"result": "FAILED"' run -k "$work/guard.c" guard -p n=64 --json

    # The last line says so.
    FAKE_CUDA="96:hang 64:fail 128:big 256:gone" FAKE_CUDA_GONE=$work/gone
    export FAKE_CUDA_GONE
    for row in "96|the launch did not end in 2 s" "64|launching .*ILLEGAL_ADDRESS" "128|launching .*OUT_OF_RESOURCES" \
        "256|launching .*ILLEGAL_ADDRESS"; do
        "$TEGULA" run -k $kernels unchanged -p "num_threads=${row%%|*}" --timeout 2 >"$work/out" 2>"$work/log"
        holds "exit status 1" [ $? = 1 ]
        holds "run ends with FAILED and the reason" sh -c \
            "tail -n 1 '$work/out' | grep -qE '^FAILED unchanged: ${row#*|}'"
    done
    expect 3 "^FAILED unchanged: no GPU: " run -k $kernels unchanged --device cuda:0
    "$TEGULA" run -k $kernels unchanged -p num_threads=256 --device cuda:0 --json >"$work/out" 2>"$work/log"
    holds "JSON has it too" grep -q '"result": "FAILED"' "$work/out"
    holds "and the reason" grep -q '"why": "no GPU: ' "$work/out"
    unset FAKE_CUDA_GONE
    FAKE_CUDA="64:fail 96:big"
    expect 1 "^unchanged .*given num_threads=96 tag=1  launching .*OUT_OF_RESOURCES" \
        bench -k $kernels unchanged -p num_threads=96,32,64,128
    holds "one that asks for too much costs no other" grep -qE "^unchanged +32.00 .*num_threads=32" "$work/out"
    holds "a crash has its row" grep -qE "^unchanged .*num_threads=64 tag=1  launching .*ILLEGAL_ADDRESS" "$work/out"
    holds "it is said once" [ "$(grep -c '^tegula: .*ILLEGAL_ADDRESS' "$work/out")" = 1 ]
    unset FAKE_CUDA TEGULA_LIBCUDA
else
    echo "the driver's double or NVRTC is missing: no measurement"
fi

finish
