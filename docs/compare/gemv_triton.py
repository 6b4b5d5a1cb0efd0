"""The row of Triton for `tegula bench --rows`: a kernel with a tile of rows a program, the best of a list of
configurations.  See timing.py."""
import itertools
import sys

import timing

try:
    import triton
    import triton.language as tl
except ImportError:
    sys.exit("Triton is not installed")


@triton.jit
def gemv_kernel(matrix, vector, output, K, rows: tl.constexpr, step: tl.constexpr, is_even: tl.constexpr):
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    sums = tl.zeros((rows, step), dtype=tl.float32)
    for begin in range(0, K, step):
        k = begin + tl.arange(0, step)
        at = row.to(tl.int64)[:, None] * K + k[None, :]
        if is_even:
            a = tl.load(matrix + at, eviction_policy="evict_first")
            x = tl.load(vector + k)
        else:
            a = tl.load(matrix + at, mask=k[None, :] < K, other=0.0, eviction_policy="evict_first")
            x = tl.load(vector + k, mask=k < K, other=0.0)
        sums += a.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(output + row, tl.sum(sums, axis=1).to(output.dtype.element_ty))


def launcher(rows, step, warps, stages):
    def call(matrix, vector, output):
        n, k = matrix.shape
        gemv_kernel[(n // rows,)](matrix, vector, output, k, rows, step, k % step == 0, num_warps=warps, num_stages=stages)
        return output

    return call


def main():
    options = timing.arguments(__doc__)
    gemv = timing.Gemv(options)
    candidates = [(f"rows={r} step={s} warps={w} stages={p}", launcher(r, s, w, p))
                  for r, s, w, p in itertools.product((1, 2, 4, 8), (256, 512, 1024, 2048), (2, 4, 8), (2, 4))
                  if r * s <= 8192 and options.N % r == 0]
    variant, call = timing.best(gemv, candidates)
    timing.write(options, [timing.row(gemv, f"Triton {triton.__version__}", variant, call)])


if __name__ == "__main__":
    main()
