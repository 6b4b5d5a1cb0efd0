#!/bin/sh
# threads.sh -- the library under the thread sanitizer: launches, preparing, sources, failures and the cache from
# sixteen threads at once, with the driver's double.  Skipped where the sanitizer or NVRTC does not work.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TEGULA_BUILD:?the build folder}
fake=${TEGULA_FAKE_CUDA:?the double of the driver}
cc=${CC:-cc}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1

skip() {
    echo "skipped: $1"
    exit 77
}

printf 'int main(void) { return 0; }\n' >"$work/empty.c"
"$cc" -fsanitize=thread "$work/empty.c" -o "$work/empty" 2>/dev/null || skip "$cc has no thread sanitizer"
# With much randomness of addresses the sanitizer cannot start; some systems let a process do without it.
if "$work/empty" 2>/dev/null; then
    calm=
elif setarch -R "$work/empty" 2>/dev/null; then
    calm="setarch -R"
else
    skip "the thread sanitizer does not run here"
fi

"$cc" -std=c11 -g1 -O0 -fsanitize=thread -ffp-contract=off -w -I"$root/include" -I"$root/src" -I"$build/generated" \
    "$root"/src/dsl/*.c "$root"/src/codegen/*.c "$root"/src/runtime/*.c "$build/generated/templates.c" \
    "$root/tests/threads.c" -o "$work/threads" -lpthread -ldl -lm || exit 1

export TEGULA_LIBCUDA="$fake" TEGULA_CACHE_DIR="$work/cache" TSAN_OPTIONS=halt_on_error=1
$calm "$work/threads" >"$work/out" 2>&1
status=$?
cat "$work/out"
[ $status -eq 77 ] && skip "$(tail -n 1 "$work/out")"
exit $status
