#!/bin/sh
# test_tool_machine.sh -- what the command does on a machine that lacks something, is full, or is interrupted.
. tests/tool/lib.sh

# with NAME=VALUE.. -- expect-arguments: the same under other environment variables.
with() {
    for pair in "$@"; do
        shift
        [ "$pair" = -- ] && break
        eval "export ${pair%%=*}='${pair#*=}'"
        set_here="${set_here-} ${pair%%=*}"
    done
    expect "$@"
    # shellcheck disable=SC2086
    unset ${set_here-}
    unset set_here
    export TEGULA_CACHE_DIR="$work/cache"
}

# ---- no GPU, no NVRTC -------------------------------------------------------------------------------------

# A driver that is none, so that the test means the same on a machine with a GPU.
with TEGULA_LIBCUDA=/nowhere/libcuda.so.1 -- 3 "no GPU: " run thread_naive -p N=64 -p K=64 --device cuda:0
with TEGULA_LIBCUDA=/nowhere/libcuda.so.1 -- 0 "^ok thread_naive: .*simulated" run thread_naive -p N=64 -p K=64
with TEGULA_LIBCUDA=/nowhere/libcuda.so.1 -- 3 "bench needs a GPU" bench thread_naive
printf 'extern "C" __global__ void thread_naive() {}\n' >"$work/own.cu"
with TEGULA_LIBCUDA=/nowhere/libcuda.so.1 -- 3 "runs on a GPU only" run thread_naive --cuda "$work/own.cu"
with TEGULA_LIBCUDA=/nowhere/libcuda.so.1 -- 1 "driver .*/nowhere/libcuda.so.1" doctor

with TEGULA_NVRTC=/nowhere/libnvrtc.so -- 3 "NVRTC" emit thread_naive --stage cubin -o "$work/k.cubin"
with TEGULA_NVRTC=/nowhere/libnvrtc.so -- 0 "__global__" emit thread_naive
with TEGULA_NVRTC=/nowhere/libnvrtc.so -- 1 "nvrtc .*/nowhere/libnvrtc.so" doctor
with TEGULA_NVRTC=/nowhere/libnvrtc.so -- 3 "^thread_naive +[0-9.]+$" bench --jit thread_naive --repeat 3
cat >"$work/old.c" <<'C'
#define SAYS_NO(name) int name(void) { return 1; }
int nvrtcVersion(int *major, int *minor) { *major = 11; *minor = 8; return 0; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return 0; }
int nvrtcGetSupportedArchs(int *archs) { *archs = 80; return 0; }
const char *nvrtcGetErrorString(int code) { return code ? "no" : "yes"; }
SAYS_NO(nvrtcCreateProgram) SAYS_NO(nvrtcDestroyProgram) SAYS_NO(nvrtcCompileProgram) SAYS_NO(nvrtcGetPTXSize)
SAYS_NO(nvrtcGetPTX) SAYS_NO(nvrtcGetCUBINSize) SAYS_NO(nvrtcGetCUBIN) SAYS_NO(nvrtcGetProgramLogSize)
SAYS_NO(nvrtcGetProgramLog)
C
if ${CC:-cc} -shared -fPIC "$work/old.c" -o "$work/libnvrtc.so" 2>/dev/null; then
    with TEGULA_NVRTC="$work/libnvrtc.so" -- 3 "NVRTC" emit thread_naive --stage cubin -o "$work/k.cubin"
    with TEGULA_NVRTC="$work/libnvrtc.so" -- 1 "11\.8" doctor
fi

# ---- the cache directory ----------------------------------------------------------------------------------

: >"$work/file"
with TEGULA_CACHE_DIR="$work/file" -- 3 "there is no disk cache: " cache stat
with TEGULA_CACHE_DIR="$work/file" -- 1 "cache +in memory only: " doctor
with TEGULA_CACHE_DIR="$work/file" -- 0 "__global__" emit thread_naive
with TEGULA_NO_CACHE=1 -- 0 "__global__" emit thread_naive

with TEGULA_CUBLAS=/nowhere/libcublas.so -- 1 "^cublas +none: .*TEGULA_CUBLAS=/nowhere/libcublas.so: " doctor

# The benchmark is what fills a cache without a GPU: it must go on where it cannot be filled.
if have_nvrtc; then
    with TMPDIR=/nowhere -- 3 "no temporary folder /nowhere" bench --jit thread_naive --repeat 1
    export TMPDIR="$work"
fi

# Entries cut and altered: verify removes them, says so, and never crashes.
mkdir -p "$work/cache/3f" && chmod 700 "$work/cache"
printf 'TEGULA' >"$work/cache/3f/3f00000000000000000000000000aa.tgc"
head -c 500 /dev/urandom >"$work/cache/3f/a04c0000000000000000000000000bb.tgc"
expect 1 "^[12] damaged entr" cache verify
expect 0 "^0 damaged entries removed" cache verify

# ---- files ------------------------------------------------------------------------------------------------

mkdir "$work/closed" && chmod 500 "$work/closed"
if ! touch "$work/closed/x" 2>/dev/null; then # root may write anywhere
    expect 3 "could not be written: Permission denied" emit thread_naive -o "$work/closed/k.cu"
    expect 3 "save .*Permission denied" run thread_naive -p N=64 -p K=64 --device sim --save "$work/closed/folder"
fi
chmod 700 "$work/closed"
"$TEGULA" emit thread_naive -q -o "$work/a.cu"
(umask 077 && "$TEGULA" emit thread_naive -q -o "$work/b.cu")
holds "the output file has the usual permissions" [ "$(stat -c %a "$work/b.cu")" = 600 ]
holds "a pipe that closes early is no failure of the kernel" sh -c \
    "'$TEGULA' emit thread_naive -q 2>'$work/err' | head -n 1 >/dev/null; ! grep -q crashed '$work/err'"

# ---- Ctrl-C -----------------------------------------------------------------------------------------------

has_child() {
    ! no_process 3 "$1"
}

# In the middle of a long simulation.
if command -v setsid >/dev/null; then
    echo old >"$work/kept.json"
    setsid sh -c 'trap - INT; exec "$0" run thread_naive --device sim --json -o "$1" -k "$2"' \
        "$TEGULA" "$work/kept.json" $mistakes >"$work/out" 2>&1 &
    pid=$!
    within 30 has_child $pid # the simulation
    interrupt_group $pid
    holds "an interrupted run ends by the signal (status $status)" [ $status = 130 ]
    holds "an interrupted run leaves the output file alone" grep -q old "$work/kept.json"
    holds "an interrupted run leaves no process" within 5 no_process 2 $pid
fi

# Killed outright, the child does not compute on.
"$TEGULA" run thread_naive --device sim -q >/dev/null 2>&1 &
pid=$!
holds "a run has a child" within 30 has_child $pid
child=$(running | awk -v parent=$pid '$3 == parent {print $1; exit}')
kill -9 $pid
wait $pid 2>/dev/null
holds "a killed run leaves no child" within 5 no_process 1 "${child:-none}"

# ---- many at once -----------------------------------------------------------------------------------------

for i in 1 2 3 4; do
    "$TEGULA" emit thread_naive -q -o "$work/same.cu" >"$work/many.$i" 2>&1 &
done
wait
"$TEGULA" emit thread_naive -q >"$work/alone.cu"
holds "four writers of one file leave it whole" cmp "$work/same.cu" "$work/alone.cu"

finish
