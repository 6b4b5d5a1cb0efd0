#!/bin/sh
# test_tool_steps.sh -- a call of several launches is one thing to the verbs: one set of arguments, one result.
. tests/tool/lib.sh
steps=$(ready tests/tool/steps.c)

expect 0 "^ok add_up: error " run add_up -k $steps --device sim
expect 0 "^ok add_up_from: error " run add_up_from -k $steps --device sim
expect 0 "^ok unreferenced: .*no reference of its own" run unreferenced -k $steps --device sim
expect 0 '"tensor": "result"' run add_up -k $steps --device sim --json
holds "only what the last step writes is compared" [ "$(grep -c '"tensor":' "$work/out")" = 1 ]
expect 0 "^ok narrow" run narrow -k $steps --device sim
expect 0 "^// add_up, made by tegula" emit add_up -k $steps
expect 0 "^ok shaped" run shaped -k $steps --device sim

# Files given have the last word, after the kernel's own inputs.
expect 0 "^ok shaped" run shaped -k $steps --device sim --save "$work/saved"
cp "$work/saved/y.npy" "$work/other.npy"
expect 1 "^FAILED shaped" run shaped -k $steps -p factor=2 --device sim --in x="$work/other.npy"

# What the simulator notes of one step is not forgotten for what it notes of the next.
cat >"$work/twice.c" <<'C'
#include <tegula/kernel.h>
KERNEL(before) {
    tensor(y, F32, 4);
    grid(1) threads(tid, 64) set(at(y, 0), 1);
}
KERNEL(after) {
    tensor(y, F32, 4);
    tensor(z, F32, 4);
    grid(1) threads(tid, 64) { set(at(z, mod(tid, 4)), at(y, 0)); }
}
C
echo 'after: {steps: [fill y 0, before, after]}' >"$work/twice.yaml"
expect 0 "^twice.c:4: note: " run after -k "$work/twice.c" --device sim
holds "the notes of every step are told" grep -q "^twice.c:9: note: " "$work/out"

# $1: steps of add_up instead; $2: what must be said
refused() {
    cp $steps "$work/s.so"
    sed "s/fill sums 0, add_up, narrow/$1/" tests/tool/steps.yaml >"$work/s.yaml"
    expect 2 "$2" run add_up -k "$work/s.so" --device sim
}
refused "fill nothing 0, add_up" "add_up: step 'fill nothing': no kernel of the call has that tensor"
refused "fill sums, add_up" "add_up: step 'fill sums': expected fill TENSOR VALUE"
refused "fill sums 0 0, add_up" "add_up: step 'fill sums 0 0': expected fill TENSOR VALUE"
refused "fill sums 0, narrow" "add_up: its steps do not hold 'add_up' itself"
refused "add_up, narow" "unknown kernel 'narow', did you mean narrow"
refused "add_up, longer" "add_up: its steps disagree about the type or size of 'sums'"

# A wrong step makes a wrong result: the sums begin at 1.
cp $steps "$work/s.so"
sed "s/fill sums 0, add_up, narrow/fill sums 1, add_up, narrow/" tests/tool/steps.yaml >"$work/s.yaml"
expect 1 "^FAILED add_up \(4 of 4 elements of result wrong\)" run add_up -k "$work/s.so" --device sim
finish
