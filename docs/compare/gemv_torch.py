"""Rows of PyTorch for `tegula bench --rows`: matrix @ vector as it is, and compiled.  See timing.py."""
import torch

import timing


def main():
    options = timing.arguments(__doc__)
    gemv = timing.Gemv(options)
    version = torch.__version__.split("+")[0]

    def plain(matrix, vector, output):
        return torch.mv(matrix, vector, out=output)

    rows = [timing.row(gemv, f"PyTorch {version}", "torch.mv", plain)]
    for mode in ("default", "max-autotune-no-cudagraphs"):
        torch._dynamo.reset()
        compiled = torch.compile(lambda m, v: m @ v, mode=mode)
        rows.append(timing.row(gemv, "torch.compile", mode, lambda m, v, _, f=compiled: f(m, v)))
    timing.write(options, rows)


if __name__ == "__main__":
    main()
