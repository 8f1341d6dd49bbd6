"""Transformers: layers of attention and feed-forward networks, and stacks of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy as _deepcopy
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._grad import no_grad as _no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.nn._arguments import one_of
from frazil.nn.activation import gelu, relu
from frazil.nn.attention_layers import MultiheadAttention, causal_mask
from frazil.nn.containers import ModuleList
from frazil.nn.dropout import Dropout
from frazil.nn.linear import Linear
from frazil.nn.module import Module
from frazil.nn.normalization import LayerNorm

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


class _Layer(Module):
    """What both kinds of layers share: self-attention and the feed-forward network."""

    _norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        name = f"[nn.{type(self).__name__}]"
        self.norm_first = _flag(f"{name} norm_first", norm_first)
        if isinstance(activation, str):
            word = one_of(f"{name} activation", activation, "relu", "gelu")
            activation = relu if word == "relu" else gelu
        self.activation = activation

        def attention():
            return MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
            )

        self.self_attn = attention()
        if self._norms == 3:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        for i in range(1, self._norms + 1):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            setattr(self, f"norm{i}", norm)
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _added(self, x, norm, block):
        """x with what a block makes of it added, normalised before the block or after the sum."""
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _self_attention(self, x, mask, padding, is_causal):
        y, _ = self.self_attn(x, x, x, padding, False, mask, is_causal=is_causal)
        return self.dropout1(y)

    def _feed_forward(self, x, dropout):
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a network of two linear layers; each result is added to what it was made
    from and normalised, with norm_first=True before instead (Vaswani et al. 2017).

    Takes (t, n, d_model), or (n, t, d_model) with batch_first=True, or one sequence (t, d_model).
    activation is "relu", "gelu" or a function.

    >>> from frazil import nn
    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(_fz.ones((3, 5, 8)), is_causal=True).shape
    (3, 5, 8)
    """

    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """A tensor like src. Masks are those of nn.MultiheadAttention."""

        def attend(x):
            return self._self_attention(x, src_mask, src_key_padding_mask, is_causal)

        x = self._added(src, self.norm1, attend)
        return self._added(x, self.norm2, lambda x: self._feed_forward(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder made, and a network of two linear layers (see
    TransformerEncoderLayer).

    >>> from frazil import nn
    >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(_fz.ones((3, 5, 8)), _fz.ones((3, 7, 8)), tgt_is_causal=True).shape
    (3, 5, 8)
    """

    _norms = 3
    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """A tensor like tgt. Masks are those of nn.MultiheadAttention."""

        def attend(x):
            return self._self_attention(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look(x):
            padding = memory_key_padding_mask
            y, _ = self.multihead_attn(
                x, memory, memory, padding, False, memory_mask, is_causal=memory_is_causal
            )
            return self.dropout2(y)

        x = self._added(tgt, self.norm1, attend)
        x = self._added(x, self.norm2, look)
        return self._added(x, self.norm3, lambda x: self._feed_forward(x, self.dropout3))


class _Stack(Module):
    """Copies of a layer one after another."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        n = _integer(f"[nn.{type(self).__name__}] num_layers", num_layers, 0)
        self.layers = ModuleList([_deepcopy(layer) for _ in range(n)])
        self.num_layers, self.norm = n, norm


class TransformerEncoder(_Stack):
    """num_layers copies of an encoder layer, then the module norm, if given.

    enable_nested_tensor and mask_check are there for PyTorch's callers and have no effect.

    >>> from frazil import nn
    >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    >>> encoder(_fz.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """A tensor like src. Masks are those of nn.MultiheadAttention."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """num_layers copies of a decoder layer, then the module norm, if given.

    >>> from frazil import nn
    >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(_fz.ones((5, 3, 8)), _fz.ones((7, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """A tensor like tgt. Masks are those of nn.MultiheadAttention."""
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                bool(tgt_is_causal), memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it made (Vaswani et al. 2017).

    custom_encoder and custom_decoder take the place of the stacks of layers.

    >>> from frazil import nn
    >>> model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> mask = nn.Transformer.generate_square_subsequent_mask(4)
    >>> model(_fz.ones((3, 5, 8)), _fz.ones((3, 4, 8)), tgt_mask=mask).shape
    (3, 4, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        def stack(kind, layer, n):
            made = layer(
                d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                norm_first, bias, device, dtype,
            )  # fmt: skip
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            return kind(made, n, norm)

        self.d_model = _integer("[nn.Transformer] d_model", d_model, 1)
        self.nhead, self.batch_first = nhead, batch_first
        self.encoder = custom_encoder or stack(
            TransformerEncoder, TransformerEncoderLayer, num_encoder_layers
        )
        self.decoder = custom_decoder or stack(
            TransformerDecoder, TransformerDecoderLayer, num_decoder_layers
        )
        with _no_grad():  # the copies differ from here on
            for p in self.parameters():
                if p.ndim > 1:
                    bound = math.sqrt(6 / (p.shape[0] + p.shape[1]))
                    draw = _random.uniform(p.shape, dtype=p.dtype, device=p.device)
                    p[...] = draw * (2 * bound) - bound

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """A tensor like tgt. Masks are those of nn.MultiheadAttention."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: str | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """(sz, sz): 0 where query i sees key j (j <= i), -inf elsewhere."""
        zeros = _fz.zeros((sz, sz), dtype=dtype, device=device)
        return _fz.where(causal_mask(sz, sz, device), zeros, -math.inf)
