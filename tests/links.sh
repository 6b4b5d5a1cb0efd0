#!/bin/sh
# links.sh -- links of the documents lead somewhere: to a file of the checkout, and where they name a heading, to one
# that is there.  Links with a scheme (https:) are left alone.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The anchors of a document, as its headings become them: lower case, words joined, no punctuation.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed 's/^#* //' | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# "target" of each [..](target) outside of code.
targets() {
    awk '/^```/ { code = !code } !code' "$1" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | sort -u
}

for document in README.md docs/*.md docs/*/*.md; do
    [ -f "$document" ] || continue
    folder=$(dirname "$document")
    targets "$document" >"$work/targets"
    while read -r target; do
        case $target in *:*) continue ;; esac
        file=${target%%#*} anchor=
        case $target in *'#'*) anchor=${target#*#} ;; esac
        path=$folder/$file
        [ -z "$file" ] && path=$document
        if [ ! -e "$path" ]; then
            echo "links: $document: no file $target"
            failures=$((failures + 1))
        elif [ -n "$anchor" ] && ! anchors "$path" | grep -qxF "$anchor"; then
            echo "links: $document: no heading $target"
            failures=$((failures + 1))
        fi
    done <"$work/targets"
done
[ "$failures" -eq 0 ] && echo "links: ok"
[ "$failures" -eq 0 ]
