"""Times GPU work from Python the way `tegula bench` does, and writes rows for `tegula bench --rows`.

Stream mode: a CUDA graph of many calls that rotate over sets of inputs which together exceed twice the L2 cache; replays
follow each other without a pause, a sample is one replay.  Cold mode: before every call a write of twice the L2 cache and
then a read of it; a sample is one call between two events.  Medians and quartiles, as in docs/bench.md.

Used by the scripts beside it:

    python docs/compare/gemv_triton.py -N 4096 -K 14336 --dtype f16 -o rows.json
    tegula bench --suite gemv --mode both --rows rows.json
"""
import argparse
import json
import statistics
import sys

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3}  # of the error's norm against double precision
SECONDS = 0.1


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-N", type=int, default=4096)
    parser.add_argument("-K", type=int, default=14336)
    parser.add_argument("--dtype", choices=DTYPES, default="f16")
    parser.add_argument("-o", "--output", default="-", help="rows as JSON; - is standard output")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU")
    return options


def l2_bytes():
    return torch.cuda.get_device_properties(0).L2_cache_size


class Gemv:
    """output(N) = matrix(N, K) * vector(K), in as many sets as stream mode needs."""

    def __init__(self, options):
        torch.manual_seed(0)
        self.n, self.k, self.dtype = options.N, options.K, options.dtype
        self.bytes = 2 * (self.n * self.k + self.n + self.k)
        count = min(max(2, -(-5 * l2_bytes() // self.bytes)), 8)
        self.sets = [self._inputs() for _ in range(count)]

    def _inputs(self):
        kind = {"dtype": DTYPES[self.dtype], "device": "cuda"}
        matrix = torch.rand(self.n, self.k, **kind) * 2 - 1
        vector = torch.rand(self.k, **kind) * 2 - 1
        return matrix, vector, torch.empty(self.n, **kind)

    def problem(self):
        return f"N={self.n} K={self.k} dtype={self.dtype}"

    def is_right(self, call):
        """`call(matrix, vector, output)` returns the output."""
        matrix, vector, output = self.sets[0]
        wanted = matrix.double() @ vector.double()
        error = (call(matrix, vector, output).double() - wanted).norm() / wanted.norm()
        return error.item() <= TOLERANCE[self.dtype]


def _figures(samples, launches):
    samples = sorted(samples)
    n = len(samples)
    return {"median_us": samples[n // 2], "low_us": samples[n // 4], "high_us": samples[n - 1 - n // 4],
            "min_us": samples[0], "samples": n, "launches": launches}


def _microseconds(start, stop):
    return start.elapsed_time(stop) * 1e3


def stream(gemv, call, seconds=SECONDS):
    calls = [lambda s=s: call(*s) for s in gemv.sets]
    for c in calls:
        c()
    torch.cuda.synchronize()
    launches = 120 // len(calls) * len(calls)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            calls[i % len(calls)]()
    estimate = _replays(graph, 3)[-1]
    samples = _replays(graph, max(10, min(1000, int(seconds * 1e6 / estimate))))
    return _figures([s / launches for s in samples], launches)


def _replays(graph, n):
    """The first replay is not timed: behind it the others are queued while the GPU is busy."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
    graph.replay()
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    torch.cuda.synchronize()
    return [_microseconds(a, b) for a, b in zip(events, events[1:])]


# Of write and read before a cold call: long enough for Python to launch the call behind them.
ROUNDS = 4


def cold(gemv, call, seconds=SECONDS):
    cache = torch.empty(2 * l2_bytes() // 4, dtype=torch.float32, device="cuda")
    for _ in range(5):
        call(*gemv.sets[0])
    torch.cuda.synchronize()
    samples = []
    for _ in range(max(10, min(1000, int(seconds * 1e6 / 150)))):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(ROUNDS):
            cache.zero_()
            cache.sum()
        start.record()
        call(*gemv.sets[0])
        stop.record()
        samples.append((start, stop))
    torch.cuda.synchronize()
    return _figures([_microseconds(a, b) for a, b in samples], 1)


def best(gemv, candidates):
    """The fastest of (variant, call) in stream mode by a short look each; those that fail to build are left out."""
    timed = []
    for variant, call in candidates:
        try:
            timed.append((stream(gemv, call, 0.01)["median_us"], variant, call))
        except Exception as problem:  # a compiler may refuse a configuration in any way it likes
            print(f"{variant}: {str(problem).splitlines()[0] if str(problem) else type(problem).__name__}",
                  file=sys.stderr)
    if not timed:
        sys.exit("no configuration works")
    return min(timed, key=lambda t: t[0])[1:]


def row(gemv, name, variant, call):
    return {"problem": gemv.problem(), "name": name, "variant": variant, "bytes": gemv.bytes, "written_bytes": 2 * gemv.n,
            "check": "right" if gemv.is_right(call) else "wrong", "stream": stream(gemv, call), "cold": cold(gemv, call)}


def write(options, rows):
    text = json.dumps({"gpu": torch.cuda.get_device_name(), "rows": rows}, indent=1) + "\n"
    if options.output == "-":
        sys.stdout.write(text)
    else:
        with open(options.output, "w") as f:
            f.write(text)
    for r in rows:
        print(f'{r["name"]} {r["variant"]}: stream {r["stream"]["median_us"]:.2f} us, '
              f'cold {r["cold"]["median_us"]:.2f} us, {r["check"]}', file=sys.stderr)
