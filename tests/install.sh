#!/bin/sh
# install.sh -- the installed library serves a program of somebody else: by find_package, pkg-config,
# add_subdirectory and FetchContent, from C and from C++; and it needs and shows no more than it should.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install: $*"
    exit 1
}

# Runs a command silently; shows what it printed when it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" && fail "failed: $*"; }
}

# The program prints the CUDA text of its kernel, whether or not there is a GPU.
check_program() {
    "$1" >"$work/printed" || { cat "$work/printed" && fail "$1 failed"; }
    grep -q 'scale_add(' "$work/printed" || fail "$1 prints no kernel"
}

quietly cmake --install "$TEGULA_BUILD" --prefix "$prefix"
libdir=$(dirname "$(find "$prefix" -name libtegula.so)")

# ---- what the library needs and shows ---------------------------------------------------------------------

library=$libdir/libtegula.so
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
if grep -vE '^(libc|libm|libdl|libpthread|ld-linux[-a-z0-9_]*)\.so\.' "$work/needed"; then
    fail "libtegula needs the libraries above"
fi
readelf -d "$library" | grep -q 'SONAME.*\[libtegula\.so\.[0-9]*\]' || fail "libtegula has no SONAME with a version"
nm -D --defined-only "$library" | awk '{print $3}' >"$work/shown"
if grep -v '^tg_' "$work/shown"; then
    fail "libtegula shows the symbols above"
fi
sed -n 's/^TG_API.*[ *]\(tg_[a-z0-9_]*\)(.*/\1/p' "$prefix/include/tegula/tegula.h" | sort -u >"$work/promised"
[ -s "$work/promised" ] || fail "no function was read from tegula.h"
sort -u "$work/shown" | comm -23 "$work/promised" - >"$work/absent"
[ ! -s "$work/absent" ] || { cat "$work/absent" && fail "tegula.h promises these, libtegula lacks them"; }
strip -o "$work/stripped" "$library"
size=$(wc -c <"$work/stripped")
[ "$size" -lt 1000000 ] || fail "libtegula is $size bytes stripped, more than 1 MB"

# ---- programs that use it ---------------------------------------------------------------------------------

cp -r "$root/examples/embed" "$work/embed"
quietly cmake -S "$work/embed" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/found"
check_program "$work/found/embed"
cp -r "$root/examples/packed" "$work/packed"
quietly cmake -S "$work/packed" -B "$work/packed/build" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/packed/build"

# The tree still serves after it was moved.
mv "$prefix" "$work/moved"
libdir=$work/moved${libdir#"$prefix"}
if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$libdir/pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    quietly "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$work"/embed/*.c $(pkg-config --cflags --libs tegula) \
        -ldl -Wl,-rpath,"$libdir" -o "$work/by_pkg_config"
    check_program "$work/by_pkg_config"
    if command -v "${CXX:-c++}" >/dev/null; then
        # shellcheck disable=SC2046
        quietly "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -x c++ "$work"/embed/*.c -x none \
            $(pkg-config --cflags --libs tegula) -ldl -Wl,-rpath,"$libdir" -o "$work/from_cxx"
        check_program "$work/from_cxx"
    fi
fi

# add_subdirectory and FetchContent take the sources; the second is built, with the static library.
mkdir "$work/inside" "$work/fetched"
cat >"$work/inside/CMakeLists.txt" <<TXT
cmake_minimum_required(VERSION 3.22)
project(inside LANGUAGES C)
add_subdirectory("$root" tegula)
add_executable(embed "$work/embed/embed.c" "$work/embed/scale_add.c")
target_link_libraries(embed PRIVATE tegula::tegula \${CMAKE_DL_LIBS})
TXT
quietly cmake -S "$work/inside" -B "$work/inside/build"
cat >"$work/fetched/CMakeLists.txt" <<TXT
cmake_minimum_required(VERSION 3.22)
project(fetched LANGUAGES C)
include(FetchContent)
set(BUILD_SHARED_LIBS OFF)
FetchContent_Declare(tegula SOURCE_DIR "$root")
FetchContent_MakeAvailable(tegula)
add_executable(embed "$work/embed/embed.c" "$work/embed/scale_add.c")
target_link_libraries(embed PRIVATE tegula::tegula \${CMAKE_DL_LIBS})
TXT
quietly cmake -S "$work/fetched" -B "$work/fetched/build" -DCMAKE_BUILD_TYPE=Debug # which builds faster
quietly cmake --build "$work/fetched/build" -j 2 --target embed
check_program "$work/fetched/build/embed"
