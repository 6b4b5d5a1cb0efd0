#!/bin/sh
# library_alone.sh -- the tests configure without the command, as a packager of the library alone would have it.
command -v cmake >/dev/null || { echo "no cmake"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cmake -S . -B "$work" -DTEGULA_TOOL=OFF -DTEGULA_TESTS=ON -DTEGULA_INSTALL=OFF >"$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    exit 1
}
if (cd "$work" && ctest -N) | grep -E 'tool|documents|explain'; then
    echo "tests of the command are registered without it"
    exit 1
fi
(cd "$work" && ctest -N) | grep -q 'Test *#' || { echo "no test is registered"; exit 1; }
echo "configures"
