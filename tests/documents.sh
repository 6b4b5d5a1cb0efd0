#!/bin/sh
# documents.sh -- what the documents quote is what the tool prints.  A quotation is a fenced block after a line
#
#     <!-- $ tegula emit thread_naive --body -->
#
# and must equal the output of that command, run in the root of the checkout.
#
# A picture is a link to an SVG after a line
#
#     <!-- % thread_naive load.matrix -->          the file thread_naive.load.matrix.svg of explain thread_naive --svg
#
# with the options of explain after it, if any; it must be byte for byte what explain draws.
#
# Files of a reader's own that a command makes go to the folder $SCRATCH, where the headers of examples/ are too.
#
#     sh tests/documents.sh [FILE..]            compares; TEGULA names the tool
#     sh tests/documents.sh --record [FILE..]   rewrites the blocks
set -u
cd "$(dirname "$0")/.." || exit 1
TEGULA=${TEGULA:-./tegula}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What was tuned on this machine is no part of the documents.
unset TEGULA_TUNED
export XDG_STATE_HOME="$work"

# The tool answers to its own name, wherever it was built.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(realpath "$TEGULA")" >"$work/tegula"
chmod +x "$work/tegula"
PATH=$work:$PATH
SCRATCH=$work/scratch
export PATH SCRATCH
mkdir "$SCRATCH" && cp examples/*.h "$SCRATCH"

# Prints the document $1 with every quotation made anew.
quote_anew() {
    awk '
        inside && /^```/ { inside = 0 }
        inside { next }
        { print }
        /^<!-- \$ .* -->$/ { command = substr($0, 8, length($0) - 11) }
        command != "" && /^```/ {
            n = 0
            while ((command | getline line) > 0) { print line; n++ }
            if (close(command) != 0 || n == 0) print "(the command failed)"
            command = ""
            inside = 1
        }' "$1"
}

# Prints "target kernel file option.." for each picture of the document $1.
pictures() {
    awk '
        /^<!-- % .* -->$/ { wanted = substr($0, 8, length($0) - 11); next }
        wanted != "" && match($0, /\]\([^)]*\.svg\)/) { print substr($0, RSTART + 2, RLENGTH - 3), wanted }
        { wanted = "" }' "$1"
}

# Leaves the picture of the kernel $1, file $2, with options $3.. in $work/picture.svg.  Each set is drawn once.
draw() {
    kernel=$1 file=$2
    shift 2
    drawn=$work/drawn/$(echo "$kernel $*" | tr ' =' '__')
    [ -d "$drawn" ] || { mkdir -p "$drawn" && tegula explain "$kernel" "$@" --svg "$drawn" -q >/dev/null; }
    cp "$drawn/$kernel.$file.svg" "$work/picture.svg"
}

record=
[ "${1-}" = --record ] && record=$1 && shift
[ $# -gt 0 ] || set -- README.md docs/*.md docs/*/*.md
status=0
for document; do
    pictures "$document" >"$work/pictures"
    while read -r target kernel file options; do
        target=$(dirname "$document")/$target
        # shellcheck disable=SC2086
        if ! draw "$kernel" "$file" $options 2>"$work/errors"; then
            cat "$work/errors"
            echo "$document: explain $kernel $options draws no $file"
            status=1
        elif ! cmp -s "$work/picture.svg" "$target"; then
            if [ -n "$record" ]; then
                mkdir -p "$(dirname "$target")" && cp "$work/picture.svg" "$target"
            else
                echo "$document: $target differs from what explain draws (--record mends it)"
                status=1
            fi
        fi
    done <"$work/pictures"
    grep -q '^<!-- \$ ' "$document" 2>/dev/null || continue
    quote_anew "$document" >"$work/new" 2>"$work/errors"
    if grep -q '^(the command failed)$' "$work/new"; then
        cat "$work/errors"
        echo "$document: a quoted command failed"
        status=1
    elif ! diff -u "$document" "$work/new" >"$work/diff"; then
        if [ -n "$record" ]; then
            cp "$work/new" "$document"
        else
            cat "$work/diff"
            echo "$document: a quotation differs from what the tool prints (--record mends it)"
            status=1
        fi
    fi
done
exit $status
