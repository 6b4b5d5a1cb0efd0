#!/bin/sh
# test_tool_pack.sh -- pack: what is written, what --verify says when kernels change, and what is refused.
. tests/tool/lib.sh
if ! have_nvrtc; then
    echo "no NVRTC: nothing can be packed"
    exit 77
fi

cat >"$work/own.c" <<'C'
#include <tegula/kernel.h>
KERNEL(own) {
    params(n);
    tunables(block, 64);
    tensor(x, F32, n);
    tensor(y, F32, n);
    constant(x);
    grid(p, ceildiv(n, block)) threads(t, block) {
        let(i, mad(p, block, t));
        when(lt(i, n)) { set(at(y, i), mul(at(x, i), 2.0)); }
    }
}
C
pack=$work/own.tgpack

expect 0 "^packed 3 images, [0-9]+ bytes, in .*own.tgpack \([0-9]+ bytes\)$" \
    pack own -k "$work/own.c" -p n=1000 --target sm_80,sm_90a --ptx -o "$pack"
holds "each target has a line" [ "$(grep -c '^own  *sm_.* bytes  n=1000 block=64$' "$work/out")" = 3 ]
holds "PTX is for the oldest target" grep -q '^own  *sm_80  *PTX ' "$work/out"
cp "$pack" "$work/first"
"$TEGULA" pack own -k "$work/own.c" -p n=1000 --target sm_80,sm_90a --ptx -o "$pack" -q >"$work/out"
holds "the same kernels make the same file" cmp "$pack" "$work/first"
holds "pack -q prints nothing" [ ! -s "$work/out" ]
expect 0 "^ok .*: made by tegula .*; 3 entries: 3 as they would be made now, 0 stale, 0 not known here$" \
    pack --verify "$pack" -k "$work/own.c"
expect 0 "; 3 entries: 0 as they would be made now, 0 stale, 3 not known here$" pack --verify "$pack"
expect 2 "--records .*own.c: the file has no record" \
    pack own -k "$work/own.c" -p n=1000 --target sm_80 --records "$work/own.c" -o "$work/not.tgpack"
holds "nothing was written" [ ! -e "$work/not.tgpack" ]
sed 's/2\.0/3.0/' "$work/own.c" >"$work/changed.c"
expect 1 "^FAILED .* 3 stale" pack --verify "$pack" -k "$work/changed.c"
holds "each stale entry has a line" [ "$(grep -c '^STALE  *own ' "$work/out")" = 3 ]
sed 's/set(at/  set(at/' "$work/own.c" >"$work/blank.c"
expect 0 "^ok " pack --verify "$pack" -k "$work/blank.c" # how it is written does not matter

# A call of several steps is packed whole, and what two calls share once.
expect 0 "^packed 3 images" pack block_split_k -p N=64 -p K=512 --target sm_90a -o "$pack"
expect 0 "^packed 4 images" pack -p N=64 -p K=512 block_split_k block_split_k_v2 --target sm_90a -o "$pack"
expect 0 "  dependent$" pack block_pipelined --dependent --target sm_90a -o "$pack"
expect 0 "^packed 2 images" pack thread_naive -p N=64 -p K=512 thread_naive -p N=128 -p K=512 --target sm_90a -o "$pack"
expect 0 "^packed 1 image," pack thread_naive -p N=64 -p K=512 --target sm_90a,sm_90a -o "$pack"

# ---- what is refused --------------------------------------------------------------------------------------

expect 2 "pack needs kernels, or --verify FILE" pack --target sm_80 -o "$pack"
expect 2 "pack needs -o FILE" pack thread_naive --target sm_80
[ -e /dev/nvidia0 ] || expect 2 "pack needs --target, such as sm_80" pack thread_naive -o "$pack"
expect 2 "unknown target 'sm_10'" pack thread_naive --target sm_80,sm_10 -o "$pack"
expect 2 "unknown target 'sim64'" pack thread_naive --target sim64 -o "$pack"
expect 2 "names no target" pack thread_naive --target "" -o "$pack"
expect 2 "unknown kernel 'nothing'" pack nothing --target sm_80 -o "$pack"
holds "a failed pack leaves the file alone" "$TEGULA" pack --verify "$pack"
expect 2 "several values are for bench and tune" pack thread_naive -p N=64,128 --target sm_80 -o "$pack"
expect 3 "could not be written" pack thread_naive -p N=64 -p K=512 --target sm_80 -o "$work/no/such/folder"
expect 2 "nothing.tgpack cannot be read: No such file" pack --verify "$work/nothing.tgpack"
head -c 1000 "$work/first" >"$pack"
expect 2 "is cut: it has 1000 of [0-9]+ bytes" pack --verify "$pack"
{ head -c 1000 "$work/first"; printf x; tail -c +1002 "$work/first"; } >"$pack"
expect 2 "is damaged: its checksum is wrong" pack --verify "$pack"
{ head -c 8 "$work/first"; printf '\007'; tail -c +10 "$work/first"; } >"$pack"
expect 2 "is a pack of format 7, and tegula .* reads format 1: make it again with 'tegula pack'" pack --verify "$pack"
expect 2 "own.c is no pack of Tegula" pack --verify "$work/own.c"
[ -e /dev/nvidia0 ] || expect 3 "pack runs on a GPU only" run thread_naive --pack "$work/first"

finish
