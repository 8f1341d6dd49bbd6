"""A user's file that calls everything public, for type checkers and for Python (test_types.py)."""

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import frazil as fz
from frazil import Tensor, amp, nn, optim
from frazil.nn import functional as F
from frazil.optim import lr_scheduler, swa_utils

X: Tensor = fz.asarray([[0.5, 0.25, 0.75], [0.125, 1.0, 0.375]])
V: Tensor = fz.asarray([1.0, 2.0, 3.0])
I: Tensor = fz.asarray([3, 1, 2])  # noqa: E741
ARRAY = np.ones((2, 3), "float32")


def elementwise() -> list[Tensor]:
    one: list[Callable[..., Tensor]] = [
        fz.abs, fz.absolute, fz.acos, fz.asin, fz.asinh, fz.atan, fz.atanh, fz.ceil, fz.copy,
        fz.cos, fz.cosh, fz.detach, fz.erf, fz.exp, fz.expm1, fz.floor, fz.isfinite, fz.isinf,
        fz.isnan, fz.log, fz.log10, fz.log1p, fz.log2, fz.logical_not, fz.nan_to_num, fz.negative,
        fz.positive, fz.reciprocal, fz.round, fz.rsqrt, fz.sigmoid, fz.sign, fz.signbit, fz.sin,
        fz.sinh, fz.sqrt, fz.square, fz.tan, fz.tanh, fz.trunc,
    ]  # fmt: skip
    two: list[Callable[..., Tensor]] = [
        fz.add, fz.atan2, fz.copysign, fz.divide, fz.equal, fz.floor_divide, fz.greater,
        fz.greater_equal, fz.hypot, fz.less, fz.less_equal, fz.logaddexp, fz.logical_and,
        fz.logical_or, fz.logical_xor, fz.maximum, fz.minimum, fz.mod, fz.multiply, fz.not_equal,
        fz.pow, fz.power, fz.remainder, fz.subtract, fz.true_divide,
    ]  # fmt: skip
    bits: list[Callable[..., Tensor]] = [
        fz.bitwise_and, fz.bitwise_left_shift, fz.bitwise_or, fz.bitwise_right_shift,
        fz.bitwise_xor, fz.left_shift, fz.right_shift,
    ]  # fmt: skip
    out = [f(X) for f in one] + [f(X, V) for f in two] + [f(I, 1) for f in bits]
    out += [fz.exp(X), fz.exp(ARRAY), fz.exp(2.0), fz.add(X, ARRAY), fz.add(1, V), fz.pow(X, 2)]
    out += [fz.acosh(V), fz.bitwise_invert(I), fz.invert(I), fz.clip(X, 0, 1), fz.clip(X, max=V)]
    out += [fz.where(X > 0.5, X, 0.0), fz.isclose(X, V, equal_nan=True), fz.nan_to_num(X, nan=1.0)]
    same: bool = fz.allclose(X, X) and fz.array_equal(X, X)
    places: tuple[Tensor, ...] = fz.where(X > 0.5)
    return [*out, *places, fz.asarray(same)]


def reductions() -> list[Tensor]:
    plain: list[Callable[..., Tensor]] = [
        fz.all, fz.any, fz.argmax, fz.argmin, fz.count_nonzero, fz.logsumexp, fz.max, fz.mean,
        fz.min, fz.prod, fz.std, fz.sum, fz.var,
    ]  # fmt: skip
    out = [f(X, axis=0) for f in plain]
    out += [fz.sum(X, axis=(0, 1), dtype="float64", keepdims=True), fz.std(X, 1, ddof=1)]
    out += [fz.cumsum(X, 0), fz.cumprod(X, 1), fz.cumulative_sum(V, include_initial=True)]
    return [*out, fz.cumulative_prod(X, axis=1), fz.diff(V, 2), fz.diff(V, prepend=0.0)]


def movement() -> list[Tensor]:
    out = [fz.astype(X, fz.float64), fz.broadcast_to(V, (2, 3)), fz.concat([X, X], axis=1)]
    out += [fz.concatenate((V, V)), fz.expand_dims(X, 0), fz.expand_dims(X, axis=(0, -1))]
    out += [fz.flatten(X), fz.flip(X, axis=1), fz.matrix_transpose(X), fz.moveaxis(X, 0, 1)]
    out += [fz.moveaxis(X, (0, 1), (1, 0)), fz.pad(X, ((1, 0), (0, 1)), constant_values=2)]
    out += [fz.permute_dims(X, (1, 0)), fz.ravel(X), fz.repeat(X, 2, axis=0), fz.reshape(X, (3, 2))]
    out += [fz.reshape(X, -1), fz.roll(X, 1, axis=0), fz.squeeze(X[:1]), fz.stack([V, V], axis=-1)]
    out += [fz.swapaxes(X, 0, 1), fz.take(X, I - 1, axis=1), fz.take(X, [0, 1]), fz.tile(X, (2, 1))]
    out += [fz.take_along_axis(X, fz.argsort(X), axis=-1), fz.transpose(X), fz.tril(X)]
    out += [fz.triu(X, 1)]
    out += [*fz.split(X, 3, axis=1), *fz.split(V, [1, 2]), *fz.unstack(X), *fz.nonzero(X)]
    out += [*fz.broadcast_arrays(X, V), *fz.meshgrid(V, I, indexing="ij")]
    shape: tuple[int, ...] = fz.broadcast_shapes((2, 1), (3,))
    return [*out, fz.zeros(shape)]


def sorting() -> list[Tensor]:
    every = fz.unique_all(I)
    out = [every.values, every.indices, fz.unique_counts(I).counts, fz.unique_values(I)]
    out += [fz.unique_inverse(I).inverse_indices, fz.isin(I, [1, 2]), fz.sort(X, 0), fz.argsort(V)]
    return [*out, fz.searchsorted(V, 2.5), fz.searchsorted(V, V, side="right", sorter=[0, 1, 2])]


def products() -> list[Tensor]:
    out = [fz.matmul(X, V), X @ X.T, fz.outer(V, V), fz.tensordot(X, X, axes=2), fz.vecdot(V, V)]
    out += [fz.asarray(np.exp(X)), fz.asarray(np.add(X, ARRAY))]  # arrays, to type checkers
    return [*out, fz.tensordot(X, X, axes=([0], [0]))]


def creation() -> list[Tensor]:
    out = [fz.zeros((2, 3)), fz.zeros(2, 3), fz.ones(2, dtype="int8"), fz.empty((1,), fz.bool)]
    out += [fz.full((2,), 7.0), fz.arange(3), fz.arange(0, 1, 0.25), fz.linspace(0, 1, num=5)]
    out += [fz.eye(3), fz.zeros_like(X), fz.ones_like(X, dtype=np.float64), fz.empty_like(X)]
    out += [fz.full_like(X, 3), fz.from_dlpack(ARRAY), fz.asarray(ARRAY, dtype=np.dtype("float64"))]
    return [*out, fz.asarray([[1, 2], [3, 4]], float, device="cpu", copy=True, requires_grad=True)]


def dtypes() -> fz.DType:
    every = [fz.bool, fz.int8, fz.int16, fz.int32, fz.int64]
    every += [
        fz.uint8,
        fz.uint16,
        fz.uint32,
        fz.uint64,
        fz.float16,
        fz.bfloat16,
        fz.float32,
        fz.float64,
        fz.complex64,
        fz.complex128,
    ]
    names: list[str] = [t.name for t in every]
    size: int = sum(t.itemsize for t in every) + len(names)
    assert fz.isdtype(fz.float32, "real floating") and fz.can_cast(fz.int8, fz.int16)
    low: int = fz.iinfo("int8").min
    least: float = fz.finfo(fz.float32).smallest_normal
    assert fz.dtype("float32") == fz.float32 and low < least < size
    numbers: float = fz.e + fz.pi + fz.inf + fz.nan
    assert numbers != numbers and fz.newaxis is None and X[fz.newaxis, ..., 1:].ndim == 3
    version: str = fz.__version__ + fz.__array_api_version__
    devices: tuple[str, ...] = fz.__array_namespace_info__().devices()
    assert version and "cpu" in devices and fz.device("cpu") == "cpu"
    return fz.result_type(fz.int32, V, 1.0)


def of_tensors(x: Tensor) -> list[Tensor]:
    """Attributes, methods and operators."""
    rank: int = x.ndim + x.size + x.itemsize + x.nbytes + len(x.shape) + len(x)
    assert rank and x.dtype is fz.float32 and x.device == "cpu"
    assert x.grad is None and x.is_leaf and not x.requires_grad
    assert isinstance(x.__array_namespace__(), type(fz))
    out = [
        x.real,
        x.imag,
        x.conj(),
        x.T,
        x.mT,
        x[0],
        x[..., 0],
        x[0, 1:],
        x[x > 0.5],
        x[fz.asarray([0, 1])],
        x[[0, 1]],
    ]
    out += [x[None]]
    out += [x + 1, 1 + x, x - x, 2.0 - x, x * ARRAY, x / 2, 1 / x, x // 2, 3 // x, x % 2, 3 % x]
    out += [x**2]
    out += [2**x, -x, +x, abs(x), I & 1, I | I, I ^ 1, ~I, I << 1, I >> 1, x < 1, x <= x, x > 0]
    out += [x >= 0]
    out += [x == 1, x != x, *divmod(x, 2), x.all(), x.any(0), x.argmax(axis=1), x.argmin(), x.max()]
    out += [x.mean(axis=(0, 1)), x.min(1), x.prod(), x.std(ddof=1), x.var(axis=0, correction=1)]
    out += [x.sum(0)]
    out += [x.astype("float64"), x.astype(dtype=np.int32, copy=False), x.clip(0, 1), x.copy()]
    out += [x.detach()]
    out += [x.flatten(), x.ravel(), x.permute(1, 0), x.permute_dims((1, 0)), x.transpose()]
    out += [x.round(1)]
    out += [x.reshape(3, 2), x.reshape((3, 2)), x.squeeze(), x.swapaxes(0, 1)]
    out += [x.take([0, 1], axis=1)]
    out += [x.to_device("cpu"), *x.nonzero(), *x]
    x = x.copy()
    x[0] = 1.0
    x[:, 1:] = ARRAY[:, 1:]
    x += 1
    numbers: list[Any] = [
        float(x[0, 0]),
        int(x[0, 0]),
        x[0, 0].item(),
        hash(x),
        np.asarray(x).sum(),
    ]
    w = fz.ones(2).requires_grad_()
    fz.sum(w * w).backward(retain_graph=False)
    assert w.grad is not None and (w.grad == 2).all() and bool(x[0, 0]) and 2.0 in x and numbers
    nested: Any = x.tolist()
    array: Any = x.numpy()
    return [*out, fz.asarray(nested), fz.asarray(array), w.grad]


class Params(NamedTuple):
    w: Tensor
    b: Tensor


def loss(params: Params, x: Tensor, t: Tensor) -> Tensor:
    return nn.mse_loss(x @ params.w + params.b, t)


def loss_and_more(params: list[Tensor], x: Tensor) -> tuple[Tensor, dict[str, float]]:
    return fz.sum(params[0] * x), {"n": 1.0}


@fz.trace
def step(params: Params, x: Tensor, t: Tensor, rate: float = 0.1) -> tuple[Params, Tensor]:
    value, gradient = fz.value_and_grad(loss)(params, x, t)
    return Params(params.w - rate * gradient.w, params.b - rate * gradient.b), value


@fz.trace(pure=True, donate="x", check_every=0)
def pure(x: Tensor, *, scale: float = 1.0) -> Tensor:
    return x * scale


@fz.trace(convert=True)
def halved(x: Tensor) -> Tensor:
    while x > 1:
        x = x / 2
    return x


@fz.convert
def signed(x: Tensor, scale: float = 1.0) -> Tensor:
    return x * scale if x > 0 else -x


class Traced:
    @fz.trace
    def method(self, x: Tensor) -> Tensor:
        return x + 1


def gradients_and_traces() -> str:
    params = Params(fz.zeros((3, 1)), fz.zeros(1))
    params, value = step(params, X, fz.ones((2, 1)), rate=0.5)
    for _ in range(2):
        params, value = step(params, x=X, t=fz.ones((2, 1)))
    text: str = step.explain() + pure.explain() + Traced.method.explain()
    counts: dict[str, Any] = step.stats()
    widths: list[float] = [plan.ratio for plan in step.memory_plan()]
    assert (
        pure.pure
        and pure(X, scale=2.0).shape == Traced().method(X).shape
        and counts
        and widths
        and value.size
    )
    (first, more), (g,) = fz.value_and_grad(loss_and_more, has_aux=True)([V], V)
    h, again = fz.grad(loss_and_more, has_aux=True)([V], x=V)
    w: Tensor = fz.grad(loss)(params, X, t=fz.ones((2, 1))).w
    both = fz.grad(loss, argnums=(0, 1))(params, X, fz.ones((2, 1)))
    second = fz.value_and_grad(loss, argnums=1)(params, X, fz.ones((2, 1)))
    cube = fz.grad(fz.grad(lambda x: x**3))(fz.asarray(2.0))
    assert more == again and len(both) == 2 and second[0].size and cube.item() == 12.0
    assert g.shape == h[0].shape == first.shape + (3,) and w.ndim == 2
    step.clear()

    @fz.no_grad()
    def quiet(x: Tensor) -> Tensor:
        return x * 2

    with fz.no_grad():
        assert not quiet(X).requires_grad
    return text


class Net(nn.Module):
    def __init__(self, width: int = 4) -> None:
        self.first = nn.Linear(3, width)
        self.blocks = [nn.LayerNorm(width), nn.Dropout(0.5), nn.GELU("tanh"), nn.ReLU()]
        self.head = nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.Linear(width, 1, bias=False))
        self.register_buffer("seen", fz.zeros(1))
        self.scale = nn.Parameter(fz.ones(1), requires_grad=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        for block in self.blocks:
            y = block(y)
        return fz.asarray(self.head(y)) * self.scale


def modules() -> list[Tensor]:
    net = Net().to("float32").train().eval()
    names: list[str] = [n for n, _ in [*net.named_parameters(), *net.named_buffers()]]
    inside: list[str] = [n for n, _ in net.named_modules()] + [repr(m) for m in net.modules()]
    handle = net.register_forward_hook(lambda module, args, result: None)
    net.register_forward_pre_hook(lambda module, args: None).remove()
    handle.remove()
    net.load_state_dict(net.state_dict())
    optimizers: list[optim.Optimizer] = [
        optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
        optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1),
        *[kind(net.parameters(), lr=0.01) for kind in OPTIMIZERS],
        optim.Muon([p for p in net.parameters() if p.ndim == 2], lr=0.01, momentum=0.9),
    ]
    for optimizer in optimizers:
        optimizer.zero_grad()
        nn.mse_loss(net(X), fz.ones((2, 1))).backward()
        optimizer.step()
    net.zero_grad()
    assert names and inside and net.explain() == "" and net.extra_repr() == "" and net.buffers()
    assert len(net.head) == 3 and isinstance(net.head[:2], nn.Sequential) and list(net.head)
    image, kernel = fz.ones((1, 4, 4, 2)), fz.ones((3, 3, 2, 2))
    out = [net(X), net.head[2](fz.ones(4)), nn.Embedding(5, 2)(I)]
    out += [nn.attention(X, X, X, causal=True)]
    out += [nn.attention(q=X, k=X, v=X, scale=0.5)]
    cache, heads = nn.KVCache(1, 1, 2, 4, 3), fz.ones((1, 2, 2, 3))
    out += [cache.attend(0, heads, heads, heads), F.scaled_dot_product_attention(X, X, X)]
    cache.append([heads], [heads])
    out += [nn.conv2d(image, kernel, stride=(1, 2), padding=1)]
    out += [nn.cross_entropy(logits=X, labels=I[:2] % 3), nn.gelu(X, approximate="tanh")]
    out += [nn.silu(X)]
    out += [nn.layer_norm(X, V, eps=1e-6), nn.softmax(X, axis=0), nn.log_softmax(X), nn.relu(X)]
    return [*out, nn.sigmoid(X), nn.softplus(X), nn.tanh(X), net.first(X), net.forward(X)]


OPTIMIZERS = [
    optim.ASGD, optim.Adadelta, optim.Adafactor, optim.Adagrad, optim.AdamW, optim.Adamax,
    optim.Lion, optim.NAdam, optim.RAdam, optim.RMSprop, optim.Rprop,
]  # fmt: skip


def schedules() -> list[float]:
    net = Net()
    opt = optim.SGD([{"params": net.parameters(), "lr": 0.1}], lr=0.2, momentum=0.9)
    opt.add_param_group({"params": fz.ones(2, requires_grad=True), "lr": 0.01})
    opt.param_groups[0]["lr"] = opt.lr * 2
    handles = [opt.register_step_pre_hook(print), opt.register_step_post_hook(print)]
    for handle in handles:
        handle.remove()
    made: list[lr_scheduler.LRScheduler] = [
        lr_scheduler.StepLR(opt, step_size=3, gamma=0.5),
        lr_scheduler.MultiStepLR(opt, [3, 5]),
        lr_scheduler.ConstantLR(opt, factor=0.5),
        lr_scheduler.LinearLR(opt, start_factor=0.1),
        lr_scheduler.ExponentialLR(opt, gamma=0.9),
        lr_scheduler.PolynomialLR(opt, total_iters=9),
        lr_scheduler.CosineAnnealingLR(opt, T_max=9),
        lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4),
        lr_scheduler.CyclicLR(opt, base_lr=0.1, max_lr=0.2, step_size_up=5),
        lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=9),
        lr_scheduler.LambdaLR(opt, lambda epoch: 0.9**epoch),
        lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.9),
        swa_utils.SWALR(opt, swa_lr=0.05),
    ]
    made.append(lr_scheduler.ChainedScheduler(made[:2]))
    made.append(lr_scheduler.SequentialLR(opt, made[:2], milestones=[4]))
    for schedule in made:
        schedule.step()
        schedule.load_state_dict(schedule.state_dict())
    plateau = lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=3)
    plateau.step(fz.ones(()))
    opt.load_state_dict(opt.state_dict())
    lbfgs = optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe")
    lbfgs.step(lambda: nn.mse_loss(net(X), fz.ones((2, 1))))
    average = optim.EMA(net, decay=0.9)
    average.update()
    mean = swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    mean.update_parameters(net)
    swa_utils.AveragedModel(net, avg_fn=swa_utils.get_ema_avg_fn(0.9))
    swa_utils.AveragedModel(net, avg_fn=swa_utils.get_swa_avg_fn())
    swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    swa_utils.update_bn([X], net)
    scaler = amp.GradScaler(init_scale=2.0)
    scaler.scale(nn.mse_loss(net(X), fz.ones((2, 1)))).backward()
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    return [*plateau.get_last_lr(), scaler.get_scale(), len(opt.state), len(opt.parameters)]


LAYERS: list[type[nn.Module]] = [
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AdaptiveMaxPool1d,
    nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d, nn.AlphaDropout, nn.AvgPool1d, nn.AvgPool2d,
    nn.AvgPool3d, nn.BCELoss, nn.BCEWithLogitsLoss, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
    nn.Bilinear, nn.CELU, nn.CTCLoss, nn.ChannelShuffle, nn.CircularPad1d, nn.CircularPad2d,
    nn.CircularPad3d, nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d, nn.Conv1d, nn.Conv2d,
    nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.CosineEmbeddingLoss,
    nn.CosineSimilarity, nn.CrossEntropyLoss, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.ELU,
    nn.EmbeddingBag, nn.FeatureAlphaDropout, nn.Flatten, nn.GLU, nn.GaussianNLLLoss, nn.GroupNorm,
    nn.Hardshrink, nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.HingeEmbeddingLoss, nn.HuberLoss,
    nn.Identity, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.KLDivLoss, nn.L1Loss,
    nn.LPPool1d, nn.LPPool2d, nn.LeakyReLU, nn.LocalResponseNorm, nn.LogSigmoid, nn.LogSoftmax,
    nn.MSELoss, nn.MarginRankingLoss, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.Mish,
    nn.ModuleDict, nn.ModuleList, nn.MultiLabelMarginLoss, nn.MultiLabelSoftMarginLoss,
    nn.MultiMarginLoss, nn.MultiheadAttention, nn.NLLLoss, nn.PReLU, nn.PairwiseDistance,
    nn.ParameterDict, nn.ParameterList, nn.PixelShuffle, nn.PixelUnshuffle, nn.PoissonNLLLoss,
    nn.RMSNorm, nn.RReLU, nn.ReLU6, nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d,
    nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d, nn.RotaryEmbedding, nn.SELU,
    nn.SiLU, nn.SmoothL1Loss, nn.SoftMarginLoss, nn.Softmax, nn.Softmax2d, nn.Softmin, nn.Softplus,
    nn.Softshrink, nn.Softsign, nn.Tanhshrink, nn.Threshold, nn.Transformer, nn.TransformerDecoder,
    nn.TransformerDecoderLayer, nn.TransformerEncoder, nn.TransformerEncoderLayer,
    nn.TripletMarginLoss, nn.TripletMarginWithDistanceLoss, nn.Unflatten, nn.Upsample,
    nn.UpsamplingBilinear2d, nn.UpsamplingNearest2d, nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d,
    nn.Fold, nn.LPPool3d, nn.LazyBatchNorm1d, nn.LazyBatchNorm2d, nn.LazyBatchNorm3d,
    nn.LazyConv1d, nn.LazyConv2d, nn.LazyConv3d, nn.LazyConvTranspose1d, nn.LazyConvTranspose2d,
    nn.LazyConvTranspose3d, nn.LazyInstanceNorm1d, nn.LazyInstanceNorm2d, nn.LazyInstanceNorm3d,
    nn.LazyLinear, nn.Unfold,
]  # fmt: skip
FUNCTIONS = [
    F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.adaptive_max_pool1d,
    F.adaptive_max_pool2d, F.adaptive_max_pool3d, F.alpha_dropout, F.apply_rotary, F.avg_pool1d,
    F.avg_pool2d, F.avg_pool3d, F.batch_norm, F.bilinear, F.binary_cross_entropy,
    F.binary_cross_entropy_with_logits, F.celu, F.channel_shuffle, F.conv1d, F.conv3d,
    F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d, F.cosine_embedding_loss,
    F.cosine_similarity, F.ctc_loss, F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.elu,
    F.embedding, F.embedding_bag, F.feature_alpha_dropout, F.gaussian_nll_loss, F.glu, F.group_norm,
    F.gumbel_softmax, F.hardshrink, F.hardsigmoid, F.hardswish, F.hardtanh, F.hinge_embedding_loss,
    F.huber_loss, F.instance_norm, F.interpolate, F.kl_div, F.l1_loss, F.leaky_relu, F.linear,
    F.local_response_norm, F.logsigmoid, F.lp_pool1d, F.lp_pool2d, F.margin_ranking_loss,
    F.max_pool1d, F.max_pool2d, F.max_pool3d, F.mish, F.multi_margin_loss, F.multilabel_margin_loss,
    F.multilabel_soft_margin_loss, F.nll_loss, F.normalize, F.one_hot, F.pairwise_distance,
    F.pixel_shuffle, F.pixel_unshuffle, F.poisson_nll_loss, F.prelu, F.relu6, F.rms_norm, F.rrelu,
    F.scaled_dot_product_attention, F.selu, F.smooth_l1_loss, F.soft_margin_loss, F.softmin,
    F.softshrink, F.softsign, F.tanhshrink, F.threshold, F.triplet_margin_loss,
    F.triplet_margin_with_distance_loss, F.affine_grid, F.fold, F.grid_sample, F.lp_pool3d, F.pdist,
    F.unfold,
]  # fmt: skip


def members() -> list[str]:
    """What modules can besides: children, names, freezing, dtypes."""
    net = Net()
    net.register_parameter("more", nn.Parameter(fz.ones(2)))
    net.add_module("inner", nn.Linear(3, 3))
    net.register_module("last", nn.ModuleList([nn.Linear(3, 3)]))
    net.apply(lambda module: None).requires_grad_(False)
    names = [name for name, _ in net.named_children()] + [repr(m) for m in net.children()]
    assert net.get_submodule("last.0") and net.get_parameter("more").shape == (2,)
    missing, unexpected = net.load_state_dict({"more": fz.zeros(2), "x": X}, strict=False)
    assert "inner.weight" in missing and unexpected == ["x"]
    net.half().bfloat16().double().float().cpu()
    net.register_buffer("mean", fz.zeros(2))
    assert net.get_buffer("mean").shape == (2,)
    net.set_submodule("last.0", nn.LazyLinear(3))
    assert callable(net.get_extra_state) and callable(net.set_extra_state)
    for handle in (
        net.register_forward_pre_hook(lambda m, args: None, prepend=True),
        net.register_forward_hook(lambda m, args, kwargs, y: y, with_kwargs=True),
        net.register_full_backward_pre_hook(lambda m, out: None),
        net.register_full_backward_hook(lambda m, into, out: None),
        net.register_state_dict_pre_hook(lambda m, prefix, keep_vars: None),
        net.register_state_dict_post_hook(lambda m, state, prefix, data: None),
        net.register_load_state_dict_pre_hook(lambda *args: None),
        net.register_load_state_dict_post_hook(lambda m, keys: None),
    ):
        handle.remove()
    assert callable(net.cuda) and len(LAYERS) > 100 and len(FUNCTIONS) > 70
    return names


def sequences() -> list[Tensor]:
    """Recurrent layers and what they take."""
    rnn = nn.utils.rnn
    packed = rnn.pack_sequence([X, X[:1]], enforce_sorted=True)
    again = rnn.pack_padded_sequence(fz.stack([X, X]), [2, 1], batch_first=True)
    back: list[Tensor] = rnn.unpack_sequence(packed.to(dtype="float32"))
    padded, lengths = rnn.pad_packed_sequence(again, total_length=3)
    back += rnn.unpad_sequence(rnn.pad_sequence(back), lengths)
    output, (h, c) = nn.LSTM(3, 2, bidirectional=True)(packed)
    assert isinstance(output, rnn.PackedSequence)
    out = [nn.GRU(3, 2)(X)[1], nn.RNN(3, 2, 1, "relu")(X)[0], nn.RNNCell(3, 2)(X), h, c]
    top, places = F.max_pool1d(X, 3, return_indices=True)
    assert nn.MaxUnpool2d(2).padding == nn.MaxUnpool3d(2).padding and callable(F.max_unpool3d)
    out += [nn.MaxUnpool1d(3)(top, places), F.max_unpool1d(top, places, 3)]
    out += [F.max_unpool2d(X[None], fz.zeros((1, 2, 3), dtype="int64"), 1)]
    return [*out, nn.GRUCell(3, 2)(X), *nn.LSTMCell(3, 2)(X), padded, output.data, *back]


def weights() -> str:
    """How they begin, what they are made of, and how large gradients are."""
    init, utils = nn.init, nn.utils
    make: list[Callable[[Tensor], Tensor]] = [
        init.uniform_, init.normal_, init.trunc_normal_, init.ones_, init.zeros_, init.eye_,
        init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_,
        init.orthogonal_,
    ]  # fmt: skip
    layer = nn.Linear(3, 4)
    for fill in make:
        fill(layer.weight)
    init.normal_(layer.weight, std=init.calculate_gain("relu"), generator=fz.random.Generator(1))
    init.constant_(init.sparse_(layer.weight, 0.5), 1.0)
    init.dirac_(nn.Conv1d(2, 2, 3).weight, groups=2)
    vector = utils.parameters_to_vector(layer.parameters())
    utils.vector_to_parameters(vector, layer.parameters())
    layer(X).sum().backward()
    total: Tensor = utils.clip_grad_norm_(layer.parameters(), 1.0)
    utils.clip_grads_with_norm_(layer.parameters(), 1.0, utils.get_total_norm([X]))
    utils.clip_grad_value_(layer.parameters(), 0.5)
    layer = utils.parametrizations.spectral_norm(utils.parametrizations.weight_norm(layer), "bias")
    utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    assert utils.parametrize.is_parametrized(layer, "weight") and total.ndim == 0
    kind: type = utils.parametrize.type_before_parametrizations(layer)
    held: list[type[nn.Module]] = [utils.parametrize.ParametrizationList, kind]
    table: nn.Summary = nn.summary(utils.parametrize.remove_parametrizations(layer, "weight"), X)
    row: nn.SummaryRow = table.rows[0]
    return f"{table} {row.flops + table.parameters + table.trained} {held}"


def settings() -> str:
    fz.set_default_dtype("float32")
    with fz.mode("auto", strict=False), fz.precision("exact"), fz.default_dtype(fz.float64):
        fz.set_num_threads(fz.get_num_threads())
    fz.synchronize()
    runs: int = fz.kernels_run()
    table = fz.config(plan_entries=fz.config()["plan_entries"])
    fault: type[RuntimeError] = fz.NpuFault
    return f"{runs} {table} {fault}"


class Line:
    def __init__(self, a: Tensor, colour: str) -> None:
        self.a, self.colour = a, colour


def nests() -> list[Any]:
    leaves, how = fz.tree.flatten({"x": X, "v": [V, None]}, is_leaf=lambda x: x is None)
    same: bool = how == fz.tree.structure({"x": X, "v": [V, None]})
    again: Any = fz.tree.unflatten(how, leaves)
    paths: list[str] = how.paths()
    n: int = how.num_leaves + len(how.flatten_up_to(again)) + hash(how)
    fz.register_pytree_node(Line, lambda x: ((x.a,), x.colour), lambda c, a: Line(a[0], c))
    kept: type[fz.tree.Structure] = fz.tree.Structure
    doubled: Any = fz.tree.map(lambda x, y: x + y, Line(X, "red"), Line(X, "red"))
    optim.SGD({"w": fz.ones(2, requires_grad=True)}, lr=0.1).step()
    return [same, paths, n, kept, doubled, fz.tree.leaves(again), how.unflatten(leaves)]


def of_files(path: str) -> list[Any]:
    fz.io.save_safetensors(path, {"w": X}, {"step": "7"})
    named: dict[str, Tensor] = fz.io.load_safetensors(path)
    remarks: dict[str, str] = fz.io.load_safetensors(path, return_metadata=True)[1]
    other: dict[str, Tensor] = fz.io.renamed(named, {"w": "v", "x": None}, strict=True)
    fz.io.save_npz(path, other, compressed=True)
    arrays: dict[str, Tensor] = fz.io.load_npz(path)
    fz.io.save_npy(path, arrays["v"])
    arrays["again"] = fz.io.load_npy(path)
    small, report = fz.quantize(nn.Linear(2, 2), bits=8, calibration=None, skip=[""])
    linear: nn.Linear = small
    sizes: list[int] = [row.bytes_after for row in report.rows] + [report.bytes_before]
    with fz.debug.nan() as looked:
        pass
    readers: list[Any] = [fz.io.read_image, fz.io.read_audio, fz.io.read_table]
    return [named, remarks, looked, readers, linear, sizes, of_data(path + ".d")]


class Numbers(fz.data.Dataset[int]):
    def __getitem__(self, index: Any, /) -> int:
        return int(index)

    def __len__(self) -> int:
        return 6


class Stream(fz.data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        info: fz.data.WorkerInfo | None = fz.data.get_worker_info()
        yield 0 if info is None else info.id


def of_data(folder: str) -> list[Any]:
    fz.random.seed_everything(1)
    state: Tensor = fz.random.get_state()
    fz.random.set_state(state)
    both: fz.data.ConcatDataset[Any] = Numbers() + fz.data.TensorDataset(X[0])
    parts: list[fz.data.Subset[Any]] = fz.data.random_split(both, [0.5, 0.5])
    samplers: list[fz.data.Sampler] = [
        fz.data.SequentialSampler(parts[0]),
        fz.data.RandomSampler(parts[0], seed=1),
        fz.data.SubsetRandomSampler([1, 2]),
        fz.data.WeightedRandomSampler([1.0, 2.0], 3),
        fz.data.BatchSampler(range(3), 2),
    ]
    loader = fz.data.DataLoader(Numbers(), batch_size=2, shuffle=True, seed=1)
    plain = fz.data.DataLoader(Stream(), 2, collate_fn=fz.data.default_collate)
    checkpoint = fz.training.Checkpoint(folder, keep=2, loader=loader)
    checkpoint.save(1, loss=0.5)
    values: dict[str, Any] | None = checkpoint.restore()
    steps: list[int] = checkpoint.all_steps()
    return [samplers, list(loader), list(plain), len(loader), values, steps]


def of_modules() -> list[Any]:
    fz.random.seed(0)
    generator = fz.random.Generator(seed=1)
    drawn = [fz.random.uniform((2, 3)), fz.random.normal(3, dtype="float64"), generator.normal()]
    drawn += [fz.random.integers(10), fz.random.integers(0, 10, shape=(2,)), generator.uniform(2)]
    rows: Iterator[tuple[Tensor, ...]] = fz.data.batches(X, [1, 2], batch_size=1, shuffle=True)
    path = os.path.join(tempfile.mkdtemp(), "tree")
    fz.save(path, {"x": X, "n": 3})
    fz.io.save(path, fz.load(path))
    loaded: Any = [fz.io.load(path), of_files(path)]
    held: dict[str, int] = fz.memory.stats()
    kept: dict[str, dict[str, int]] = fz.memory.caches()
    fz.memory.reset_peak()
    fz.memory.trim()
    plans: list[fz.memory.Plan] = step.memory_plan()
    drawings: list[str] = [plan.svg(width=100) for plan in plans]
    fz.npu.reset()
    on_npu = fz.asarray([1.0, 2.0], device="npu") * 2
    ran: list[fz.npu.Kernel] = fz.npu.kernels()
    kernels: list[str] = [kernel.name for kernel in ran]
    on_cpu: list[fz.npu.Fallback] = fz.npu.fallbacks()
    transfers: fz.npu.Transfers = fz.npu.transfers()
    moved: int = transfers.to_device + len(on_cpu) + len(fz.npu.preset())
    fz.npu.timeline(path + ".json", kernel=0)
    report: str = fz.npu.report("kernels") + fz.memory.report()
    gpus: list[object] = [fz.cuda.is_available(), fz.cuda.device_count(), fz.cuda.versions()]
    gpus += [fz.cuda.compile_stats()]
    if fz.cuda.is_available():
        gpus += [fz.cuda.memory_stats(), fz.cuda.properties("cuda:0")]
        fz.cuda.reset_peak_memory()
        fz.cuda.set_memory_limit(1 << 30)
        fz.cuda.synchronize()
        fz.cuda.trim()
    numbers = [held, kept, fz.memory.disk(), moved, gpus]
    return [*drawn, *rows, loaded, drawings, on_npu, kernels, report, numbers]


def linear(x: Tensor) -> list[Tensor]:
    pair: fz.linalg.EighResult = fz.linalg.eigh(x)
    values: fz.linalg.EigResult = fz.linalg.eig(x)
    parts: fz.linalg.QRResult = fz.linalg.qr(x)
    factors: fz.linalg.SVDResult = fz.linalg.svd(x, full_matrices=False)
    sizes: fz.linalg.SlogdetResult = fz.linalg.slogdet(x)
    least: fz.linalg.LstsqResult = fz.linalg.lstsq(x, x[0])
    out = [pair.eigenvalues, values.eigenvectors, parts.Q, factors.Vh, sizes.sign, least.x]
    out += [fz.linalg.qr(x, "r"), fz.linalg.svd(x, compute_uv=False), fz.linalg.svdvals(x)]
    lower = fz.linalg.cholesky(x)
    out += [fz.linalg.cholesky_solve(x, lower), fz.linalg.solve_triangular(lower, x, lower=True)]
    out += [fz.linalg.solve(x, x), fz.linalg.inv(x), fz.linalg.pinv(x, rtol=1e-3), fz.linalg.det(x)]
    out += [fz.linalg.cond(x), fz.linalg.expm(x), fz.linalg.matrix_power(x, -2)]
    out += [fz.linalg.matrix_rank(x), fz.linalg.multi_dot([x, x, x[0]]), fz.linalg.trace(x)]
    out += [fz.linalg.norm(x, "fro"), fz.linalg.matrix_norm(x, ord=2), fz.linalg.vector_norm(x)]
    try:
        fz.linalg.inv(x * 0)
    except fz.linalg.LinAlgError as error:
        assert str(error)
    return out


def numpys_names() -> list[fz.Tensor]:
    m, v, k = fz.ones((2, 3)), fz.ones(3), fz.asarray([0, 1, 2])
    parts: list[fz.Tensor] = [*fz.array_split(v, 2), *fz.hsplit(m, 3), *fz.vsplit(m, 2)]
    parts += fz.dsplit(fz.ones((1, 1, 2)), 2)
    shapes: list[fz.Tensor] = [fz.atleast_1d(v), fz.atleast_2d(v), fz.atleast_3d(v)]
    joined = [fz.hstack([v, v]), fz.vstack([v, v]), fz.dstack([v, v]), fz.column_stack([v, v])]
    joined += [fz.append(v, 1), fz.delete(v, [0]), fz.insert(v, 1, 2.0), fz.identity(2), fz.tri(2)]
    turned = [fz.fliplr(m), fz.flipud(m), fz.rot90(m, k=1), fz.rollaxis(m, 1), fz.diag(v)]
    turned += [fz.diagonal(m, offset=1), fz.diagflat(m), fz.indices((2, 3)), fz.vander(v, 2)]
    places = [*fz.diag_indices(2), *fz.tril_indices(2), *fz.triu_indices(2), *fz.ix_([0], [1])]
    places += [fz.argwhere(m), fz.flatnonzero(m), fz.lexsort((v, v)), fz.argpartition(v, 1)]
    places += [*fz.unravel_index(4, (2, 3)), fz.ravel_multi_index((k[:2], k[:2]), (2, 3))]
    products = [fz.dot(m, v), fz.inner(v, v), fz.vdot(v, v), fz.matvec(m, v), fz.kron(v, v)]
    products += [fz.vecmat(v[:2], m), fz.cross(v, v), fz.einsum("ij,j->i", m, v, optimize=False)]
    path, text = fz.einsum_path("ij,j->i", m, v)
    lines = [fz.logspace(0, 2, 3), fz.geomspace(1, 8, 4), fz.ediff1d(v, to_end=1.0)]
    lines += [fz.gradient(v), fz.trapezoid(v, dx=0.5), fz.interp(1.5, k, v), fz.unwrap(v)]
    lines += [fz.convolve(v, v, "same"), fz.correlate(v, v), fz.polyval([1, 2], 3.0)]
    lines += [fz.cummax(v), fz.cummin(m, axis=0), fz.polyfit(v, v, 1)]
    lines += [fz.polyadd(v, v), fz.polysub(v, v), fz.polymul(v, v), fz.polyder(v), fz.polyint(v)]
    counts = [fz.bincount(k), fz.digitize(v, [0.0, 1.0]), fz.histogram_bin_edges(v, 2)]
    counts += [*fz.histogram(v, bins=2), *fz.histogram2d(v, v, bins=2), fz.average(m, axis=0)]
    counts += [fz.cov(m, ddof=0), fz.corrcoef(m + fz.asarray([0.0, 1.0, 5.0]))]
    chosen = [fz.select([v > 0], [v], 2.0), fz.choose(k, [v, v, v]), fz.compress([True], v)]
    chosen += [fz.extract(m > 0, m), fz.trim_zeros(v), fz.partition(v, 1), fz.topk(v, 1).values]
    chosen += [(v * 1j).real, abs(2j - v)]
    chosen += [fz.piecewise(v, [v > 0], [fz.exp, 0.0]), fz.complex(v, v).view("float32")]
    chosen += [fz.apply_along_axis(fz.sum, 0, m)]
    chosen += [fz.unique(v), fz.union1d(v, v), fz.intersect1d(v, v), fz.setdiff1d(v, v)]
    chosen += [fz.setxor1d(v, v), fz.quantile(v, 0.5), fz.special.gamma(v), fz.special.expit(v)]
    chosen += [fz.special.psi(v), fz.lerp(v, v, 0.5), fz.nansum(m, axis=0, dtype=fz.float64)]
    chosen += linear(fz.asarray([[2.0, 1.0], [1.0, 3.0]]))
    done = [*parts, *shapes, *joined, *turned, *places, *products, *lines, *counts, *chosen]
    assert text and len(path) == 2
    return done


def distributions() -> list[fz.Tensor]:
    r, g = fz.random, fz.random.Generator(1)
    out = [r.bernoulli(0.5, (2,)), r.beta(1.0, 2.0), r.binomial(5, 0.5, dtype="int32")]
    out += [r.categorical(fz.ones(3)), r.chisquare(2.0), r.choice(3, (2,)), r.dirichlet([1.0, 2.0])]
    out += [r.exponential(), r.f(2.0, 3.0), r.gamma(2.0, shape=(3,)), r.geometric(0.5), r.gumbel()]
    out += [
        r.laplace(),
        r.logistic(),
        r.lognormal(),
        r.multinomial(3, [0.5, 0.5]),
        r.multivariate_normal(fz.zeros(2), fz.eye(2)),
        r.pareto(2.0),
    ]
    out += [r.negative_binomial(3, 0.5), r.permutation(4), r.poisson(3.0), r.rayleigh()]
    out += [r.standard_cauchy(), r.standard_t(3.0), r.triangular(0, 1, 2), r.wald(1.0, 1.0)]
    return [*out, g.truncated_normal(-1.0, 1.0), g.weibull(2.0, dtype=fz.float64)]


def frequencies() -> list[fz.Tensor]:
    return [fz.fft.fftfreq(4, 0.5), fz.fft.rfftfreq(5), fz.fft.rfft(fz.ones(4), norm="ortho")]


def sparse_matrices() -> list[fz.Tensor]:
    a = fz.sparse.csr_array(fz.eye(20) * 2.0)
    b = fz.sparse.coo_array(([1.0], ([0], [1])), shape=(20, 20), dtype="float32")
    x, info = fz.sparse.cg(a, fz.ones(20), rtol=1e-6)
    y, _ = fz.sparse.gmres(lambda v: a @ v, fz.ones(20), M=None)
    w, v = fz.sparse.lobpcg(a, fz.random.normal((20, 2)), largest=False)
    assert info == 0 and fz.sparse.issparse(a + b) and a.nnz == 20
    with fz.detect_anomaly():
        return [x, y, w, v, a @ fz.array([1.0] * 20), b.toarray(), a.T.sum(0), a.diagonal()]


def transforms() -> list[Any]:
    @fz.custom_vjp
    def clipped(v: fz.Tensor) -> fz.Tensor:
        return v

    @fz.custom_jvp
    def squared(v: fz.Tensor) -> fz.Tensor:
        return v * v

    @fz.op
    def plain(v: Any, *, k: int = 1) -> Any:
        return v * k

    @fz.op(
        name="cube", body="numpy", batch="expand_dims", shape=lambda v: (v.shape, v.dtype),
        vjp=lambda args, _, g: (3 * g * args[0] ** 2,), jvp=lambda args, t: 3 * t[0] * args[0] ** 2,
    )  # fmt: skip
    def cube(v: Any) -> Any:
        return v**3

    clipped.defvjp(lambda v: (v, None), lambda _, g: (fz.clip(g, -1, 1),))
    squared.defjvp(lambda p, t: (p[0] ** 2, 2 * p[0] * t[0]))
    x = fz.arange(3.0)
    value, slope = fz.jvp(fz.sin, (x,), (x,))
    total, pull = fz.vjp(lambda v: fz.sum(clipped(v) * squared(v) + cube(v)), x)
    same, push = fz.linearize(fz.sin, x)
    last, all_of_them = fz.scan(lambda c, v: (c + v, c), 0.0, x)
    out = [value, slope, total, pull(fz.ones(())), same, push(x), last, all_of_them]
    out += [fz.vmap(fz.sin, in_axes=0, out_axes=0, randomness="same")(x)]
    out += [fz.jacfwd(fz.sin)(x), fz.jacrev(fz.sin)(x), fz.hessian(fz.sum)(x)]
    out += [fz.hvp(lambda v: fz.sum(v**3), (x,), (x,)), fz.stop_gradient(x)]
    out += [fz.checkpoint(fz.sin)(x), fz.cond(x[0] > 0, fz.sin, fz.cos, x)]
    out += [fz.switch(1, [fz.sin, fz.cos], x), fz.while_loop(lambda v: v < 3, lambda v: v + 1, 0)]
    source: str = fz.converted_source(signed)
    out += [fz.vmap(halved)(x), fz.vmap(signed)(x), signed(x[0], scale=2.0)]
    assert source.startswith("def signed(x")
    out += [fz.fori_loop(0, 3, lambda i, v: v + i, 0), fz.map(fz.sin, x)]
    out += [plain(x, k=2), fz.op(body="frazil")(fz.sin)(x)]
    return [*out, fz.associative_scan(fz.add, x, reverse=True, axis=0)]


def in_fewer_bits(model: nn.Linear) -> int:
    report: nn.QuantizationReport
    smaller, report = fz.quantize(model, bits=8, calibration=[fz.ones((2, 4))])
    rows: list[nn.QuantizedRow] = report.rows
    layers = (nn.QuantizedLinear, nn.QuantizedConv2d, nn.QuantizedEmbedding)
    with fz.autocast("cpu", dtype=fz.bfloat16):
        on: bool = amp.is_autocast_enabled()
        result: fz.Tensor = smaller(fz.ones((2, 4)))
    return len(rows) + len(layers) + result.size + on


def looking_inside() -> float:
    step = fz.trace(fz.exp)
    with fz.profile(events=100) as taken:
        for value in fz.progress([1.0, 2.0], "steps", total=2):
            step(fz.full(3, value))
    line: str = taken.by_line[0].name
    shares = [total.share for total in taken.by_op]
    runs = taken.rows[0].runs + taken.machine.bandwidth
    with tempfile.TemporaryDirectory() as folder:
        taken.html(f"{folder}/profile.html")
        taken.perfetto(f"{folder}/trace.json")
        page: str = step.show(f"{folder}/step.html")
    return sum(shares) + runs + taken.seconds if line and page else 0.0


def shipped(path: str, model: nn.Module) -> fz.Tensor:
    fz.onnx.save(model, (fz.ones((1, 4)),), path, opset=20, dynamic_axes={0: {0: "batch"}})
    again: fz.onnx.Model = fz.onnx.load(path, trainable=False)
    result: fz.Tensor = again(fz.ones((2, 4)))
    return result.sum()


def saved_programs(folder: str) -> fz.Tensor:
    path = f"{folder}/double.frz"
    size = fz.Dim("n", min=2, max=64)
    fz.export(lambda x: x + x, (fz.ones(4),), path, dynamic={"x": {0: size}}, name="double")
    program: fz.Program = fz.load_program(path)
    y: fz.Tensor = program(fz.ones(3))
    return y


def several_processes(x: fz.Tensor, model: fz.nn.Module) -> fz.Tensor:
    d = fz.distributed
    d.init(timeout=20, collective_timeout=600)
    place: int = d.local_rank()
    assert place >= 0
    some: fz.distributed.Group = d.group(range(d.size()))
    total = d.all_reduce(x, "mean", group=some) + d.broadcast(x, 0) + d.all_to_all(x)
    d.barrier()
    if d.rank() > 0:
        total = total + d.recv(x, 0)
    elif d.size() > 1:
        d.send(x, 1)
    parallel = d.DataParallel(model)
    optimizer = d.ZeroRedundancyOptimizer(parallel.parameters(), fz.optim.Adam, lr=0.1)
    d.reduce_gradients(parallel.parameters())
    optimizer.zero_grad()
    numbers = list(d.DistributedSampler(range(4)))
    d.data_parallel(fz.value_and_grad(fz.sum))(x)
    folder = tempfile.mkdtemp()
    checkpoint = d.Checkpoint(folder, keep=2, group=some, model=parallel, optimizer=optimizer)
    checkpoint.save(1, loss=0.5)
    values: dict[str, Any] | None = checkpoint.restore()
    steps: list[int] = checkpoint.all_steps()
    with d.trace(os.path.join(folder, "timeline.json"), group=some) as taken:
        d.barrier()
    assert values == {"loss": 0.5, "step": steps[0]} and taken.seconds > 0
    assert 0 <= d.overlap(taken).hidden <= 1
    rows = d.forecast(d.all_reduce, x, processes=[1, 8], latency=1e-5, bandwidth=1e9)
    assert [row.processes for row in rows] == [1, 8] and rows[0].seconds >= 0 and str(rows)
    d.average({"rows": float(len(numbers))})
    return d.all_gather(d.halo(d.reduce_scatter(total)))


if __name__ == "__main__":
    assert several_processes(X, nn.Linear(3, 2)).ndim == 2
    assert transforms() and looking_inside() > 0 and in_fewer_bits(nn.Linear(4, 2)) > 0
    for part in (elementwise, reductions, movement, sorting, products, creation, modules):
        assert part()
    assert numpys_names() and distributions() and sparse_matrices()
    assert frequencies()
    assert of_tensors(X) and dtypes() == fz.float64 and gradients_and_traces()
    assert settings() and of_modules() and nests() and schedules()
