#!/bin/sh
# fuzz.sh -- what the command reads from files and the command line, given bytes that nobody wrote: no crash, no leak,
# never a refusal without a message.  A short run of each fuzzer, without optimising, which would take longer than the run;
# FUZZ_SECONDS=600 sh tests/fuzz.sh is a long one, FUZZERS=tests/fuzz/fuzz_pack.c of that one alone.
set -u
clang=$(command -v clang || command -v clang-14)
: "${TEGULA_BUILD:?the build folder}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n); int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return n && *d ? 0 : 0; }' >"$work/probe.c"
if [ -z "$clang" ] || ! "$clang" -fsanitize=fuzzer,address "$work/probe.c" -o "$work/probe" 2>/dev/null; then
    echo "clang with libFuzzer is not on this machine"
    exit 77
fi

passed=0 failed=0
flags="-std=c11 -g1 $([ -n "${FUZZ_SECONDS-}" ] && echo -O1 || echo -O0) -fno-sanitize-recover=all -Iinclude -Isrc"
sources="src/tool/options.c src/tool/nearest.c src/tool/npy.c src/tool/yaml.c src/tool/rows.c src/tool/devices.c
    src/tool/tool.c src/codegen/target.c src/runtime/error.c
    src/tool/bench_read.c src/tool/bench_results.c src/tool/bench_table.c src/tool/bench_svg.c
    src/runtime/records.c src/runtime/records_parse.c src/runtime/pack.c src/runtime/plan_bytes.c src/runtime/launch.c
    src/runtime/cache.c src/runtime/cache_admin.c src/codegen/plan.c
    $TEGULA_BUILD/generated/gallery_files.c $(ls src/dsl/*.c)"
rest=$TEGULA_BUILD/tests/libtegula_everything.a # what these need besides, as it was built
mkdir "$work/objects"

# Some make the first input themselves.
seed() {
    case $1 in
    *fuzz_pack | *fuzz_cache) (cd "$work" && FUZZ_SEED=$1.corpus/seed "$1" >"$work/log" 2>&1) ;;
    esac
}
for source in $sources; do
    # shellcheck disable=SC2086
    "$clang" $flags -fsanitize=fuzzer-no-link,address,undefined -I"$TEGULA_BUILD/generated" \
        -c "$source" -o "$work/objects/$(basename "$source" .c).o" || exit 1
done
for fuzzer in ${FUZZERS:-tests/fuzz/fuzz_*.c}; do
    name=$(basename "$fuzzer" .c)
    mkdir "$work/$name.corpus"
    case $name in
    fuzz_yaml) cp examples/*.yaml "$work/$name.corpus" ;;
    fuzz_options) printf 'run\nK\n-p\nN=4096\n--device\ncuda:0\n--in\na=b.npy\n--json\n' >"$work/$name.corpus/line" ;;
    fuzz_records) printf '{"kernel":"k","device":"G","cc":"9.0","sms":4,"params":{"N":8,"dtype":"f16"},"config":{"b":1},"status":"ok","mode":"look","median_us":2.5e1,"code":"0123456789abcdef"}\n{"kernel":"k\\u00e9","device":"G","sms":4,"status":"wrong","reason":"a \\"b\\""}\n' >"$work/$name.corpus/file" ;;
    fuzz_rows) cp tests/tool/bench.json "$work/$name.corpus/file" ;;
    fuzz_npy) printf '\223NUMPY\001\000\066\000{"descr": "<f4", "fortran_order": False, "shape": (1,)}abcd' >"$work/$name.corpus/file" ;;
    esac
    # shellcheck disable=SC2086
    if "$clang" $flags -fsanitize=fuzzer,address,undefined "$fuzzer" "$work"/objects/*.o "$rest" \
        -lyaml -lm -lpthread -ldl -o "$work/$name" >"$work/log" 2>&1 &&
        seed "$work/$name" && (cd "$work" && "./$name" -max_total_time="${FUZZ_SECONDS:-3}" -max_len=4096 \
            -rss_limit_mb=1024 -close_fd_mask=3 "$name.corpus") >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 30 "$work/log"
        cp "$work"/crash-* "$work"/leak-* "$TEGULA_BUILD" 2>/dev/null
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
