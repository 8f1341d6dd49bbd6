"""Weights in fewer bits: int8 with integer products, or 16-bit floats that are computed with as
float32.

Here: `quantize`, which is frazil.quantize, too; `QuantizedLinear`, `QuantizedConv2d` and
`QuantizedEmbedding`, what it makes of layers; `QuantizationReport` and its rows, `QuantizedRow`.

A row of int8 weights is round(w / scale), with scale = max |w| / 127 of that row, an output channel
(symmetric quantisation by channel). What goes into a product is rounded in the same way, each row
by its own largest element when it is there (dynamic), or all rows by the largest that calibration
saw (static). Calibration also balances input channels, so that one large channel does not take the
bits of all others: inputs are divided and weights multiplied by s before they are rounded, s =
(max |x| / max |w|) ** p of the channel (SmoothQuant, arXiv:2211.10438), with that p of 0, 1/4, 1/2
and 3/4 by which the layer's outputs change least. Sums are exact, of 32 bits: int8 goes into
the processor's integer products as it is, and scales, bias and what follows are one kernel, traced
or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy as _deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil import autograd as _autograd
from frazil._grad import no_grad as _no_grad
from frazil._named import flag as _flag
from frazil._trace import trace
from frazil.nn._arguments import one_of
from frazil.nn.convolution import conv2d
from frazil.nn.convolution_layers import Conv2d
from frazil.nn.linear import Embedding, Linear, linear
from frazil.nn.module import Module
from frazil.nn.utils.parametrize import register_parametrization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "QuantizationReport", "QuantizedConv2d", "QuantizedEmbedding", "QuantizedLinear",
    "QuantizedRow", "quantize",
]  # fmt: skip

_M = TypeVar("_M", bound=Module)
_MOST = 127  # symmetric: -128 is not used
_LONGEST = (1 << 31) // _MOST**2  # sums of 32 bits
_POWERS = (0, 0.25, 0.5, 0.75)
_TO_INT8 = (Linear, Conv2d, Embedding)
_OF_CONV = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "channels_last",
)  # fmt: skip
_SAMPLE = 256  # rows by which one of these is chosen


def _one_plan(fn: Any) -> Any:
    """As if it were one op: also where nothing is traced what it does is compiled as a whole."""
    return trace(fn, pure=True, check_first=0, check_every=0)


def _to_int8(x: Tensor, scale: Tensor | None, axis: int | tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """x as int8, and its scale, by default that of the largest elements over the axis."""
    if scale is None:
        largest = abs(x).max(axis=axis, keepdims=True)
        scale = _fz.where(largest == 0, 1.0, largest) / _MOST
    return _fz.clip(_fz.round(x / scale), -_MOST, _MOST).astype("int8"), scale


# The conversions to int32 are for the sums: the processor's integer products read int8
# (jit/graph/passes/wide.cc).


@_one_plan
def _linear(input, quantized, scale, bias, balance, input_scale):
    x = input if balance is None else input * balance
    rounded, of_input = _to_int8(x, input_scale, -1)
    rows = rounded.reshape((-1, rounded.shape[-1])).astype("int32")
    sums = rows @ quantized.astype("int32").T
    sums = sums.reshape((*input.shape[:-1], quantized.shape[0]))
    y = sums.astype(scale.dtype) * (of_input * scale)
    return (y if bias is None else y + bias).astype(input.dtype)


@_one_plan
def _convolution(
    input, quantized, scale, bias, input_scale, kernel_size, stride, padding, dilation,
    channels_last,
):  # fmt: skip
    x = input if channels_last else _fz.moveaxis(input, -3, -1)
    rounded, of_input = _to_int8(x, input_scale, (-3, -2, -1))
    kernel = quantized.astype("int32").reshape((quantized.shape[0], *kernel_size, x.shape[-1]))
    kernel = _fz.permute_dims(kernel, (0, 3, 1, 2))
    sums = conv2d(
        rounded.astype("int32"), kernel, None, stride, padding, dilation, channels_last=True
    )
    y = sums.astype(scale.dtype) * (of_input * scale)
    y = (y if bias is None else y + bias).astype(input.dtype)
    return y if channels_last else _fz.moveaxis(y, -1, -3)


class QuantizedLinear(Module):
    """A linear layer with weights of int8, `quantized` (out, in), and a scale for each output.

    `weight` is what they stand for, computed when it is asked for.

    For inference: rounding has no gradient. An input that is NaN or infinite makes its row NaN,
    where scales are dynamic.
    """

    quantized: Tensor
    scale: Tensor
    bias: Tensor | None
    balance: Tensor | None
    input_scale: Tensor | None

    def __init__(
        self, layer: Linear, balance: Tensor | None = None, input_scale: Tensor | None = None
    ) -> None:
        _become(self, layer, balance, input_scale)

    @property
    def weight(self) -> Tensor:
        weight = self.quantized.astype("float32") * self.scale[:, None]
        return weight if self.balance is None else weight * self.balance

    def forward(self, input: Tensor) -> Tensor:
        return _linear(  # type: ignore[no-any-return]
            input, self.quantized, self.scale, self.bias, self.balance, self.input_scale
        )

    def extra_repr(self) -> str:
        out, of = self.quantized.shape
        return f"{of}, {out}, {'dynamic' if self.input_scale is None else 'static'}"


class QuantizedConv2d(Module):
    """A convolution of images with weights of int8, `quantized` (out, kernel height * width * in),
    and a scale for each output: its windows as rows of one integer product.

    Each image is rounded by its own largest element, or all by the largest that calibration saw.
    `weight` is what they stand for, as Conv2d has it. For inference, as QuantizedLinear.
    """

    quantized: Tensor
    scale: Tensor
    bias: Tensor | None
    input_scale: Tensor | None
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...] | str
    dilation: tuple[int, ...]
    channels_last: bool

    def __init__(self, layer: Conv2d, input_scale: Tensor | None = None) -> None:
        for name in _OF_CONV:
            setattr(self, name, getattr(layer, name))
        _become_conv(self, layer, input_scale)

    @property
    def weight(self) -> Tensor:
        weight = self.quantized.astype("float32") * self.scale[:, None]
        weight = weight.reshape((self.out_channels, *self.kernel_size, self.in_channels))
        return _fz.permute_dims(weight, (0, 3, 1, 2))

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4) or input.shape[self._channels] != self.in_channels:
            raise ValueError(
                f"[quantized conv2d] needs ([n,] channels, height, width) with {self.in_channels} "
                f"channels, channels_last={self.channels_last}, got shape {input.shape}."
            )
        self._check(input)
        options = self.kernel_size, self.stride, self.padding, self.dilation, self.channels_last
        return _convolution(  # type: ignore[no-any-return]
            input, self.quantized, self.scale, self.bias, self.input_scale, *options
        )

    @property
    def _channels(self) -> int:
        return -1 if self.channels_last else -3

    def _check(self, input: Tensor) -> None:
        axes = (-3, -2) if self.channels_last else (-2, -1)
        pads = self.padding if isinstance(self.padding, tuple) else None
        for i, axis in enumerate(axes):
            reach = self.dilation[i] * (self.kernel_size[i] - 1)
            extent = input.shape[axis]
            padded = extent + (2 * pads[i] if pads else reach if self.padding == "same" else 0)
            if padded <= reach:
                h, w = (input.shape[axis] for axis in axes)
                raise ValueError(
                    f"[quantized conv2d] an image of {h} by {w}, with padding {self.padding}, is "
                    f"smaller than the kernel {self.kernel_size}, dilated by {self.dilation}."
                )

    def extra_repr(self) -> str:
        rounding = "dynamic" if self.input_scale is None else "static"
        return f"{self.in_channels}, {self.out_channels}, {self.kernel_size}, {rounding}"


def _stored(layer: Module, input: Tensor) -> list[Tensor] | None:
    """The layer's weight and bias as they are in 16 bits, for one plan of all it does; None where
    that is not so, gradients are wanted or other dtypes than the layer's."""
    lists = vars(layer).get("parametrizations", {})
    found = [
        lists[name].original
        for name in ("weight", "bias")
        if name in lists and [type(of) for of in lists[name]] == [_Widened]
    ]
    biased = "bias" in lists or vars(layer).get("bias") is not None
    if len(found) != 1 + biased or input.dtype.name != "float32" or _autograd.get_autocast():
        return None
    graded = _autograd.is_grad_enabled() and any(t.requires_grad for t in (input, *found))
    return None if graded else found


class _StoredLinear(Linear):
    """A linear layer whose parameters are stored in 16 bits: the product reads the weight as it is
    (jit/graph/passes/wide.cc), also where nothing is traced."""

    def forward(self, input: Tensor) -> Tensor:
        stored = _stored(self, input)
        return super().forward(input) if stored is None else _stored_linear(input, *stored)


class _StoredConv2d(Conv2d):
    """A convolution whose parameters are stored in 16 bits."""

    def forward(self, input: Tensor) -> Tensor:
        stored = None if self.padding_mode != "zeros" else _stored(self, input)
        if stored is None:
            return super().forward(input)
        options = self.stride, self.padding, self.dilation, self.groups, self.channels_last
        return _stored_convolution(input, options, *stored)  # type: ignore[no-any-return]


_STORED: dict[type, type] = {Linear: _StoredLinear, Conv2d: _StoredConv2d}


def _widened(*stored: Tensor) -> list[Tensor]:
    return [x.astype("float32") for x in stored]


@_one_plan
def _stored_linear(input, *stored):
    return linear(input, *_widened(*stored))


@_one_plan
def _stored_convolution(input, options, *stored):
    weight, *bias = _widened(*stored)
    return conv2d(input, weight, bias[0] if bias else None, *options)


class QuantizedEmbedding(Module):
    """Rows of a table, `quantized`, by integer index; a row of int8 has a scale.

    `weight` is the table of float32 that it stands for, computed when it is asked for.
    """

    quantized: Tensor
    scale: Tensor | None

    def __init__(self, layer: Embedding, storage: str = "int8") -> None:
        _become_table(self, layer, storage)

    @property
    def weight(self) -> Tensor:
        table = self.quantized.astype("float32")
        return table if self.scale is None else table * self.scale

    def forward(self, input: Tensor) -> Tensor:
        rows = _fz.take(self.quantized, input, axis=0).astype("float32")
        return rows if self.scale is None else rows * _fz.take(self.scale, input, axis=0)

    def extra_repr(self) -> str:
        return "{}, {}, {}".format(*self.quantized.shape, self.quantized.dtype.name)


class _Widened(Module):
    """A parameter that is stored in 16 bits."""

    def __init__(self, storage: str, dtype: str) -> None:
        self.storage, self.dtype = storage, dtype

    def forward(self, stored: Tensor) -> Tensor:
        return stored.astype(self.dtype)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value.astype(self.storage)


class QuantizedRow(NamedTuple):
    """What became of a layer.

    `of` tells what the error was measured on: "outputs" for the calibration data, or "weights".
    snr is the ratio of signal and error in dB, 20 log10(norm(x) / norm(x - y)).
    """

    name: str
    layer: str
    bytes_before: int
    bytes_after: int
    max_error: float
    snr: float
    of: str


class QuantizationReport:
    """Rows for the layers that were quantised, the bytes of the whole module, and `kept`: names of
    other layers whose weights stay float32; prints as a table."""

    def __init__(
        self, rows: Sequence[QuantizedRow], bytes_before: int, bytes_after: int,
        kept: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.rows, self.bytes_before, self.bytes_after = list(rows), bytes_before, bytes_after
        self.kept = list(kept)

    def __repr__(self) -> str:
        head = ("layer", "", "KiB", "then", "max error", "SNR dB", "of")
        table = [head]
        table += [
            (
                row.name or "(all)", row.layer, f"{row.bytes_before / 1024:.1f}",
                f"{row.bytes_after / 1024:.1f}", f"{row.max_error:.3g}", f"{row.snr:.1f}", row.of,
            )
            for row in self.rows
        ]  # fmt: skip
        total = f"{self.bytes_before / 1024:.1f}", f"{self.bytes_after / 1024:.1f}"
        table.append(("(module)", "", *total, "", "", ""))
        widths = [max(len(line[i]) for line in table) for i in range(len(head))]
        lines = (
            "  ".join(
                text.ljust(width) if i in (0, 1, 6) else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        )
        kept = f"\nstay float32: {', '.join(self.kept)}" if self.kept else ""
        return "\n".join(lines) + kept


def quantize(
    module: _M,
    *,
    bits: int = 8,
    storage: str | None = None,
    calibration: Iterable[Any] | None = None,
    dynamic: bool = True,
    skip: Sequence[str] | Callable[[str, Module], bool] = (),
) -> tuple[_M, QuantizationReport]:
    """A copy of a module with its weights in fewer bits, and what that costs in accuracy.

    With 8 bits, linear layers and convolutions of images (of one group, padded with zeros) multiply
    int8 by int8 and tables of embeddings are int8; other layers stay, which the report lists. With
    16, all parameters of float32 are stored as 16-bit floats and computed with as float32.

    Parameters
    ----------
    module : Module
        Stays as it is. Layers of float32 are quantised, by their class: Linear, Conv2d and
        Embedding itself, not classes derived from them.
    bits : int
        8 or 16.
    storage : str, optional
        "int8" for 8 bits; "float16" (the default) or "bfloat16" for 16.
    calibration : iterable, optional
        Inputs of the module, tuples where it takes several, like those that it will see. They are
        run through it twice: with 8 bits they balance the channels of what goes into products, and
        errors are those of outputs of layers, each fed what it got in the original module.
    dynamic : bool
        With 8 bits, inputs of a product are rounded row by row, each by its own largest element.
        Otherwise by the largest that calibration, which is needed then, saw: faster, and what is
        larger is cut off.
    skip : sequence of str, or callable
        Layers that stay: names, or a function of name and layer.

    Returns
    -------
    (Module, QuantizationReport)

    Raises
    ------
    ValueError
        If bits or storage are none of those, if a name is no layer's, if a weight is not finite, or
        if the calibration data are empty or needed.

    >>> import frazil as fz
    >>> from frazil import nn
    >>> fz.random.seed(0)
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> small, report = quantize(model)
    >>> x = fz.random.normal((4, 64))
    >>> bool(abs(small(x) - model(x)).max() < 0.05)
    True
    >>> [(row.name, row.bytes_before, row.bytes_after) for row in report.rows]
    [('0', 8320, 2304), ('2', 1320, 400)]
    """
    stored = _storage(bits, storage)
    if not isinstance(module, Module):
        raise TypeError(f"[quantize] module must be a Module, got {type(module).__name__}.")
    chosen = _chosen(module, stored, skip)
    if not _flag("[quantize] dynamic", dynamic) and (calibration is None or bits != 8):
        raise ValueError("[quantize] dynamic=False needs 8 bits and calibration data.")
    batches = None if calibration is None else [_arguments(x) for x in calibration]
    if batches == []:
        raise ValueError("[quantize] calibration has no inputs: give some, or None.")
    before = {name: _bytes(layer) for name, layer in chosen.items()}
    originals = dict(chosen)
    measured: dict[str, _Inputs] = {}
    if batches is not None and stored == "int8":
        measured = _measured(module, chosen, batches, dynamic)
    copy = _deepcopy(module)
    layers = dict(copy.named_modules())
    with _no_grad():
        for name in chosen:
            _quantized(layers[name], name, stored, measured.get(name, _Inputs()))
    if batches is None:
        errors = {name: _error_of_weights(layer, layers[name]) for name, layer in chosen.items()}
    else:
        errors = _errors_of_outputs(module, originals, layers, batches)
    rows = [
        QuantizedRow(
            name, type(layer).__name__, before[name], _bytes(layers[name]), *errors[name],
            "weights" if batches is None else "outputs",
        )
        for name, layer in chosen.items()
    ]  # fmt: skip
    total = [
        sum(x.nbytes for x in {id(x): x for x in (*m.parameters(), *m.buffers())}.values())
        for m in (module, copy)
    ]
    kept = [
        name for name, layer in module.named_modules() if name not in chosen and _own_floats(layer)
    ]
    return copy, QuantizationReport(rows, total[0], total[1], kept)


def _storage(bits: Any, storage: str | None) -> str:
    names = {8: ("int8",), 16: ("float16", "bfloat16")}
    if isinstance(bits, bool) or bits not in names:
        raise ValueError(f"[quantize] bits must be 8 or 16, got {bits!r}.")
    return (
        names[bits][0] if storage is None else one_of("[quantize] storage", storage, *names[bits])
    )


def _chosen(module: Module, storage: str, skip: Any) -> dict[str, Module]:
    found: dict[str, Module] = {}
    seen: set[int] = set()
    named = dict(module.named_modules())
    if not callable(skip):
        unknown = [name for name in skip if name not in named]
        if unknown:
            raise ValueError(
                f"[quantize] no layer has the name {unknown}; there are {list(named)}."
            )
    for name, layer in named.items():
        fits = type(layer) in _TO_INT8 if storage == "int8" else _own_floats(layer)
        if not fits or id(layer) in seen:
            continue
        if any(p.dtype.name != "float32" for p in _own(layer).values()):
            continue
        if type(layer) is Embedding and layer.max_norm is not None:
            continue  # its rows change when they are used
        if storage == "int8" and type(layer) is Conv2d and (
            layer.groups > 1 or layer.padding_mode != "zeros"
        ):  # fmt: skip
            continue
        if not (skip(name, layer) if callable(skip) else name in skip):
            seen.add(id(layer))
            found[name] = layer
    return found


def _own(layer: Module) -> dict[str, Tensor]:
    """The layer's parameters that are none of layers inside."""
    return {name: p for name, p in layer.named_parameters() if "." not in name}


def _own_floats(layer: Module) -> dict[str, Tensor]:
    return {name: p for name, p in _own(layer).items() if p.dtype.name == "float32"}


def _bytes(layer: Module) -> int:
    return sum(
        x.nbytes
        for name, x in (*layer.named_parameters(), *layer.named_buffers())
        if "." not in name or name.startswith("parametrizations.")
    )


class _Inputs(NamedTuple):
    """How the inputs of a linear layer are rounded."""

    balance: Tensor | None = None
    scale: Tensor | None = None


def _quantized(layer: Any, name: str, storage: str, inputs: _Inputs) -> None:
    """Makes a layer one of few bits, in place."""
    for key, value in _own(layer).items():
        if not bool(_fz.isfinite(value).all()):
            raise ValueError(f"[quantize] '{name}.{key}' has elements that are not finite.")
    if type(layer) is Embedding:
        _become_table(layer, layer, storage)
        layer.__class__ = QuantizedEmbedding  # type: ignore[assignment]
    elif storage == "int8" and type(layer) is Conv2d:
        _become_conv(layer, layer, inputs.scale)
        layer.__class__ = QuantizedConv2d  # type: ignore[assignment]
    elif storage == "int8":
        _become(layer, layer, *inputs)
        layer.__class__ = QuantizedLinear
    else:
        if type(layer) in _STORED:
            layer.__class__ = _STORED[type(layer)]
        for key in _own_floats(layer):
            register_parametrization(layer, key, _Widened(storage, "float32"))


def _rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of int8, and their scales."""
    largest = abs(weight).max(axis=1)
    scale = _fz.where(largest == 0, 1.0, largest) / _MOST
    return _fz.round(weight / scale[:, None]).astype("int8"), scale.astype("float32")


def _become(layer: Any, of: Linear, balance: Tensor | None, input_scale: Tensor | None) -> None:
    if of.weight.shape[1] > _LONGEST:
        raise ValueError(
            f"[quantize] a layer of {of.weight.shape[1]} inputs is longer than sums of 32 bits "
            f"allow ({_LONGEST}): skip it."
        )
    weight = of.weight.detach()
    weight, scale = _rounded(weight if balance is None else weight / balance)
    bias = None if of.bias is None else of.bias.detach().copy()
    if layer is of:
        del layer.weight, layer.bias
    for name, value in (
        ("quantized", weight), ("scale", scale), ("bias", bias), ("balance", balance),
        ("input_scale", input_scale),
    ):  # fmt: skip
        layer.register_buffer(name, value)


def _become_conv(layer: Any, of: Conv2d, input_scale: Tensor | None) -> None:
    weight = _fz.permute_dims(of.weight.detach(), (0, 2, 3, 1))
    weight = weight.reshape((of.out_channels, -1))
    if weight.shape[1] > _LONGEST:
        raise ValueError(
            f"[quantize] windows of {weight.shape[1]} elements are longer than sums of 32 bits "
            f"allow ({_LONGEST}): skip the layer."
        )
    quantized, scale = _rounded(weight)
    bias = None if of.bias is None else of.bias.detach().copy()
    if layer is of:
        del layer.weight, layer.bias
    for name, value in (
        ("quantized", quantized), ("scale", scale), ("bias", bias), ("input_scale", input_scale)
    ):  # fmt: skip
        layer.register_buffer(name, value)


def _become_table(layer: Any, of: Embedding, storage: str) -> None:
    weight, scale = of.weight.detach(), None
    if storage == "int8":
        weight, scale = _rounded(weight)
        scale = scale[:, None].copy()
    else:
        weight = weight.astype(storage)
    if layer is of:
        del layer.weight
    layer.register_buffer("quantized", weight)
    layer.register_buffer("scale", scale)


def _arguments(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _watched(module: Module, layers: dict[str, Any], batches: Any, see: Any) -> None:
    """Runs the module on all batches; see(name, arguments, result) hears of each layer's calls."""
    handles = [
        layer.register_forward_hook(
            lambda _, arguments, result, name=name: see(name, arguments, result)
        )
        for name, layer in layers.items()
    ]
    try:
        with _no_grad():
            for arguments in batches:
                module(*arguments)
    finally:
        for handle in handles:
            handle.remove()


def _measured(
    module: Module, layers: dict[str, Module], batches: Any, dynamic: bool
) -> dict[str, _Inputs]:
    """For each linear layer what suits its inputs best."""
    largest: dict[str, Tensor] = {}
    samples: dict[str, list[Tensor]] = {}

    def see(name, arguments, result):
        if type(layers[name]) is Embedding or arguments[0].size == 0:
            return
        rows = arguments[0].reshape((-1, arguments[0].shape[-1]))
        if type(layers[name]) is Conv2d:  # images are rounded as a whole
            rows = abs(rows).max().reshape((1, 1))
        found = abs(rows).max(axis=0)
        if not bool(_fz.isfinite(found).all()):
            raise ValueError(f"[quantize] calibration: '{name}' is given {float(found.max())}.")
        largest[name] = _fz.maximum(largest[name], found) if name in largest else found
        kept = samples.setdefault(name, [])
        left = _SAMPLE - sum(len(sample) for sample in kept)
        if left > 0:
            kept.append(rows[:left])

    _watched(module, layers, batches, see)
    unused = [n for n, layer in layers.items() if type(layer) is not Embedding and n not in largest]
    if unused and not dynamic:
        raise ValueError(f"[quantize] calibration did not use {unused}: skip them.")
    with _no_grad():
        return {
            name: _best(layers[name], of, _fz.concatenate(samples[name]), dynamic)
            for name, of in largest.items()
        }


def _best(layer: Any, largest: Tensor, rows: Tensor, dynamic: bool) -> _Inputs:
    if type(layer) is Conv2d:
        most = largest.max()
        return _Inputs(None, None if dynamic else _fz.where(most == 0, 1.0, most) / _MOST)
    ratio = largest / abs(layer.weight.detach()).max(axis=0)
    ratio = _fz.where(_fz.isfinite(ratio) & (ratio > 0), ratio, 1.0)
    want = layer.forward(rows)
    tried: list[tuple[float, int, _Inputs]] = []
    for i, power in enumerate(_POWERS):
        balance = ratio**-power if power else None
        most = (largest if balance is None else largest * balance).max()
        scale = None if dynamic else _fz.where(most == 0, 1.0, most) / _MOST
        error = QuantizedLinear(layer, balance, scale)(rows) - want
        tried.append((float((error * error).sum()), i, _Inputs(balance, scale)))
    return min(tried)[2]


def _errors_of_outputs(
    module: Module, originals: dict[str, Any], layers: dict[str, Any], batches: Any
) -> dict[str, tuple[float, float]]:
    parts: dict[str, list[float]] = {name: [0.0, 0.0, 0.0] for name in originals}

    def see(name, arguments, result):
        for want, got in zip(_arguments(result), _arguments(layers[name](*arguments)), strict=True):
            if isinstance(want, Tensor):
                _add_error(parts[name], want, got)

    _watched(module, originals, batches, see)
    return {name: _error(*part) for name, part in parts.items()}


def _error_of_weights(layer: Module, quantized: Any) -> tuple[float, float]:
    part = [0.0, 0.0, 0.0]
    for name, want in _own_floats(layer).items():
        _add_error(part, want.detach(), getattr(quantized, name).detach())
    return _error(*part)


def _add_error(part: list[float], want: Tensor, got: Tensor) -> None:
    if want.size == 0:
        return
    error = abs(want - got)
    part[0] = max(part[0], float(error.max()))
    part[1] += float((want.astype("float64") ** 2).sum())
    part[2] += float((error.astype("float64") ** 2).sum())


def _error(largest: float, signal: float, noise: float) -> tuple[float, float]:
    ratio = math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf
    return largest, ratio
