#!/bin/sh
# layers.sh -- who may include whom: checks every #include of the project against the table below, and in the
# built objects that no layer calls one above it.
#
#     sh tests/layers.sh              checks the project; TEGULA_BUILD names the build folder for the objects
#     sh tests/layers.sh --check DIR  checks the #includes of another tree of the same shape
#
# A run without arguments first shows that the check can fail: for each kind of breach it makes a small tree
# that holds just that breach and expects it to be reported.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)

# One row a rule: which files, which includes.  The first row whose file pattern matches decides; both are
# extended regular expressions over whole strings.  <..> and ".." are kept, so that a row can tell them apart.
table() {
    cat <<'ROWS'
include/tegula/.*           <(std[a-z]+|string|limits|float|inttypes|assert|complex|math|iso646)\.h>|[<"](tegula/)?(tegula|kernel|dlpack)\.h[>"]
src/dsl/.*                  LIBC|<tegula/tegula\.h>|"dsl/.*"
src/codegen/.*              LIBC|<tegula/tegula\.h>|"(dsl|codegen)/.*"|"(templates|build_id)\.h"
src/sim/witness.*           LIBC|<tegula/tegula\.h>|"dsl/(arena|value)\.h"|"sim/witness\.h"
src/sim/tile_reference.*    LIBC|<tegula/tegula\.h>|"dsl/.*"|"sim/(witness|tile_reference.*)\.h"
src/sim/.*                  LIBC|<tegula/tegula\.h>|"dsl/(arena|diag|expr|value)\.h"|"dsl/.*\.def"|"codegen/(thread|target|plan|banks)\.h"|"sim/(witness|sim.*)\.h"
src/runtime/.*              LIBC|<xxhash\.h>|<uthash\.h>|<tegula/(tegula|dlpack)\.h>|"dsl/(arena|diag)\.h"|"codegen/(pipeline|plan|cuda_print|target)\.h"|"(templates|build_id)\.h"|"runtime/.*"
src/tool/.*                 LIBC|<(yaml|xxhash|uthash)\.h>|<tegula/(tegula|dlpack)\.h>|"(dsl|codegen|sim|runtime|tool)/.*"|"(templates|report_files|gallery_files|build_id)\.h"
examples/.*                 LIBC|<tegula/.*>|"reference\.h"
tests/.*                    .*
ROWS
}

# What every file of src may include: headers of the C library and POSIX.
libc='<(assert|complex|ctype|dirent|dlfcn|errno|fcntl|fenv|float|ftw|getopt|glob|inttypes|libgen|limits|locale|math|poll|pthread|pwd|regex|sched|search|semaphore|setjmp|signal|spawn|stdarg|stdalign|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|termios|time|ucontext|unistd|wchar|sys/[a-z]+|link|elf)\.h>'

# Prints one line for each breach in the tree $1.
breaches() {
    cd "$1" || exit 1
    find include src examples tests -type f \( -name '*.[ch]' -o -name '*.def' \) 2>/dev/null | sort |
        xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        TABLE=$(table) LIBC=$libc awk '
            BEGIN {
                n = split(ENVIRON["TABLE"], rows, "\n")
                for (i = 1; i <= n; i++) {
                    split(rows[i], part, /  +/)
                    file[i] = "^(" part[1] ")$"
                    allowed[i] = part[2]
                    gsub(/LIBC/, ENVIRON["LIBC"], allowed[i])
                    allowed[i] = "^(" allowed[i] ")$"
                }
            }
            {
                match($0, /^[^:]*:[0-9]+:/)
                where = substr($0, 1, RLENGTH - 1)
                path = where
                sub(/:[0-9]+$/, "", path)
                if (!match($0, /[<"][^<>"]*[>"]/)) { # a macro: a test may have headers given to it
                    if (path !~ /^tests\//) print where ": unreadable #include"
                    next
                }
                what = substr($0, RSTART, RLENGTH)
                for (i = 1; i <= n; i++)
                    if (path ~ file[i]) {
                        if (what !~ allowed[i]) print where ": may not include " what
                        next
                    }
                print where ": a folder that the table does not know"
            }'
}

# ---- the check fails where it should ----------------------------------------------------------------------

# One row a breach: file, what it includes.
bad_rows() {
    cat <<'ROWS'
include/tegula/tegula.h   "dsl/tile.h"
include/tegula/tegula.h   <pthread.h>
src/dsl/build.c           "codegen/thread.h"
src/dsl/build.c           <tegula/kernel.h>
src/dsl/tile.h            <yaml.h>
src/codegen/tile_lower.c  "runtime/nvrtc.h"
src/codegen/tile_lower.c  "sim/sim.h"
src/codegen/cuda_print.c  <cuda.h>
src/sim/sim.c             "dsl/tile.h"
src/sim/sim.c             "sim/tile_reference.h"
src/sim/sim_race.c        "codegen/pipeline.h"
src/sim/tile_reference.c  "codegen/thread.h"
src/sim/tile_reference.c  "sim/sim.h"
src/sim/witness.c         "codegen/thread.h"
src/runtime/launch.c      "codegen/tile_lower.h"
src/runtime/launch.c      "dsl/tile.h"
src/runtime/nvrtc.c       <nvrtc.h>
src/runtime/jit.c         "sim/sim.h"
src/tool/run.c            <tegula/kernel.h>
src/tool/run.c            <cuda.h>
examples/gemv.c           "dsl/tile.h"
src/other/new.c           <stdio.h>
ROWS
}

self_test() {
    tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT || exit 1
    bad_rows | while read -r file what; do
        mkdir -p "$tree/${file%/*}"
        printf '#include %s\n' "$what" >"$tree/$file"
        found=$(breaches "$tree")
        rm "$tree/$file"
        case $found in
        "$file:1: "*) ;;
        *) echo "layers: the check does not see that $file includes $what" && exit 1 ;;
        esac
    done || exit 1
    mkdir -p "$tree/src/codegen"
    printf '#include <stdio.h>\n#include "dsl/tile.h"\n' >"$tree/src/codegen/good.c"
    [ -z "$(breaches "$tree")" ] || { echo "layers: the check refuses what is allowed" && exit 1; }
}

# ---- the objects ------------------------------------------------------------------------------------------

# What nm says of the objects of a folder; nothing of one that was not built.
objects() {
    find "$TEGULA_BUILD/CMakeFiles/tegula_$1.dir" -name '*.o' -exec nm "$2" {} + 2>/dev/null
}

# Prints each symbol that the objects of the folders $1 need and those of the folders $2 define.
calls_upwards() {
    for folder in $1; do objects "$folder" -u; done |
        awk 'NF >= 2 {print $NF}' | sort -u >"$tree/needs"
    for folder in $2; do objects "$folder" --defined-only; done |
        awk '$2 ~ /[TDBR]/ {print $3}' | sort -u >"$tree/defines"
    comm -12 "$tree/needs" "$tree/defines" | sed "s|.*|layers: an object of src/{$1} calls & of src/{$2}|"
}

check_objects() {
    calls_upwards "dsl" "codegen sim runtime tool"
    calls_upwards "codegen" "sim runtime tool"
    calls_upwards "sim" "runtime tool"
    calls_upwards "runtime" "sim tool"
}

# ---- main -------------------------------------------------------------------------------------------------

if [ "${1-}" = --check ]; then
    found=$(breaches "$2")
else
    self_test
    found=$(breaches "$root")
    if [ -n "${TEGULA_BUILD-}" ]; then
        # The same question the other way round has an answer: the runtime does call the compiler.
        [ -n "$(calls_upwards "runtime" "dsl codegen")" ] || { echo "layers: no symbol of the objects was read"; exit 1; }
        found=$found$(check_objects)
    fi
fi
[ -z "$found" ] && exit 0
echo "$found"
exit 1
