#!/bin/sh
# test_tool_tune.sh -- `tegula tune` on the driver's double: a right winner is found among configurations that hang,
# crash, answer wrongly or are illegal; records are kept, used, and healed; an interrupted run goes on.
. tests/tool/lib.sh
kernels=$(ready tests/tool/tune.c)
if ! have_nvrtc; then
    echo "no NVRTC on this machine"
    exit 77
fi
: "${TEGULA_FAKE_CUDA:?the path of the driver's double}"
export TEGULA_LIBCUDA="$TEGULA_FAKE_CUDA" FAKE_CUDA=""
records=$work/tuned.jsonl
tune="tune -k $kernels --timeout 20 --records $records"

# ---- the winner and the failures --------------------------------------------------------------------------

FAKE_CUDA="64:wrong 256:fail 512:big"
expect 0 "^unchanged N=1000 on Fake GPU: 14 configurations, 6 right" $tune unchanged
holds "128 threads take least" sh -c "grep -m1 ' us ' '$work/out' | grep -q 'num_threads=128'"
for reason in "2 rejected: tune.c:[0-9]+: not supported: at most 512 threads" "2 resources: .*OUT_OF_RESOURCES" \
    "2 wrong: 1 of 1000 elements of x wrong, the first at" "2 crashed: .*ILLEGAL_ADDRESS"; do
    holds "reason: $reason" grep -qE "$reason" "$work/out"
done
holds "a record a configuration" [ "$(grep -c '"status":"ok","mode":"look"' "$records")" = 6 ]
holds "the best few are timed with care" grep -q '"num_threads":128.*"mode":"stream","median_us":[12]' "$records"

# A hang is ended after the time limit, and the rest goes on.
FAKE_CUDA="96:hang"
expect 0 "[0-9]+ timeout: running it did not end in time" tune -k $kernels --timeout 8 --records "$work/hang.jsonl" \
    unchanged -p num_threads=96,128 -p tag=1
holds "the others are right" grep -q "3 configurations, 2 right" "$work/out"

# The builder hangs in one configuration and crashes in another.
FAKE_CUDA=""
expect 0 "^bad_builder .*4 configurations, 2 right" tune -k $kernels --timeout 8 --records "$work/builder.jsonl" bad_builder
holds "the builder's hang" grep -q "1 timeout: building it did not end in time" "$work/out"
holds "the builder's crash" grep -q "1 crashed: it ended its process: Segmentation fault" "$work/out"

expect 1 "2 crashed: making its arguments or running its reference: .*Segmentation fault" $tune bad_reference
for kernel in by_tag by_both by_look; do # in whatever order the configurations become ready
    expect 0 "1 wrong: 1 of 1000 elements of x wrong" $tune $kernel
done
expect 0 "^twins .*7 configurations, 7 right" $tune twins
holds "equal code is measured once" [ "$(grep '"kernel":"twins".*"num_threads":128' "$records" |
    grep -o '"median_us":.*"code"' | sort -u | wc -l)" -le 2 ] # a look, and with care

# ---- nothing to find --------------------------------------------------------------------------------------

expect 2 "4 rejected: tune.c:[0-9]+: not supported: threads in sevens and three" $tune never_legal
expect 2 "untunable has no tunables: there is nothing to tune" $tune untunable
expect 2 "^tegula: the configuration has 'nm_threads', which 'unchanged' does not ask for: did you mean 'num_threads'" \
    $tune unchanged -p nm_threads=32,64
expect 2 "tune needs kernels, or --suite" tune
expect 2 "there is no suite" $tune --suite nothing
expect 2 "unknown kernel 'unchangd', did you mean unchanged" $tune unchangd
expect 2 "--no-cache is not for it" $tune --no-cache unchanged
expect 2 "--gpu and --target are not for it" $tune --gpu a100 unchanged
FAKE_CUDA="32:wrong"
expect 1 "1 wrong" tune -k $kernels --records "$work/wrong.jsonl" unchanged -p num_threads=32 -p tag=1
FAKE_CUDA=""

# ---- YAML -------------------------------------------------------------------------------------------------

# $1: the tune space; $2: status; $3: what is said
space() {
    cp $kernels "$work/s.so"
    printf 'unchanged:\n    params: {N: 1000}\n    tune: %s\n' "$1" >"$work/s.yaml"
    expect "$2" "$3" tune -k "$work/s.so" --records "$work/space.jsonl" unchanged
}
space "{num_thread: [32]}" 2 "s.yaml:3:12: error: 'num_thread' is no tunable of unchanged, did you mean num_threads"
space "{N: [32]}" 2 "'N' is no tunable of unchanged"
many=$(seq -s, 1 256)
space "[{tag: [$many], num_threads: [$many]}, {tag: [$many], num_threads: [$many]}]" 2 \
    "unchanged: 1.31e\+05 configurations: give a limit, such as --budget 60"
space "[]" 2 "unchanged has no space to tune: .* give values, such as -p num_threads=32,64,128"

# ---- a product that 64 bits do not count ------------------------------------------------------------------

{
    echo '#include <tegula/kernel.h>'
    echo 'KERNEL(wide) { params(N); tunables(a, 1, b, 1, c, 1, d, 1, e, 1, f, 1, g, 1, h, 1); tensor(x, I32, N);'
    echo 'grid(pid, 1) threads(tid, 32) { set(at(x, tid), add(at(x, tid), 0)); } }'
} >"$work/w.c"
{
    printf 'wide:\n    params: {N: 32}\n    tune: {'
    for axis in a b c d e f g; do printf '%s: [%s], ' $axis "$many"; done
    printf 'h: [%s]}\n' "$many"
} >"$work/w.yaml"
expect 2 "wide: its tune space has more points than 64 bits count" tune -k "$work/w.c" --records "$work/space.jsonl" wide

# ---- resuming, tearing, other devices ---------------------------------------------------------------------

lines=$(wc -l <"$records")
expect 0 "12 of them were in the file already" $tune unchanged
holds "a rerun adds nothing" [ "$(wc -l <"$records")" = "$lines" ]
expect 0 "^7 configurations .*; 6 of them were in the file already" $tune unchanged -p tag=1
printf '{"kernel":"unchanged","dev' >>"$records"
expect 0 "1 lines are no records and are skipped, the first is line" $tune unchanged
holds "the torn line is ended" [ "$(tail -c 1 "$records" | od -An -c | tr -d ' ')" = '\n' ]
sed 's/Fake GPU/Another GPU/' "$records" >"$work/other.jsonl"
expect 0 "14 configurations in [0-9.]+ s, [0-9.]+ a second; records" tune -k $kernels --timeout 20 --records "$work/other.jsonl" unchanged
holds "records of another GPU are left alone" grep -q "Another GPU" "$work/other.jsonl"

# ---- the GPU disappears -----------------------------------------------------------------------------------

FAKE_CUDA="256:gone" FAKE_CUDA_GONE=$work/gone
export FAKE_CUDA_GONE
expect 3 "ended early: .*CUDA_ERROR_NO_DEVICE" tune -k $kernels --records "$work/gone.jsonl" unchanged
holds "what was measured before is kept" grep -q '"status":"ok"' "$work/gone.jsonl"
expect 3 "tune times kernels on a GPU, and there is none" tune -k $kernels --records "$work/gone.jsonl" unchanged
rm -f "$work/gone"
FAKE_CUDA=""
unset FAKE_CUDA_GONE

# ---- Ctrl-C -----------------------------------------------------------------------------------------------

# interrupted WHEN COMMAND..: a tune run is interrupted as soon as the shell command succeeds.
interrupted() {
    when=$1
    shift
    rm -f "$work/i.jsonl"
    FAKE_CUDA="96:hang 512:hang" setsid sh -c 'trap - INT; exec "$0" "$@"' "$TEGULA" tune -k $kernels --timeout 60 \
        --records "$work/i.jsonl" unchanged >"$work/out" 2>&1 &
    pid=$!
    within 60 "$@"
    interrupt_group $pid
    holds "interrupted $when: status $status" [ $status = 130 ]
    holds "interrupted $when: no process is left" within 5 no_process 2 $pid
}
if command -v setsid >/dev/null; then
    for seconds in 0.05 0.5 1.5; do interrupted "after $seconds s" sleep $seconds; done
    interrupted "with something measured" grep -q '"status":"ok"' "$work/i.jsonl"
    holds "an interrupted run says so" grep -q "interrupted: the same command goes on from here" "$work/out"
    kept=$(grep -c '"status":"ok"' "$work/i.jsonl")
    holds "what was measured is kept" [ "$kept" -ge 1 ]
    expect 0 "12 right" tune -k $kernels --records "$work/i.jsonl" unchanged
    holds "a rerun goes on" grep -qE "[0-9]+ of them were in the file already" "$work/out"
fi

# ---- the records are used ---------------------------------------------------------------------------------

expect 0 "^tuned: unchanged: num_threads=128 tag=[12]" run unchanged -k $kernels --records "$records"
expect 0 "num_threads=128 tag=2" run unchanged -k $kernels --records "$records" -p tag=2
expect 0 "num_threads=32 tag=1" run unchanged -k $kernels --records "$records" -p num_threads=32 -p tag=1
expect 0 "measured for N=1000, the nearest" run unchanged -k $kernels --records "$records" -p N=1100
TEGULA_TUNED=$records
export TEGULA_TUNED
expect 0 "^tuned: unchanged: num_threads=128" run unchanged -k $kernels
unset TEGULA_TUNED
sed 's/Fake GPU/NVIDIA A100-SXM4-80GB/;s/"sms":4/"sms":108/' "$records" >"$work/a100.jsonl"
expect 0 "num_threads = 128 \(tuned\), tag = [12] \(tuned\)" emit unchanged -k $kernels --records "$work/a100.jsonl"
expect 0 "num_threads = 32 \(default\), tag = 1 \(default\)" emit unchanged -k $kernels
expect 0 "num_threads = 64 \(given\)" emit unchanged -k $kernels --records "$work/a100.jsonl" -p num_threads=64
sed 's/"num_threads":128/"num_threads":1024/' "$work/a100.jsonl" >"$work/illegal.jsonl"
expect 0 "does not take its tuned values; the defaults are used" emit unchanged -k $kernels --records "$work/illegal.jsonl"
holds "then the defaults" grep -q "num_threads = 32 (default)" "$work/out"

# Extents come with the launch: other ones are measured anew, and named.
expect 0 "^by_rows N=1000 rows=4 on Fake GPU: 2 configurations, 2 right" $tune by_rows
expect 0 "^2 configurations in .*; 2 of them were in the file already" $tune by_rows
expect 0 "^by_rows N=1000 rows=9 on Fake GPU: 2 configurations, 2 right" $tune by_rows -p rows=4,9
holds "those of 4 rows are known, those of 9 are not" grep -q "^4 configurations .*; 2 of them were in the file" "$work/out"
expect 0 "^by_rows N=1000 rows=9 on Fake GPU: 2 configurations, 2 right" \
    tune -k $kernels --replay "$records" by_rows -p rows=9
expect 2 "no record of by_rows with N=1000 rows=5 on Fake GPU; there are: N=1000 rows=4 on Fake GPU" \
    tune -k $kernels --replay "$records" by_rows -p rows=5
holds "a bench says which" "$TEGULA" bench -k $kernels by_rows -p rows=9 -o "$work/bench"
holds "rows stand in its heading" grep -q "^N=1000 rows=9: " "$work/bench"

# ---- replay, budget, JSON ---------------------------------------------------------------------------------

TEGULA_LIBCUDA=/nowhere
expect 0 "^unchanged N=1000 on Fake GPU: 14 configurations, 6 right" tune -k $kernels --replay "$records" unchanged
expect 2 "no record of unchanged with N=77 on Fake GPU; there are: N=1000 on Fake GPU" \
    tune -k $kernels --replay "$records" unchanged -p N=77
expect 2 "there is no such file" tune -k $kernels --replay "$work/nothing" unchanged
expect 0 '"out_of_time": true' tune -k $kernels --replay "$records" unchanged --budget 0.32 --json
TEGULA_LIBCUDA=$TEGULA_FAKE_CUDA
expect 0 "time is up before all were tried" tune -k $kernels --records "$work/budget.jsonl" unchanged --budget 0.301
expect 0 '"configurations_per_second": [0-9.]+' $tune unchanged --json
expect 0 "^unchanged N=2000 .*1 right" $tune unchanged -p N=1000,2000 -p num_threads=32 -p tag=1
finish
