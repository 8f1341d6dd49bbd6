"""Convolutions as layers, with weights as PyTorch names, shapes and draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.nn import convolution as _f
from frazil.nn._arguments import divides, one_of, several, uniform
from frazil.nn.module import Module
from frazil.nn.padding import pad

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip


class _Layer(Module):
    """What convolutions and transposed ones share: the arguments, the weight and the bias."""

    _axes = 0
    stride: tuple[int, ...]
    _function: Any = None

    def _make(self, transposed, channels, kernel, groups, bias, device, dtype, channels_last):
        where = f"[nn.{type(self).__name__}]"
        n_in, n_out = (
            _integer(f"{where} {name}_channels", n, 1)
            for name, n in zip(("in", "out"), channels, strict=True)
        )
        self.groups = _integer(f"{where} groups", groups, 1)
        divides(where, n_in, self.groups, "in_channels", "groups")
        divides(where, n_out, self.groups, "out_channels", "groups")
        self.in_channels, self.out_channels = n_in, n_out
        self.kernel_size = several(f"{where} kernel_size", kernel, self._axes, 1)
        self.channels_last = _flag(f"{where} channels_last", channels_last)
        first, second = (n_in, n_out // groups) if transposed else (n_out, n_in // groups)
        bound = 1 / math.sqrt(second * math.prod(self.kernel_size))
        self.weight = uniform((first, second, *self.kernel_size), bound, device, dtype)
        bias = _flag(f"{where} bias", bias)
        self.bias = uniform((n_out,), bound, device, dtype) if bias else None

    def _multiply_adds(self, args: Any, result: Tensor) -> int:
        """Of one call, for nn.summary: each place of the output, or a transposed one's input."""
        places = args[0] if isinstance(self, _ConvTranspose) else result
        return places.size * self.weight.size // self.weight.shape[0]

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name in ("padding", "output_padding", "dilation", "groups"):
            value = getattr(self, name, 0)
            plain = 0 if "padding" in name else 1
            if value not in (plain, (plain,) * self._axes):
                text += f", {name}={value!r}"
        text += "" if self.bias is not None else ", bias=False"
        return text + (", channels_last=True" if self.channels_last else "")


class _Conv(_Layer):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: str | None = None,
        dtype: DTypeLike | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        channels = in_channels, out_channels
        self._make(False, channels, kernel_size, groups, bias, device, dtype, channels_last)
        where, n = f"[nn.{type(self).__name__}]", self._axes
        self.stride = several(f"{where} stride", stride, n, 1)
        self.dilation = several(f"{where} dilation", dilation, n, 1)
        self.padding = (
            one_of(f"{where} padding", padding, "same", "valid")
            if isinstance(padding, str)
            else several(f"{where} padding", padding, n, 0)
        )
        self.padding_mode = one_of(
            f"{where} padding_mode", padding_mode, "zeros", "reflect", "replicate", "circular"
        )
        if self.padding_mode != "zeros" and channels_last:
            raise ValueError(
                f"{where} padding_mode needs channels_last=False, got {padding_mode!r}."
            )

    def forward(self, input: Tensor) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._padded(input), 0
        return self._function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups,
            self.channels_last,
        )  # fmt: skip

    def _padded(self, input):
        widths = []  # from the last axis on, as pad takes them
        for i in reversed(range(self._axes)):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                widths += [total // 2, total - total // 2]
            else:
                widths += [0, 0] if self.padding == "valid" else [self.padding[i]] * 2
        return pad(input, widths, mode=self.padding_mode)


class Conv1d(_Conv):
    """Cross-correlation over the last axis of ([n,] channels, length), plus a bias."""

    _axes, _function = 1, staticmethod(_f.conv1d)


class Conv2d(_Conv):
    """Cross-correlation over the last two axes of ([n,] channels, height, width), plus a bias.

    With channels_last=True inputs and results are ([n,] height, width, channels); the weight keeps
    its shape (out, in / groups, kernel height, kernel width).

    >>> import frazil as fz
    >>> Conv2d(3, 8, 3, padding=1)(fz.ones((2, 3, 5, 5))).shape
    (2, 8, 5, 5)
    """

    _axes, _function = 2, staticmethod(_f.conv2d)


class Conv3d(_Conv):
    """Cross-correlation over the last three axes of ([n,] channels, depth, height, width)."""

    _axes, _function = 3, staticmethod(_f.conv3d)


class _ConvTranspose(_Layer):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: str | None = None,
        dtype: DTypeLike | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        channels = in_channels, out_channels
        self._make(True, channels, kernel_size, groups, bias, device, dtype, channels_last)
        where, n = f"[nn.{type(self).__name__}]", self._axes
        self.stride = several(f"{where} stride", stride, n, 1)
        self.padding = several(f"{where} padding", padding, n, 0)
        self.output_padding = several(f"{where} output_padding", output_padding, n, 0)
        self.dilation = several(f"{where} dilation", dilation, n, 1)
        one_of(f"{where} padding_mode", padding_mode, "zeros")

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        more = self.output_padding
        if output_size is not None:
            more = self._more(input, tuple(output_size)[-self._axes :])
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
            self.dilation, self.channels_last,
        )  # fmt: skip

    def _more(self, input, wanted):
        """The output_padding that gives the extents that are wanted."""
        n = self._axes
        places = input.shape[-n - 1 : -1] if self.channels_last else input.shape[-n:]
        least = [
            (places[i] - 1) * self.stride[i] - 2 * self.padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            for i in range(n)
        ]  # fmt: skip
        if not all(0 <= w - m < s for w, m, s in zip(wanted, least, self.stride, strict=True)):
            raise ValueError(
                f"[nn.{type(self).__name__}] output_size must lie from {least} up to a stride "
                f"beyond, got {wanted}."
            )
        return [w - m for w, m in zip(wanted, least, strict=True)]


class ConvTranspose1d(_ConvTranspose):
    """The gradient of Conv1d to its input, as a layer; the weight is (in, out / groups, kernel)."""

    _axes, _function = 1, staticmethod(_f.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The gradient of Conv2d to its input, as a layer."""

    _axes, _function = 2, staticmethod(_f.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The gradient of Conv3d to its input, as a layer."""

    _axes, _function = 3, staticmethod(_f.conv_transpose3d)
