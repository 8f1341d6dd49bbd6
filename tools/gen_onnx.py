"""Writes docs/onnx.md: the page below, and the operators that frazil.onnx converts.

    ./dev python tools/gen_onnx.py [--check]

--check fails if the page is not what would be written.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/onnx.md"

HEAD = """\
# ONNX

Written by `tools/gen_onnx.py`. `frazil.onnx` needs the package onnx (`pip install onnx`), which parses files.

## Models in

```python
import frazil as fz

model = fz.onnx.load("model.onnx")  # a path, bytes, or an onnx.ModelProto
y = model(x)                        # inputs by position
y = model(input=x, state=s)         # or by name
fast = fz.trace(model)
```

* A model is an `nn.Module`. Floating-point initializers of at least one axis are its parameters, under their names: they train, are saved and loaded (`state_dict`). The running averages of `BatchNormalization` are buffers. Integers, numbers without axes, what is read as a shape or a scale, and `Constant` nodes are constants. With `trainable=False` everything is, and what is computed from weights alone is computed once.
* One output is returned as it is, several as a tuple. Sequences are lists, optional values may be `None`. Strings, and floats and integers of less than 16 and 8 bits, are NumPy arrays: `ml_dtypes` has their dtypes.
* What depends on shapes alone is computed at the first call with these shapes, on the host. A Python number given for an integer or bool input is a constant in the same way: `model(x, state, 16000)` takes the branch of an `If` that asks for it beforehand, where a tensor would be read at every call.
* `If`, `Loop` and `Scan` run as Python does, and are traced as Python is; an `If` on a tensor under `vmap` is `fz.cond`.
* Operators that have no conversion but a definition as a function in ONNX, and functions of a model, are put in the place of their calls.
* Random operators draw from `fz.random`; with a seed they give the numbers of NumPy's legacy generator, as ONNX's reference does.

What a model has that is not supported is an error of `load`, which names every such node with its operator, opset and the nearest way out.

## Trust

A file is data: nothing in it is run, and pickles are not read. External data lies below the model's folder, with no `..`, no absolute path and no link on the way. The bytes of a tensor must be as many as its shape says; there are limits on nodes (200,000 with functions expanded), on the depth of graphs and calls (64) and on ranks (64). A damaged file is a `ValueError` that names what is wrong.

SAVE## Operators

The number is the version of an operator from which on a conversion holds, up to the next one.

"""


def main():
    from frazil.onnx import _coverage

    text = _coverage.page(HEAD)
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif not PAGE.is_file() or PAGE.read_text() != text:
        sys.exit("docs/onnx.md is not what tools/gen_onnx.py writes.")


if __name__ == "__main__":
    main()
