# lib.sh -- what the tests of the command share.  Sourced, from the root of the checkout; TEGULA is the command.
set -u
export LC_ALL=C
: "${TEGULA:?the path of the command}"
passed=0 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export TMPDIR="$work" # what the command leaves behind would show here
TEGULA_CACHE_DIR=$work/cache
XDG_STATE_HOME=$work/state
export TEGULA_CACHE_DIR XDG_STATE_HOME
unset TEGULA_TUNED TEGULA_DEVICES TEGULA_NO_CACHE TEGULA_DUMP TEGULA_NVRTC TEGULA_LIBCUDA
mistakes=tests/tool/mistakes.c # $(ready $mistakes): the same, compiled once instead of by every command

pass() {
    passed=$((passed + 1))
}

fail() {
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$1"
    [ -s "${2-$work/out}" ] && sed 's/^/    /' "${2-$work/out}" | head -n 20
}

# expect STATUS PATTERN ARGUMENT..: the command ends with the status, and a line of what it prints (on either output)
# matches the extended regular expression.
expect() {
    status=$1 pattern=$2
    shift 2
    "$TEGULA" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got != "$status" ]; then
        fail "tegula $*: exit status $got, expected $status"
    elif ! grep -qE -- "$pattern" "$work/out"; then
        fail "tegula $*: no line matches '$pattern'"
    else
        pass
    fi
}

# holds WHAT COMMAND..: the shell command succeeds.
holds() {
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then pass; else fail "$what" "$work/log"; fi
}

# within SECONDS COMMAND..: the shell command succeeds by then.  Waiting for what must come, instead of for a while, takes
# no longer than it must and holds on a machine that is busy.
within() {
    tenths=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $tenths -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

# Process, group, parent of everything that still computes: who is dead but not yet buried does not count.
running() {
    ps -A -o pid= -o pgid= -o ppid= -o stat= 2>/dev/null | awk '$4 !~ /^Z/'
}

# no_process COLUMN NUMBER: none is running with that number (pid 1, group 2, parent 3).
no_process() {
    [ -z "$(running | awk -v column="$1" -v number="$2" '$column == number')" ]
}

# Interrupts the process group, as a terminal does, until its leader, which must be a child of this shell, has ended: a
# first one may come before anybody listens.  Leaves its exit status in $status.
interrupt_group() {
    while kill -0 "$1" 2>/dev/null; do
        kill -INT -"$1" 2>/dev/null
        sleep 0.3
    done
    wait "$1"
    status=$?
}

# ready FILE.c: a shared object of its kernels with the YAML beside it.
ready() {
    made=$work/$(basename "$1" .c).so
    if [ ! -f "$made" ]; then
        ${CC:-cc} -std=gnu11 -O1 -fPIC -shared -w -Iinclude "$1" -o "$made" || exit 1
        [ ! -f "${1%.c}.yaml" ] || cp "${1%.c}.yaml" "$work/"
    fi
    echo "$made"
}

have_nvrtc() {
    "$TEGULA" emit thread_naive --stage cubin --no-cache -q -o /dev/null >/dev/null 2>&1
}

finish() {
    left=$(find "$work" -maxdepth 1 -name 'tegula-*' | head -n 1)
    if [ -n "$left" ]; then
        : >"$work/out"
        fail "a temporary file was left: $left"
    fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}
