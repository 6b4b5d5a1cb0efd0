#!/bin/sh
# test_explain.sh -- what explain counts, says and prints: known figures, samples against whole grids, layout of text.
. tests/tool/lib.sh

json_is_whole() { ! command -v python3 >/dev/null || python3 -m json.tool <"$work/out" >/dev/null; }
# report ARGUMENT..: explains; shows PATTERN: a line of that report matches.
report() {
    "$TEGULA" explain "$@" -q >"$work/out" 2>&1 || fail "explain $*: exit status $?"
    last=$*
}
shows() {
    if grep -qE -- "$1" "$work/out"; then pass; else fail "explain $last: no line matches '$1'"; fi
}
narrow() { ! grep -qE '.{101}' "$work/out"; }

# ---- known figures ----------------------------------------------------------------------------------------

k=thread_naive_split_k
report $k
shows "load +matrix\[row, col\] +32 x 2 B +32 sectors, 2 needed +6.25 % +1835008$"
shows "^ +64 of 1024 bytes used$"
shows "load +vector\[col\] +32 x 2 B +1 sector, 1 needed +100 %"
shows "counted +1 of 128 blocks simulated"
shows "gemv.c:[0-9]+ +tid_k == 0"
shows "limited by threads"
report thread_coalesced_naive_split_k
shows "load +matrix\[row, col\] +32 x 2 B +2 sectors, 2 needed +100 %"
shows "atomic +reduced\[tid_n\] +1 x 4 B +1 wavefront, 1 needed"
report thread_vectorized_split_k
shows "load +matrix\[row, col : \+8\] +32 x 16 B +16 sectors, 16 needed +100 %"
shows "matrix: 8 elements at once, the widest there is"
# A row of the user's own, one in place of a known one, and what is wrong with them.
sed -n '/^a6000:/,/^$/p' examples/devices.yaml | sed 's/^a6000:/mine:/;s/sms: .*/sms: 16/' >"$work/devices.yaml"
sed -n '/^a6000:/,/^$/p' examples/devices.yaml | sed 's/sms: .*/sms: 33/' >>"$work/devices.yaml"
TEGULA_DEVICES=$work/devices.yaml
export TEGULA_DEVICES
expect 0 "\(sm_86\): 16 multiprocessors, 768 GB/s" explain thread_naive --gpu mine
expect 0 "; 1 of 33 multiprocessors get no block" explain thread_naive --gpu a6000
expect 0 "; 100 of 132 multiprocessors get no block" explain thread_naive --gpu h200
expect 2 "unknown GPU 'mines', did you mean mine" explain thread_naive --gpu mines
for i in $(seq 100); do # many rows crowd nothing out
    sed -n '/^a6000:/,/^$/p' examples/devices.yaml | sed "s/^a6000:/mine$i:/"
done >>"$work/devices.yaml"
expect 0 "\(sm_86\): 84 multiprocessors" explain thread_naive --gpu mine100
expect 0 "; 100 of 132 multiprocessors get no block" explain thread_naive --gpu h200
echo 'mine: {sms: 0}' >"$work/devices.yaml"
expect 2 "TEGULA_DEVICES: $work/devices.yaml:1:13: error" explain thread_naive --gpu h200
TEGULA_DEVICES=$work/nothing.yaml
expect 2 "TEGULA_DEVICES: .*nothing.yaml" explain thread_naive --gpu h200
unset TEGULA_DEVICES

report thread_naive --gpu a6000
shows "load +matrix\[row, col\] +32 x 2 B +32 sectors, 2 needed"
shows "load +matrix_shared\[tid_n, k\] +32 x 2 B +32 wavefronts, 1 needed +3.125 %"
shows "waves .*; 52 of 84 multiprocessors get no block \(61.9 %\)"
shows "memory +117\.5 MB, each sector once: 153 us at least"
shows "matrix: one element at a time, though the loop over k goes from neighbour to"
report thread_naive --gpu h200
shows "waves .*; 100 of 132 multiprocessors get no block"
shows "memory +117\.5 MB, each sector once: 24\.[0-9]+ us at least"
report block_naive
shows "load +matrix_shared\[.* 4 wavefronts, 4 needed +100 %"
shows "gemv.c:[0-9]+ +all of vector_shared is written before it is read: gemv.c:[0-9]+, then gemv.c:[0-9]+$"
shows "gemv.c:[0-9]+ +matrix_shared at byte [0-9]+; 8 elements of padding"
shows "accumulator: 1 element a thread"
report gemv_q4
shows "engine.c:[0-9]+ +of each warp: the warp's part of matrix_shared has landed before it is read"
shows "engine.c:[0-9]+ +every partial sum is in sums_partial before it is read: "
shows "barriers +1 met by a block"
shows "launch +32 blocks \(pid_n 32\) of 224 threads \(tid_x 224\)$"
report gemv_q4 --dependent --target sm_90a
shows "launch +32 blocks \(pid_n 32\) of 224 threads \(tid_x 224\), dependent: may start before the"
shows "engine.c:[0-9]+ +the launches before have ended$"
shows "engine.c:[0-9]+ +the next launch may start$"

# A run of V elements of bf16 for each thread: 1 / V is used, until a lane has a sector to itself.
for pair in 1:100 2:50 4:25 8:12.5 16:6.25 32:6.25; do
    expect 0 "load +x\[row, col\] .* ${pair#*:} % " explain rowprod_blocked -p M=8 -p num_threads=64 -p N=$((64 * ${pair%:*}))
done
expect 0 "load +x\[row, col\] .* 2 sectors, 2 needed +100 %" explain rowprod_striped
expect 0 "load +x\[.* 32 x 16 B +16 sectors, 16 needed +100 %" explain rowprod_vectorized -p N=2048
for pair in 8:4 16:8 32:16 64:32 128:32; do
    n=$((32 * ${pair%:*}))
    expect 0 "load +staged\[tid, c\] .* ${pair#*:} wavefronts, 1 needed" explain rowprod_staged -p num_threads=32 -p N=$n -p pad=0
    report rowprod_staged -p num_threads=32 -p N=$n -p pad=2
    shows "load +staged\[tid, c\] .* 1 wavefront, 1 needed"
    shows "store +staged\[.* 32 x 4 B"
done

# Why an access is no wider: alignment, the threads, the row, or a type that moves with it.
expect 0 "staged: 2 elements at once: known to begin at multiples of 4 bytes only" explain rowprod_staged -p pad=2
expect 0 "a: 4 elements at once: more would leave some of the 256 threads idle" explain copy_1d_block -p block_n=1024
expect 0 "a: 4 elements at once: as many as 16 bytes hold of the widest type" explain add_broadcast
expect 0 "matrix: 4 elements at once: a row of 516 is no multiple of 8" explain block_alloc_reducer -p N=64 -p K=14448 -p block_k=516 -p block_n=4 -p num_threads=64

# Why a load of what is read once goes through the first-level cache all the same.
cached="^ +read once, yet through the L1 cache:"
report thread_naive
shows "$cached 2 bytes a lane leave most of a line to the next$"
report rowprod_vectorized
shows "$cached it leaves part of its sectors to the next load$"
report thread_vectorized_split_k
shows "$cached in a long loop it is worth more to move loads up$"
cat >"$work/once.c" <<'EOF'
#include <tegula/kernel.h>
KERNEL(doubles) {
    tensor(x, F64, 64);
    tensor(y, F64, 64);
    grid(pid, 1) threads(tid, 64) set(at(y, tid), at(x, tid));
}
KERNEL(rows) {
    tensor(x, F32, 2, 128);
    tensor(y, F32, 2, 128);
    grid(pid, 2) threads(32) {
        fragment(f, F32, 1, 128);
        copy(tile(x, pid, 0), f);
        copy(f, tile(y, pid, 0));
    }
}
EOF
report doubles -k "$work/once.c"
shows "$cached only several elements at once go past it$"
report rows -k "$work/once.c" --target sm_90a
holds "nothing is said of a load that leaves the cache alone" sh -c "! grep -q 'L1 cache' '$work/out'"
expect 0 '"cached": "only several elements' explain doubles -k "$work/once.c" --json
report doubles -k "$work/once.c" --html "$work/page.html"
holds "the page says it too" grep -q "read once, yet through the L1 cache: only several elements at once" "$work/page.html"
# Accesses of one line that do the same are shown once.
report softmax
shows "the same at 7 more places, as far as peak_partial\[7\]"
expect 0 '"place": "peak_partial\[7\]"' explain softmax --json

# ---- some blocks count as all -----------------------------------------------------------------------------

# Asked of every kernel, at shapes with edges on every side.  The same figures whether all blocks are simulated or those that
# stand for others; and of loads of what tile_once found, explain says why they go through the cache where the text has no
# load_once(), and of nothing else.
if command -v python3 >/dev/null; then
    cat >"$work/every.py" <<'EOF'
import json, re, sys, traceback
def same(some, all):
    assert all["counted"]["blocks"] == all["counted"]["of"], "not all blocks were simulated"
    for key in ("counted", "races", "faults"):
        del some[key], all[key]
    assert some == all, [(key, some[key], all[key]) for key in some if some[key] != all[key]]
def once(accesses, cuda, tiles):
    once = re.findall(r"^(\w+) is read once$", tiles, re.M)
    loads = [a for a in accesses if a["op"] == "load" and a["buffer"] in once]
    for a in loads:
        begin = a["cuda_line"] - 1
        statement = re.match(r"[^;{]*", "\n".join(cuda.split("\n")[begin:begin + 3]))[0]
        assert ("load_once(" in statement) == (a["cached"] is None), (a["place"], a["cached"], statement)
    for a in accesses:
        assert a in loads or not a.get("cached"), (a["place"], a["cached"])
failed = len(sys.argv) < 3
for kernel in sys.argv[2:]:
    try:
        some, all, cuda, tiles = (open(f"{sys.argv[1]}/{kernel}.{end}").read() for end in ("some", "all", "cuda", "tile"))
        some, all = json.loads(some), json.loads(all)
        once(some["accesses"], cuda, tiles)
        same(some, all)
    except Exception:
        failed = True
        print(kernel, traceback.format_exc(limit=-1))
sys.exit(failed)
EOF
    kernels=$("$TEGULA" list -q | awk '{print $1}')
    mkdir "$work/every"
    for kernel in $kernels; do
        case $kernel in
        thread_* | block_*) shape="-p N=200 -p K=520" ;;
        rowprod_* | prefix_*) shape="-p M=5 -p N=768 -p num_threads=64" ;;
        *) shape="" ;;
        esac
        one=$work/every/$kernel
        "$TEGULA" explain "$kernel" $shape --json -q >"$one.some" 2>"$one.said"
        "$TEGULA" explain "$kernel" $shape --json --check -q >"$one.all" 2>>"$one.said"
        "$TEGULA" emit "$kernel" $shape -q >"$one.cuda"
        "$TEGULA" emit "$kernel" $shape -q --stage tile_once >"$one.tile"
    done
    # shellcheck disable=SC2086
    holds "some blocks tell what all do, and what goes through the cache has its reason" \
        python3 "$work/every.py" "$work/every" $kernels
fi
cat >"$work/gather.c" <<'EOF'
#include <tegula/kernel.h>
KERNEL(gathers) {
    tensor(where, I32, 256);
    tensor(x, F32, 256);
    tensor(y, F32, 256);
    grid(pid, 4) threads(tid, 64) {
        let(i, mad(pid, 64, tid));
        set(at(y, i), at(x, bit_and(at(where, i), 255)));
    }
}
KERNEL(races) {
    tensor(y, F32, 32);
    grid(pid, 3) threads(tid, 32) {
        shared(s, F32, 32);
        set(at(s, tid), 1);
        set(at(y, tid), at(s, sub(31, tid)));
    }
}
KERNEL(reads_unwritten) {
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        shared(s, F32, 64);
        set(at(s, tid), 1);
        sync_threads();
        set(at(y, tid), at(s, add(tid, 1)));
    }
}
KERNEL(outside_in_the_last_block) {
    tensor(y, F32, 100);
    grid(pid, 4) threads(tid, 32) {
        set(at(y, mad(pid, 32, tid)), 1);
    }
}
EOF
expect 0 "all 4 blocks, because an address depends on data in memory \(gather.c:8\)" explain gathers -k "$work/gather.c"

# ---- --check ----------------------------------------------------------------------------------------------

expect 0 "^ok thread_split_k: 7 blocks" explain thread_split_k -p N=200 -p K=520 --check
expect 1 "^FAILED races: " explain races -k "$work/gather.c" --check
expect 1 "gather.c:15: race: " explain races -k "$work/gather.c" --check
expect 1 "found in 3 blocks|found in all 3 blocks|found in 1 block" explain races -k "$work/gather.c"
expect 1 "uninitialised|which nothing has written" explain reads_unwritten -k "$work/gather.c" --check
expect 1 "^FAILED outside_in_the_last_block: 4 blocks" explain outside_in_the_last_block -k "$work/gather.c" --check
expect 1 '"kind": "race"' explain races -k "$work/gather.c" --json

# ---- JSON -------------------------------------------------------------------------------------------------

report $k --json --gpu h200
for field in '"schema": 1,' '"kernel": "thread_naive_split_k",' '"N": 4096,' '"target": "sm_90a",' '"shared_bytes": 128,' \
    '"barriers_per_block": 2,' '"buffer": "matrix",' '"op": "load",' '"space": "global",' '"file": ".*gemv.c",' \
    '"lanes": 32,' '"bytes_per_lane": 2,' '"requests": 1835008,' '"sectors_per_request": 32,' \
    '"min_sectors_per_request": 2,' '"efficiency": 0.0625,' '"wavefronts_per_request": 1,' \
    '"min_wavefronts_per_request": 1,' '"why": "' '"races": \[\]' '"faults": \[\]'; do
    shows "$field"
done
"$TEGULA" explain $k --json -q >"$work/out"
holds "explain --json is JSON" json_is_whole
"$TEGULA" explain $k thread_naive --json -q >"$work/out"
holds "explain --json of two kernels is JSON" json_is_whole
holds "explain --json says its schema once" [ "$(grep -c '"schema"' "$work/out")" = 1 ]

expect 0 '"estimate_us": [0-9.]+,' explain $k --json --gpu h200
expect 0 '"second": \{' explain block_naive --json
report gemv_q4 --json
shows '"of": "warp",'
shows '"of": "block",'
# The line of CUDA that an access is said to stand in names it.
if command -v python3 >/dev/null; then
    cat >"$work/lines.py" <<'EOP'
import json, sys
cuda = open(sys.argv[2]).read().split("\n")
for a in json.load(open(sys.argv[1]))["accesses"]:
    begin = a["cuda_line"] - 1  # long statements go on in the next lines
    assert a["buffer"] in " ".join(cuda[begin:begin + 3]), (a["buffer"], a["place"], cuda[begin])
EOP
    for kernel in $k block_pipelined block_alloc_reducer gemv_q4 prefix_staged; do
        "$TEGULA" explain $kernel --json -q >"$work/out" 2>&1
        "$TEGULA" emit $kernel --gpu a100 -q >"$work/cuda"
        holds "$kernel: accesses stand in their lines of CUDA" python3 "$work/lines.py" "$work/out" "$work/cuda"
    done
fi

# ---- side by side -----------------------------------------------------------------------------------------

report $k thread_coalesced_naive_split_k
shows "^  threads, x first +tid_n 32, tid_k 32 +tid_k 32, tid_n 32$"
shows "^  load of matrix: sectors +32 +2$"
holds "what differs comes first" [ "$(head -n 1 "$work/out" | cut -c 1-12)" = "what differs" ]
holds "what is the same stands below" sh -c "sed '/^what does not/,\$d' '$work/out' | grep -q sectors && ! sed '/^what does not/,\$d' '$work/out' | grep -q '  block_n '"
holds "two kernels fit 100 columns" narrow
expect 0 "^  block_n +8 +16$" explain $k -p block_n=8 $k -p block_n=16

# ---- text -------------------------------------------------------------------------------------------------

"$TEGULA" explain $k -q >"$work/out"
holds "no colour where there is no terminal" sh -c "! grep -q \"\$(printf '\\033')\" '$work/out'"
if command -v script >/dev/null; then
    TERM=xterm script -qec "'$TEGULA' explain $k -q" /dev/null >"$work/out" 2>/dev/null
    holds "colour on a terminal" grep -q "$(printf '\033')" "$work/out"
    TERM=xterm NO_COLOR=1 script -qec "'$TEGULA' explain $k -q" /dev/null >"$work/out" 2>/dev/null
    holds "NO_COLOR is honoured" sh -c "! grep -q \"\$(printf '\\033')\" '$work/out'"
fi
"$TEGULA" explain $k -q -o "$work/report.txt"
holds "-o FILE gets the report" grep -q "^thread_naive_split_k" "$work/report.txt"
expect 0 "for sm_89; --gpu NAME says more" explain $k --target sm_89
if have_nvrtc; then
    expect 0 "registers +[0-9]+ a thread, nothing spilled" explain $k
    expect 0 '"registers": [0-9]+,' explain $k --json
fi

# ---- pictures ---------------------------------------------------------------------------------------------

# Every kernel takes at most 2 seconds of one core for everything, makes a page of at most 2 MB and keeps within 100
# columns; its pictures are XML without foreign addresses, small, their figures those of the drawing.
if command -v python3 >/dev/null; then
    cat >"$work/pictures.py" <<'EOP'
import glob, os, re, shutil, subprocess, sys, traceback
import xml.etree.ElementTree as xml
svg = "{http://www.w3.org/2000/svg}"
def boxes(root, name):
    return sum(p.get("d").count("M") for p in root.iter(svg + "path") if p.get("class") == name)
def check_picture(name):
    text = open(name, encoding="utf-8").read()
    root = xml.fromstring(text)
    words = [t.text or "" for t in root.iter(svg + "text")]
    assert len(text) < 120000, (name, len(text))
    assert not re.sub("http://www.w3.org/2000/svg", "", text).count("://"), name
    assert root.find(svg + "title").text and root.find(svg + "desc").text, name
    width, height = (float(x) for x in root.get("viewBox").split()[2:])
    for t in root.iter(svg + "text"):
        assert 0 <= float(t.get("x")) <= width and 0 <= float(t.get("y")) <= height, (name, t.text)
    for line in words:
        sectors = re.search(r": (\d+) sectors?, \d+ needed", line)
        wavefronts = re.search(r": (\d+) wavefronts?, (\d+) needed", line)
        cropped = any("more lines of this warp" in w for w in words)
        if sectors and not cropped:
            key = any("brought for it" in w for w in words)
            assert boxes(root, "fetched") - key == int(sectors[1]), (name, line, boxes(root, "fetched"))
        if wavefronts:
            drawn = sum(re.match(r"wavefront \d", w) is not None for w in words)
            assert drawn == min(8, int(wavefronts[1])), (name, line, drawn)
tegula, work = sys.argv[1:3]
slow = b"__asan_init" in open(tegula, "rb").read()
def check_kernel(kernel):
    folder, page, out = work + "/svg", work + "/page.html", work + "/out"
    shutil.rmtree(folder, ignore_errors=True)
    with open(out, "w") as report:
        command = subprocess.Popen([tegula, "explain", kernel, "-q", "--svg", folder, "--html", page],
                                   stdout=report, stderr=report)
        _, status, used = os.wait4(command.pid, 0)
    seconds, size = used.ru_utime + used.ru_stime, os.path.getsize(page)
    assert status == 0 and size <= 2000000, (status, size)
    assert seconds <= 2 or slow, f"{seconds:.2f} s"
    assert all(len(line.rstrip("\n")) <= 100 for line in open(out, encoding="utf-8")), "wider than 100 columns"
    pictures = glob.glob(folder + "/*.svg")
    assert pictures, "no picture"
    for name in pictures:
        check_picture(name)
failed = len(sys.argv) < 4
for kernel in sys.argv[3:]:
    try:
        check_kernel(kernel)
    except Exception:
        failed = True
        print(kernel, traceback.format_exc(limit=-1))
sys.exit(failed)
EOP
    # shellcheck disable=SC2086
    holds "time, size, width and pictures of every kernel" python3 "$work/pictures.py" "$TEGULA" "$work" $kernels
    rm -rf "$work/svg"
fi
expect 0 "^[0-9]+ pictures in $work/svg" explain $k $k -p block_n=16 --svg "$work/svg"
for name in $k.load.matrix $k-2.load.matrix $k.walk.matrix $k.atomic.reduced; do
    holds "there is a picture $name" [ -s "$work/svg/$name.svg" ]
done
expect 0 "" explain block_naive -q --svg "$work/svg"
holds "there is a picture of a fragment" [ -s "$work/svg/block_naive.layout.accumulator.svg" ]
expect 3 "^tegula: --svg $work/out: it is no folder" explain $k --svg "$work/out"

# ---- mistakes ---------------------------------------------------------------------------------------------

expect 2 "explain needs a kernel, or two to compare" explain
expect 2 "explain needs a kernel, or two to compare" explain $k $k $k
expect 2 "unknown kernel" explain nothing
expect 2 "check is no option of run" run $k --check
expect 2 "N" explain $k -p N=0
finish
