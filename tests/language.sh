#!/bin/sh
# language.sh -- docs/language.md says what is so.  Each of its C blocks is a kernel, which is built here; the blocks
# that follow it are what the tool makes of it:
#
#     ```c        KERNEL(name) { .. }, after #include <tegula/kernel.h>; compiled strictly, then run on the simulator,
#                 where it must pass.  A comment <!-- -p N=100 --> before it has the options of the runs
#     ```cuda     its CUDA, without the prelude
#     ```text     what a run prints before its last line
#     ```error    its mistakes, found by the builder or else by the simulator: then it must not pass
#
# After a comment <!-- does not compile --> stands a block that the C compiler refuses.
#
# Every word of kernel.h stands in one heading, in the index, and nothing else does; every link leads somewhere.
#
#     sh tests/language.sh            compares; TEGULA names the tool
#     sh tests/language.sh --record   rewrites the blocks that the tool makes
set -u
cd "$(dirname "$0")/.." || exit 1
document=docs/language.md
tegula=$(realpath "${TEGULA:-./tegula}")
[ -x "$tegula" ] || {
    echo "language: no tool at $tegula"
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What was tuned on this machine is no part of the documents.
unset TEGULA_TUNED
export XDG_STATE_HOME="$work"
failures=0

fail() {
    echo "language: $*"
    failures=$((failures + 1))
}

# ---- the examples ---------------------------------------------------------------------------------------------

# Leaves the C blocks in good.c and bad.c, and a line "number name line good|bad what-follows options" for each.
extract() {
    awk -v work="$work" '
        function flush_block() {
            if (name == "") return
            kind = options == "refused" ? "refused_" number : wanted ~ /error/ ? "bad" : "good"
            if (kind ~ /refused/) print "#include <tegula/kernel.h>" >(work "/" kind ".c")
            printf "#line 1 \"example.c\"\n%s", text >(work "/" kind ".c")
            print number, name, line, kind, (wanted == "" ? "-" : wanted), options
            name = ""
        }
        BEGIN {
            print "#include <tegula/kernel.h>" >(work "/good.c")
            print "#include <tegula/kernel.h>" >(work "/bad.c")
        }
        /^```c$/ { flush_block(); inside = 1; number++; text = ""; wanted = ""; line = NR; options = given; next }
        /^```(cuda|text|error)$/ { wanted = wanted (wanted == "" ? "" : ",") substr($0, 4) }
        /^```$/ { inside = 0 }
        inside { text = text $0 "\n" }
        inside && /^KERNEL\(/ { name = $0; sub(/^KERNEL\(/, "", name); sub(/\).*/, "", name) }
        { given = "" }
        /^<!-- does not compile -->$/ { given = "refused" }
        /^<!-- -.* -->$/ { given = substr($0, 6, length($0) - 9) }
        END { flush_block() }' "$document" >"$work/blocks"
}

# Only what is said of the example, without the source lines that the tool shows where it can read them.
messages() {
    grep -E "^(example\.c:[0-9]+|$1): " | sed "s|^$1: error|error|"
}

# What follows block $1, a kernel $2 in $4.c at line $3, with the options $6..
make_outputs() {
    number=$1 name=$2 line=$3 kind=$4 wanted=$5
    shift 5
    code=$work/$kind.so
    if "$tegula" emit "$name" -k "$code" --body -q "$@" >"$work/$number.cuda" 2>"$work/errors"; then
        "$tegula" run "$name" -k "$code" --device sim -q "$@" >"$work/ran" 2>&1
        status=$?
        sed '$d' "$work/ran" >"$work/$number.text"
        messages "$name" <"$work/ran" >"$work/$number.error"
    else
        status=2
        messages "$name" <"$work/errors" >"$work/$number.error"
    fi
    case $kind,$status in
    good,0 | bad,[12]) ;;
    good,*)
        cat "$work/errors" "$work/ran" 2>/dev/null
        fail "$document:$line: $name fails"
        ;;
    *) fail "$document:$line: $name passes, but errors are said to follow" ;;
    esac
    [ "$wanted" = - ] && return
    for extension in $(echo "$wanted" | tr , ' '); do
        [ -s "$work/$number.$extension" ] || fail "$document:$line: $name leaves no $extension"
    done
}

# Prints the document with what follows the C blocks made anew.
renew() {
    awk -v work="$work" '
        dropping && /^```$/ { dropping = 0 }
        dropping { next }
        { print }
        /^```c$/ { number++ }
        /^```(cuda|text|error)$/ {
            file = work "/" number "." substr($0, 4)
            while ((getline made <file) > 0) print made
            close(file)
            dropping = 1
        }' "$document"
}

extract
for kind in good bad; do
    strict="-Wall -Wextra -Wpedantic -Werror"
    [ $kind = bad ] && strict=-w
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 $strict -Iinclude -shared -fPIC -o "$work/$kind.so" "$work/$kind.c" || exit 1
done
while read -r number name line kind wanted options; do
    if [ "$options" = refused ]; then
        ${CC:-cc} -std=c11 -Iinclude -fsyntax-only "$work/$kind.c" 2>/dev/null && fail "$document:$line: $name compiles"
        continue
    fi
    # shellcheck disable=SC2086
    make_outputs "$number" "$name" "$line" "$kind" "$wanted" $options
done <"$work/blocks"
renew >"$work/new"
if ! diff -u "$document" "$work/new" >"$work/diff"; then
    if [ "${1-}" = --record ]; then
        cp "$work/new" "$document"
    else
        cat "$work/diff"
        fail "$document: a block differs from what the tool makes (--record mends it)"
    fi
fi
[ "$(wc -l <"$work/blocks")" -gt 40 ] || fail "$document: no examples were found"

# ---- the words ------------------------------------------------------------------------------------------------

# Macros and constants of the upper part of kernel.h; those with TG_ are its machinery.
sed '/^ \* Machinery/,$d' include/tegula/kernel.h >"$work/header"
{
    sed -n 's/^#define \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' "$work/header"
    sed -n '/^enum/,/;/p' "$work/header" | grep -oE '[A-Z0-9]+ = TG' | sed 's/ = TG//'
} | grep -vE '^(TG_|TEGULA_)' | sort -u >"$work/words"
grep '^### ' "$document" | grep -o '`[A-Za-z0-9_]*`' | tr -d '`' | sort >"$work/headings"
sed -n '/^## Words$/,/^## /p' "$document" | grep -o '\[`[A-Za-z0-9_]*`\]' | tr -d '[]`' | sort >"$work/index"
for list in headings index; do
    uniq -d "$work/$list" | while read -r word; do echo "$word stands twice in the $list"; done
    diff "$work/words" "$work/$list" | sed -n "s/^< \(.*\)/\1 of kernel.h is missing in the $list/p; s/^> \(.*\)/\1 of the $list is no word of kernel.h/p"
done >"$work/differences"
if [ -s "$work/differences" ]; then
    cat "$work/differences"
    fail "$document: the words are not those of include/tegula/kernel.h"
fi

[ "$failures" -eq 0 ] && echo "language: ok, $(wc -l <"$work/blocks") kernels, $(wc -l <"$work/words") words"
[ "$failures" -eq 0 ]
