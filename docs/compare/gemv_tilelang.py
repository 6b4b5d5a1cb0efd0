"""The row of TileLang for `tegula bench --rows`: a reducer over tiles of rows, the best of a list of configurations.  See
timing.py."""
import itertools
import sys

import timing

try:
    import tilelang
    import tilelang.language as T
except ImportError:
    sys.exit("TileLang is not installed")

NAMES = {"f16": "float16", "bf16": "bfloat16"}


def gemv_kernel(n, k, dtype, block_n, block_k, threads, stages):
    @T.prim_func
    def main(vector: T.Tensor((k,), dtype), matrix: T.Tensor((n, k), dtype), output: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block_n), threads=threads) as block:
            sums = T.alloc_reducer((block_n,), "float32", replication="all")
            x = T.alloc_fragment((block_k,), dtype)
            a = T.alloc_fragment((block_n, block_k), dtype)
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(vector[step * block_k], x)
                T.copy(matrix[block * block_n, step * block_k], a)
                for i, j in T.Parallel(block_n, block_k):
                    sums[i] += T.cast(a[i, j], "float32") * T.cast(x[j], "float32")
            T.finalize_reducer(sums)
            T.copy(sums, output[block * block_n])

    return main


def launcher(gemv, *configuration):
    kernel = tilelang.compile(gemv_kernel(gemv.n, gemv.k, NAMES[gemv.dtype], *configuration))

    def call(matrix, vector, output):
        kernel(vector, matrix, output)
        return output

    return call


def main():
    options = timing.arguments(__doc__)
    gemv = timing.Gemv(options)
    candidates = []
    for n, k, threads, stages in itertools.product((1, 2, 4), (512, 1024, 2048), (64, 128, 256), (0, 2)):
        if n * k // threads > 128 or options.K % k or options.N % n:
            continue
        variant = f"block_n={n} block_k={k} threads={threads} stages={stages}"
        try:
            candidates.append((variant, launcher(gemv, n, k, threads, stages)))
        except Exception as problem:  # the compiler refuses
            print(f"{variant}: {type(problem).__name__}", file=sys.stderr)
    variant, call = timing.best(gemv, candidates)
    timing.write(options, [timing.row(gemv, f"TileLang {tilelang.__version__}", variant, call)])


if __name__ == "__main__":
    main()
