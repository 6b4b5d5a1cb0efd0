#!/bin/sh
# demo_lines.sh -- what scripts/demo prints of a kernel: its last line, or the whole message when it does not build.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf 'something\nok good: error 0\n' >"$work/good"
printf 'a.c:3: error: x is wrong\n    3 | x\n      | ^\n' >"$work/faulty"
printf 'element 3: got 1, wanted 2\nFAILED wrong: error 1\n' >"$work/wrong"
cat >"$work/run" <<'SH'
. "$ROOT/scripts/lib.sh"
for kernel in good faulty wrong; do result_of $kernel "$LOGS/$kernel"; done
SH
cat >"$work/wanted" <<'TXT'
ok good: error 0
FAILED faulty:
    a.c:3: error: x is wrong
        3 | x
          | ^
FAILED wrong: error 1
TXT
mkdir "$work/scripts" && cp scripts/lib.sh "$work/scripts/" && mv "$work/run" "$work/scripts/run"
ROOT=$PWD LOGS=$work bash "$work/scripts/run" >"$work/out" || exit 1
diff "$work/wanted" "$work/out" && echo "as wanted"
