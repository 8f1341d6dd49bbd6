"""Pooling as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.nn import pooling as _f
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class _Pool(Module):
    _function: Any = None
    kernel_size: Any
    stride: Any
    padding: Any = 0

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        *,
        channels_last: bool = False,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode
        self.return_indices, self.channels_last = return_indices, channels_last

    def forward(self, input: Tensor) -> Any:
        return self._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices, self.channels_last,
        )  # fmt: skip


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override
        self.channels_last = channels_last

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override, self.channels_last,
        )  # fmt: skip
        return result


class _LPPool(_Pool):
    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
        *,
        channels_last: bool = False,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.norm_type, self.ceil_mode, self.channels_last = norm_type, ceil_mode, channels_last

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(
            input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode,
            self.channels_last,
        )  # fmt: skip
        return result


class _AdaptiveAvgPool(Module):
    _function: Any = None

    def __init__(self, output_size: Any, *, channels_last: bool = False) -> None:
        self.output_size, self.channels_last = output_size, channels_last

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(input, self.output_size, self.channels_last)
        return result

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(Module):
    _function: Any = None

    def __init__(
        self, output_size: Any, return_indices: bool = False, *, channels_last: bool = False
    ) -> None:
        self.output_size, self.return_indices = output_size, return_indices
        self.channels_last = channels_last

    def forward(self, input: Tensor) -> Any:
        return self._function(input, self.output_size, self.return_indices, self.channels_last)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxPool1d(_MaxPool):
    """Maxima of windows over the last axis of ([n,] channels, length)."""

    _function = staticmethod(_f.max_pool1d)


class AvgPool1d(_AvgPool):
    """Means of windows over the last axis of ([n,] channels, length)."""

    _function = staticmethod(_f.avg_pool1d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """output_size maxima of windows over the last axis of ([n,] channels, length)."""

    _function = staticmethod(_f.adaptive_max_pool1d)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """output_size means of windows over the last axis of ([n,] channels, length)."""

    _function = staticmethod(_f.adaptive_avg_pool1d)


class MaxPool2d(_MaxPool):
    """Maxima of windows over the last two axes of ([n,] channels, height, width)."""

    _function = staticmethod(_f.max_pool2d)


class AvgPool2d(_AvgPool):
    """Means of windows over the last two axes of ([n,] channels, height, width)."""

    _function = staticmethod(_f.avg_pool2d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """output_size maxima of windows over the last two axes of ([n,] channels, height, width)."""

    _function = staticmethod(_f.adaptive_max_pool2d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """output_size means of windows over the last two axes of ([n,] channels, height, width)."""

    _function = staticmethod(_f.adaptive_avg_pool2d)


class MaxPool3d(_MaxPool):
    """Maxima of windows over depth, height and width of ([n,] channels, ...)."""

    _function = staticmethod(_f.max_pool3d)


class AvgPool3d(_AvgPool):
    """Means of windows over depth, height and width of ([n,] channels, ...)."""

    _function = staticmethod(_f.avg_pool3d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """output_size maxima of windows over depth, height and width of ([n,] channels, ...)."""

    _function = staticmethod(_f.adaptive_max_pool3d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """output_size means of windows over depth, height and width of ([n,] channels, ...)."""

    _function = staticmethod(_f.adaptive_avg_pool3d)


class LPPool1d(_LPPool):
    """The norm of a type of windows over the last axis of ([n,] channels, length)."""

    _function = staticmethod(_f.lp_pool1d)


class LPPool2d(_LPPool):
    """The norm of a type of windows over the last two axes of ([n,] channels, height, width)."""

    _function = staticmethod(_f.lp_pool2d)


class LPPool3d(_LPPool):
    """The norm of a type of windows over depth, height and width of ([n,] channels, ...)."""

    _function = staticmethod(_f.lp_pool3d)
