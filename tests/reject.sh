#!/bin/sh
# reject.sh -- what the C compiler sees of kernel.h: misuse does not compile, no word clashes with a header of the
# C library, and the kernels of the gallery and of the golden tests compile strictly.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
strict="-Wall -Wextra -Wconversion -Wpedantic -Werror"
out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT || exit 1
failures=0
used=

fail() {
    echo "reject: $*"
    failures=$((failures + 1))
}

# compiles COMPILER.. FILE: stderr goes to $out/log
compiles() {
    "$@" -Iinclude -fsyntax-only >"$out/log" 2>&1
}

# $1: a compiler with its flags
misuse() {
    # The frame with a right statement compiles, so that what fails below fails by its statement.
    # A word that does not exist is a call of an unknown function, which C11's compilers only warn of.
    # shellcheck disable=SC2086
    set -- "$1 -Werror=implicit-function-declaration"
    case $1 in *c++*) set -- "${1%% -Werror*}" ;; esac
    compiles $1 "-DSTATEMENT=set(at(a, t), add(p, 1));" tests/reject/frame.c ||
        fail "$1 refuses the frame itself: $(head -3 "$out/log")"
    while IFS= read -r statement; do
        case $statement in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2086
        if compiles $1 "-DSTATEMENT=$statement" tests/reject/frame.c; then
            fail "$1 accepts: $statement"
        fi
    done <tests/reject/misuse.txt
}

# $1: a compiler with its flags; $2: the headers before; $3: the headers after, or nothing
headers() {
    right="-DSTATEMENT=set(at(a, t), add(p, 1));"
    # shellcheck disable=SC2086
    compiles $1 $strict "$right" "-DHEADERS_BEFORE=\"$2\"" tests/reject/frame.c ||
        fail "$1: kernel.h after $2: $(head -3 "$out/log")"
    [ -z "$3" ] && return
    # shellcheck disable=SC2086
    compiles $1 $strict -D_GNU_SOURCE "$right" "-DHEADERS_AFTER=\"$3\"" tests/reject/frame.c ||
        fail "$1: kernel.h before $3: $(head -3 "$out/log")"
}

# The kernels of the golden tests in one file, after the header that one of them includes.
golden() {
    echo '#include <math.h>' >"$out/golden.c"
    for file in tests/golden/*.c; do
        case $file in *names_that_cpp_has*) continue ;; esac # names of C++
        echo "#include \"$root/$file\""
    done >>"$out/golden.c"
    echo "$out/golden.c"
}

# $1: a compiler with its flags; then files of kernels, which compile without a warning
strictly() {
    compiler=$1
    shift
    for file; do
        # shellcheck disable=SC2086
        compiles $compiler $strict "$file" || fail "$compiler $file: $(head -3 "$out/log")"
    done
}

for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    used="$used $cc"
    misuse "$cc -std=c11"
    misuse "$cc -std=c11 -DTG_ISO_C"
    headers "$cc -std=c11" headers.h headers.h
    headers "$cc -std=c11 -DTG_ISO_C" headers.h headers.h
    for way in -std=c11 -std=c17 "-std=c11 -DTG_ISO_C"; do
        strictly "$cc $way" examples/*.c "$(golden)"
    done
done
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    # clang without a C++ library, as on a machine with clang alone, cannot say anything
    echo '#include <vector>' >"$out/probe.cpp"
    $cxx -fsyntax-only "$out/probe.cpp" 2>/dev/null || continue
    used="$used $cxx"
    misuse "$cxx -std=c++17 -x c++"
    headers "$cxx -std=c++17 -x c++" headers.hpp ""
    # options of a copy are designated initializers, which C++ has since C++20
    strictly "$cxx -std=c++20 -Wno-missing-field-initializers -x c++" "$(golden)"
done

if [ -z "$used" ]; then
    echo "reject: skipped: neither gcc nor clang was found"
    exit 77
fi
[ "$failures" -eq 0 ] || exit 1
echo "reject: ok with$used"
