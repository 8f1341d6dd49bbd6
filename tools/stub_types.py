"""The types that tools/gen_stubs.py writes: of parameters by name, of results, and whole classes.

What functions exist, and what their parameters are called, comes from the compiled module itself. A
row "function.parameter" goes before the row of the parameter alone, and that before the row of the
default's type.
"""

NUMBER = "builtins.bool | builtins.int | builtins.float"

PARAMETERS = {
    bool: "builtins.bool",
    int: "SupportsIndex",
    float: "Number",
    "a": "DTypeLike",
    "alpha": "Operand",
    "beta": "Operand",
    "polygamma.n": "Operand",
    "zeta.q": "Operand | None",
    "api_version": "str | None",
    "UPLO": "str",
    "program": "Any",
    "choose.ways": "Sequence[builtins.int]",
    "branch.number": "Tensor",
    "branch.count": "builtins.int",
    "make_program.texts": "tuple[str, str, str, str]",
    "make_program.tensors": "dict[str, Tensor]",
    "traced": "Any",
    "told": "Any",
    "args": "tuple[Any, ...]",
    "kwargs": "dict[str, Any]",
    "init.timeout": "builtins.float",
    "init.collective_timeout": "builtins.float",
    "group.ranks": "Sequence[builtins.int]",
    "abandon.why": "str",
    "swap_history.first": "list[Tensor]",
    "swap_history.second": "list[Tensor]",
    "group": "builtins.int",
    "peer": "builtins.int",
    "before": "Tensor",
    "tensor": "Tensor",
    "call.inputs": "list[Any]",
    "call.tensors": "list[Tensor]",
    "command.arguments": "Sequence[str]",
    "start.most": "builtins.int",
    "trace_events.about": "dict[str, str]",
    "trace_events.rows": "list[tuple[Any, ...]]",
    "scope": "Any",
    "rtol": "Operand | None",
    "qr.mode": "str",
    "approximate": "Literal['none', 'tanh']",
    "arrays": "Sequence[Operand]",
    "axes": "Ints",
    "axis": "Axis",
    "method": "str",
    "axis1": "SupportsIndex",
    "axis2": "SupportsIndex",
    "b": "DTypeLike",
    "bytes": "builtins.int",
    "constant_values": "Number",
    "copy": "builtins.bool | None",
    "data": "builtins.bytes",
    "device": "str | None",
    "_to_.device": "Any",
    "dl_device": "Any",
    "dense": "Tensor",
    "dtype": "DTypeLike | None",
    "fill_value": "Operand",
    "format": "str",
    "grad": "Tensor | None",
    "gradient": "Operand | None",
    "put.index": "Operand",
    "put.values": "Operand",
    "indices": "Operand | Sequence[builtins.int]",
    "kernel": "builtins.int",
    "layout": "Literal['NHWC', 'NCHW']",
    "marks": "builtins.int",
    "max_version": "Any",
    "mode": "Any",
    "word": "int",
    "n_cols": "SupportsIndex | None",
    "name": "str",
    "ndigits": "SupportsIndex | None",
    "obj": "Any",
    "on": "builtins.bool",
    "out": "None",
    "neginf": "Number | None",
    "pad_width": "SupportsIndex | Sequence[Any]",
    "path": "str | PathLike[str]",
    "posinf": "Number | None",
    "preset": "str | None",
    "repetitions": "Ints",
    "requires_grad": "builtins.bool",
    "retain_graph": "builtins.bool",
    "root": "Tensor",
    "scalar": "builtins.complex",
    "scale": "Number | None",
    "seed": "SupportsIndex",
    "shape": "Ints",
    "side": "Literal['left', 'right']",
    "sorter": "Operand | Sequence[builtins.int] | None",
    "s": "Sequence[builtins.int] | None",
    "norm": "Literal['backward', 'ortho', 'forward'] | None",
    "stable": "builtins.bool",
    "state": "Tensor",
    "rate": "Tensor",
    "start": "Number",
    "step": "Number",
    "stop": "Number | None",
    "stream": "Any",
    "op": "str",
    "metadata": "dict[str, str]",
    "save_tensors.tensors": "dict[str, Tensor]",
    "write_file.data": "Any",
    "value": "builtins.int",
    "cls": "type",
    "flatten": "Callable[[Any], Any]",
    "is_leaf": "Callable[[Any], Any] | None",
    "nodes": "Sequence[tuple[Any, ...]]",
    "object": "Any",
    "tree": "Any",
    "unflatten": "Callable[..., Any]",
    "astype.copy": "builtins.bool",
    "astype.dtype": "DTypeLike",
    "set_process_dtype.dtype": "DTypeLike",
    "view.dtype": "DTypeLike",
    "_rebuild.dtype": "str",
    "_to_.dtype": "DTypeLike | None",
    "clip.max": "Operand | None",
    "clip.min": "Operand | None",
    "columns": "builtins.int",
    "concat.axis": "SupportsIndex | None",
    "concatenate.axis": "SupportsIndex | None",
    "linspace.stop": "Number",
    "matmul.values": "Tensor",
    "matrix_power.n": "builtins.int",
    "pairs": "builtins.bool",
    "permute.axes": "Axis",
    "permute_dims.axes": "Ints",
    "rows": "builtins.int",
    "structure": "Tensor",
    "take.axis": "SupportsIndex | None",
    "to_device.device": "str",
    "transpose.axes": "Axis",
    "transposed": "builtins.bool",
    "results": "list[Any]",
    "operands": "list[Any]",
    "functions": "tuple[Callable[..., Any] | None, ...]",
    "function": "Callable[..., Any]",
    "checkpoint.ops": "tuple[str, ...]",
    "checkpoint.of": "Callable[..., Any]",
    "has_history.tensors": "list[Any]",
    "lowered.operands": "Any",
    "raised.operands": "Any",
    "without_history.name": "str",
    "is_batched.x": "Any",
    "exchange_frame.frame": "Any",
}
for _names, _type in {
    "function": "Callable[..., Any]",
    "ops batched": "Any",
    "for_all.function for_all.args converted.function converted.make converted.helpers": "Any",
    "code_of.function function_of.method run_aside.loop run_aside.state": "Any",
    "note_merged.result note_merged.part is_merged.tensor": "Any",
    "formula trim": "str",
    "choice.replace": "builtins.bool",
    "choice.p": "Operand | None",
    "choice.shape": "Ints",
    "conditions choices keys multi_index spacing": "Sequence[Operand]",
    "choose.choices select.choices lexsort.keys": "Any",
    "default": "Operand",
    "kth": "Ints",
    "topk.k topk.axis lexsort.axis trapezoid.axis unwrap.axis": "SupportsIndex",
    "partition.axis argpartition.axis compress.axis": "SupportsIndex | None",
    "order": "Literal['C', 'F']",
    "choose.mode ravel_multi_index.mode": "Literal['raise', 'wrap', 'clip']",
    "convolve.mode correlate.mode": "Literal['full', 'same', 'valid']",
    "y fweights aweights weights to_end to_begin trapezoid.x interp.left interp.right": (
        "Operand | None"
    ),
    "histogram2d.y trapezoid.y polyfit.x polyfit.y": "Operand",
    "polyfit.w": "Operand | None",
    "polyfit.deg": "SupportsIndex",
    "polyint.k": "Number",
    "axes2": "Ints | None",
    "xp fp digitize.bins": "Operand",
    "cov.ddof": "SupportsIndex | None",
    "bins": "builtins.int | Operand",
    "range": "tuple[builtins.float, builtins.float] | None",
    "bins_x bins_y range_x range_y histogram2d.density": "Any",
    "histogram.density": "builtins.bool | None",
    "interp.period discont": "Number | None",
    "unwrap.period": "Number",
    "einsum.operands einsum_cost.operands": "Sequence[Operand]",
    "einsum.path einsum_cost.path": "Any",
    "unique.axis": "SupportsIndex | None",
    "alpha cov df dfden dfnum lam left loc logits lower mean multinomial.n p pvals": "Operand",
    "triangular.mode": "Operand",
    "right sigma upper beta.a beta.b f.a gamma.a pareto.a weibull.a binomial.n": "Operand",
    "negative_binomial.n": "Operand",
    "beta1 beta2 correction ddof eps lr momentum weight_decay": "Number",
    "decimals groups high k low n n_rows num source destination": "SupportsIndex",
    "dilation padding stride moveaxis.source moveaxis.destination expand_dims.axis": "Ints",
    "condition edges labels logits q target updates v w weight x x1 x2 attention.k": "Operand",
    "bias layer_norm.weight bincount.weights diff.prepend diff.append": "Operand | None",
    "ms parameters velocities vs": "Sequence[Tensor]",
    "argsort.axis diff.axis log_softmax.axis softmax.axis sort.axis stack.axis": "SupportsIndex",
    "take_along_axis.axis vecdot.axis cross.axis unstack.axis rollaxis.axis": "SupportsIndex",
    "split.axis array_split.axis permutation.axis": "SupportsIndex",
    "append.axis repeat.axis cummax.axis cummin.axis": "SupportsIndex | None",
    "delete.axis insert.axis": "SupportsIndex | None",
    "append.values insert.values diagonal.x factor lstsq.a lstsq.b cholesky_solve.b": "Operand",
    "shift repeats dimensions axes1": "Ints",
    "tri.n identity.n tril_indices.n triu_indices.n diag_indices.n ": "SupportsIndex",
    "tri.m tril_indices.m triu_indices.m vander.n": "SupportsIndex | None",
    "logspace.start logspace.stop": "Number",
    "geomspace.start geomspace.stop": "builtins.complex",
    "indices_or_sections": "Ints | Tensor",
    "where shapes": "Any",
    "vectors": "Sequence[Operand]",
    "indexing": "Literal['xy', 'ij']",
    "vector_norm.ord": "builtins.float",
    "matrix_norm.ord norm.ord cond.p": "builtins.float | str | None",
    "tol": "Operand | None",
    "rcond": "Number | None",
    "fft.axis ifft.axis rfft.axis irfft.axis hfft.axis ihfft.axis": "SupportsIndex",
    "fft.n ifft.n rfft.n irfft.n hfft.n ihfft.n": "SupportsIndex | None",
    "fftn.axes ifftn.axes rfftn.axes irfftn.axes fft2.axes ifft2.axes rfft2.axes": "Axis",
    "irfft2.axes fftshift.axes ifftshift.axes": "Axis",
}.items():
    PARAMETERS |= dict.fromkeys(_names.split(), _type)

# By the path under frazil._frazil; DEFAULTS by the module, and Tensor for all else.
RESULTS = {
    "program.learnt": "Any",
    "program.value_of": "builtins.int",
    "program.put_back": "None",
    "program.choose": "None",
    "program.chooses": "builtins.bool",
    "program.chosen": "list[tuple[builtins.int, builtins.int]]",
    "program.branch": "builtins.int",
    "program.load_program": "Any",
    "program.texts_of": "tuple[str, str, str, str]",
    "program.make_program": "Any",
    "program.about": "dict[str, Any]",
    "program.call": "list[Tensor]",
    "program.stats": "dict[str, builtins.int]",
    "program.explain": "str",
    "profile.machine": "tuple[builtins.float, builtins.float]",
    "profile.start": "None",
    "profile.stop": "dict[str, Any]",
    "profile.trace_events": "str",
    "npu.command": "tuple[builtins.int, str, str]",
    "linalg.lstsq": "tuple[Tensor, Tensor, builtins.int, Tensor]",
    "inside.einsum_cost": "tuple[list[tuple[builtins.int, ...]], builtins.float, builtins.float]",
    "inside.broadcast_shapes": "tuple[builtins.int, ...]",
    "nonzero": "tuple[Tensor, ...]",
    "runtime.default_dtype": "DType",
    "runtime.set_process_dtype": "DType",
    "runtime.set_thread_dtype": "DType | None",
    "op_table": "list[dict[str, Any]]",
    "other_names": "dict[str, dict[str, str]]",
    "Tensor.nonzero": "tuple[Tensor, ...]",
    "Tensor.item": NUMBER,
    "Tensor.tolist": "Any",
    "Tensor.numpy": "Any",
    "Tensor.backward": "None",
    "Tensor.__array__": "Any",
    "Tensor.__dlpack__": "Any",
    "Tensor.__array_namespace__": "Any",
    "runtime.count_in_bins": "Tensor",
    "linalg.eig": "tuple[Tensor, Tensor]",
    "linalg.eigh": "tuple[Tensor, Tensor]",
    "linalg.pinv_with_values": "tuple[Tensor, Tensor]",
    "linalg.qr": "tuple[Tensor, Tensor]",
    "linalg.slogdet": "tuple[Tensor, Tensor]",
    "linalg.svd": "tuple[Tensor, Tensor, Tensor]",
    "autograd.get_autocast": "int",
    "autograd.is_grad_enabled": "builtins.bool",
    "autograd.lowered": "tuple[Any, ...]",
    "autograd.raised": "tuple[Any, ...]",
    "autograd.set_autocast": "int",
    "autograd.set_grad_enabled": "builtins.bool",
    "custom.call": "list[Any]",
    "custom.call_host": "list[Any]",
    "custom.checkpoint": "list[Any]",
    "custom.ops": "tuple[tuple[str, ...], tuple[str, ...]]",
    "distributed.init": "None",
    "distributed.link": "tuple[builtins.float, builtins.float, builtins.float]",
    "distributed.state": "tuple[builtins.int, builtins.int, builtins.bool, str]",
    "distributed.local_rank": "builtins.int",
    "distributed.group": "builtins.int",
    "distributed.abandon": "None",
    "distributed.finalize": "None",
    "distributed.barrier": "None",
    "distributed.swap_history": "None",
    "custom.has_history": "builtins.bool",
    "custom.without_history": "None",
    "transforms.innermost_is_reverse": "builtins.bool",
    "transforms.is_batched": "builtins.bool",
    "transforms.in_vmap": "builtins.bool",
    "transforms.exchange_frame": "Any",
    "transforms.converted": "Any",
    "transforms.code_of": "Any",
    "transforms.for_all": "Any",
    "transforms.function_of": "Any",
    "transforms.run_aside": "tuple[builtins.int, list[Tensor]] | None",
    "transforms.note_merged": "None",
    "transforms.is_merged": "builtins.bool",
    "cuda.compile_stats": "dict[str, Any]",
    "cuda.device_count": "builtins.int",
    "cuda.memory_stats": "dict[str, builtins.int]",
    "cuda.properties": "dict[str, Any]",
    "cuda.versions": "dict[str, tuple[str | None, str]]",
    "npu.account": "tuple[Any, ...]",
    "npu.instructions": "str",
    "npu.report": "str",
    "npu.settings": "tuple[str, str]",
    "random.set_default": "None",
    "runtime._rebuild": "Tensor",
    "runtime.caches": "dict[str, dict[str, builtins.int]]",
    "runtime.causes": "dict[str, dict[str, str]]",
    "runtime.config": "dict[str, dict[str, Any]]",
    "runtime.detect_anomaly": "Any",
    "runtime.cpu": "dict[str, builtins.bool]",
    "runtime.disk": "dict[str, Any]",
    "runtime.end_anomaly": "None",
    "runtime.dtype": "DType",
    "runtime.get_num_threads": "builtins.int",
    "runtime.kernels_run": "builtins.int",
    "runtime.load_tensors": "tuple[dict[str, Tensor], dict[str, str]]",
    "runtime.memory_blocks": "list[tuple[builtins.int, builtins.int, builtins.int]]",
    "runtime.memory_stats": "dict[str, builtins.int]",
    "runtime.precision": "str",
    "runtime.precisions": "dict[str, str]",
    "runtime.promote": "DType",
    "runtime.promote_scalar": "DType",
    "runtime.set_process_mode": "builtins.int",
    "runtime.set_thread_mode": "builtins.int",
    "tree.children": "list[tuple[Any, Any]] | None",
    "tree.flatten": "tuple[list[Any], Structure]",
    "tree.from_nodes": "Structure",
    "tree.is_container": "builtins.bool",
    "tree.kind_of": "tuple[builtins.int, tuple[str, ...] | None]",
    "tree.leaves": "list[Any]",
    "tree.register_pytree_node": "None",
}
for _name in (
    "diag_indices tril_indices triu_indices unstack inside.ix_ inside.meshgrid inside.unique_all "
    "inside.unique inside.intersect1d"
).split():
    RESULTS[_name] = "tuple[Tensor, ...]"
RESULTS["inside.broadcast_arrays"] = "tuple[Tensor, ...]"
for _name in "split array_split hsplit vsplit dsplit".split():
    RESULTS[_name] = "list[Tensor]"
for _name in "unravel_index histogram inside.topk inside.averages inside.histogram2d".split():
    RESULTS[_name] = "tuple[Tensor, ...]"
RESULTS["inside.gradient"] = "tuple[Tensor, ...]"
for _name in (
    "bernoulli beta binomial categorical chisquare dirichlet exponential f gamma geometric gumbel "
    "laplace logistic lognormal multinomial multivariate_normal negative_binomial pareto poisson "
    "rayleigh standard_cauchy standard_t triangular truncated_normal wald weibull"
).split():
    PARAMETERS[f"{_name}.shape"] = "Ints | None"
    PARAMETERS[f"{_name}.scale"] = "Operand"
DEFAULTS = {"autograd": "None", "cuda": "None", "npu": "None", "runtime": "None"}

# Functions that one signature does not describe: {name: signatures}.
_MADE = (
    "dtype: DTypeLike | None = ..., {}device: str | None = ..., requires_grad: builtins.bool = ..."
)
_SHAPES = [
    f"(shape: Ints, {_MADE.format('*, ')}) -> Tensor",
    f"(*shape: SupportsIndex, {_MADE.format('')}) -> Tensor",
]
OVERLOADS = {
    "empty": _SHAPES,
    "ones": _SHAPES,
    "zeros": _SHAPES,
    "where": [
        "(condition: Operand, /) -> tuple[Tensor, ...]",
        "(condition: Operand, x1: Operand, x2: Operand, /) -> Tensor",
    ],
}

TENSOR = """
    @property
    def shape(self) -> tuple[builtins.int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def device(self) -> str: ...
    @property
    def ndim(self) -> builtins.int: ...
    @property
    def size(self) -> builtins.int: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def nbytes(self) -> builtins.int: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...
    @property
    def is_leaf(self) -> builtins.bool: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    requires_grad: builtins.bool
    grad: Tensor | None
    _parameter: builtins.bool
    __array_priority__: builtins.float
    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any: ...
    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any, /
    ) -> Any: ...
    def __jax_array__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: builtins.int, /) -> memoryview: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, item: Any, /) -> builtins.bool: ...
    def __getitem__(self, index: Index, /) -> Tensor: ...
    def __setitem__(self, index: Index, value: Any, /) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __complex__(self) -> builtins.complex: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any, /) -> Tensor: ...
    def __pow__(self, other: Operand, mod: None = ..., /) -> Tensor: ...
    def __rpow__(self, other: Operand, mod: None = ..., /) -> Tensor: ...
    def __divmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __eq__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
"""
ORDERED = "lt le gt ge".split()
BINARY = "add sub mul truediv floordiv mod matmul and or xor lshift rshift".split()
UNARY = "neg pos abs invert".split()

CLASSES = '''
@final
class DType:
    """An element type."""

    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def kind(self) -> str: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def __numpy_dtype__(self) -> Any: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

class LinAlgError(ValueError):
    """A matrix that an algorithm of linear algebra cannot take."""

class NpuFault(RuntimeError):
    """A program on the simulated NPU did what it must not: a bug of frazil's."""

@disjoint_base
class ModuleBase:
    """Counts assignments to attributes: frazil._tracked."""

    @staticmethod
    def _traces() -> builtins.bool: ...
    @staticmethod
    def _changed() -> None: ...
    _traced: Any

@final
class Traced(Generic[_P, _R]):
    """A traced callable: made by frazil.trace."""

    __name__: str
    __qualname__: str
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    @property
    def pure(self) -> builtins.bool: ...
    def __new__(
        cls,
        function: Callable[_P, _R],
        name: str | None = ...,
        pure: builtins.bool = ...,
        check_first: builtins.int = ...,
        check_every: builtins.int = ...,
        proof: builtins.bool = ...,
        strict: builtins.bool = ...,
        saved: builtins.bool = ...,
    ) -> Traced[_P, _R]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __set_name__(self, owner: type, name: str, /) -> None: ...
    @overload
    def __get__(self, instance: None, owner: Any = ..., /) -> Traced[_P, _R]: ...
    @overload
    def __get__(
        self: Traced[Concatenate[_S, _Q], _R], instance: _S, owner: Any = ..., /
    ) -> Traced[_Q, _R]: ...
    def explain(self) -> str:
        """Every recording, plan and fallback: where, what changed, old -> new."""
    def stats(self) -> dict[str, Any]:
        """Counts of calls, recordings, plans and kernels, of causes, and the latest events."""
    def memory_plan(self) -> list[Plan]:
        """How each plan uses memory, the largest first."""
    def show(self, path: str | PathLike[str] | None = ...) -> str:
        """Writes what was recorded and what became of it as one HTML page, and opens it."""
    def _plans(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...
    def clear(self) -> None:
        """Forgets everything recorded."""

@final
class Structure:
    """How a nest held its leaves."""

    @property
    def num_leaves(self) -> builtins.int:
        """How many leaves there are."""
    @property
    def _has_modules(self) -> builtins.bool: ...
    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """The nest with these leaves."""
    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """What another nest of this structure holds in the places of the leaves."""
    def paths(self) -> list[str]:
        """The path of each leaf, such as \"['layers'][1].weight\"."""
    def _in_modules(self) -> list[builtins.bool]: ...
    def _nodes(self) -> list[tuple[Any, ...]]: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

@final
class GradScope:
    """One level of function-style differentiation; close it in reverse order of opening."""

    def variable(self, argument: Tensor, /) -> Tensor: ...
    def gradients(self, root: Tensor, /) -> list[Tensor]: ...
    def outside(self, result: Any, /) -> Any: ...
    def pull(self, results: list[Any], gradients: list[Any], /) -> list[Tensor]: ...
    def close(self) -> None: ...

@final
class ForwardScope:
    """One level of forward mode; close it in reverse order."""

    def variable(self, primal: Tensor, tangent: Tensor, /) -> Tensor: ...
    def tangent(self, result: Tensor, /) -> Tensor | None: ...
    def outside(self, result: Any, /) -> Any: ...
    def close(self) -> None: ...

@final
class TakenScope:
    """The way that examples take for which its first argument, a bool, is true."""

    def __new__(cls, taken: Tensor, /, *operands: Any) -> TakenScope: ...
    def close(self) -> None: ...

@final
class BatchScope:
    """One level of vmap; close it in reverse order."""

    def __new__(cls, size: builtins.int, randomness: builtins.int, /) -> BatchScope: ...
    def of_example(self, tensor: Tensor, axis: builtins.int, /) -> Tensor: ...
    def whole(self, tensor: Tensor, axis: builtins.int, /) -> Tensor: ...
    def has(self, tensor: Any, /) -> builtins.bool: ...
    def restore(self, results: list[Any], /) -> builtins.int: ...
    def close(self) -> None: ...
'''
