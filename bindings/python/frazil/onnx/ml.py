"""Classical machine learning (ai.onnx.ml): features, labels, linear models, support vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frazil as fz
from frazil import nn
from frazil.onnx._table import ML, OWN, converts
from frazil.onnx._values import Host, array_of
from frazil.onnx.text import strings


def transformed(scores: Any, how: str) -> Any:
    """Scores of classes (last axis) after a `post_transform`."""
    if how == "SOFTMAX":
        return nn.softmax(scores, axis=-1)
    if how == "LOGISTIC":
        return nn.sigmoid(scores)
    if how == "SOFTMAX_ZERO":
        shown = scores != 0
        part = fz.where(shown, fz.exp(scores - fz.max(scores, axis=-1, keepdims=True)), 0.0)
        return fz.where(shown, part / fz.sum(part, axis=-1, keepdims=True), scores)
    if how == "PROBIT":
        return math.sqrt(2) * fz.special.erfinv(2 * scores - 1)
    return scores


def chosen(scores: Any, ints: Any, words: Any) -> Any:
    """The labels of the best classes."""
    at = fz.argmax(scores, axis=-1)
    if words:
        return np.asarray(words, dtype=object)[array_of(at)]
    return fz.take(fz.asarray(list(ints), dtype="int64"), at, axis=0)


def _column(values: Any, like: Any) -> Any:
    return fz.asarray(list(values), dtype=like.dtype)


@converts("ArrayFeatureExtractor", domain=ML, raw="x")
def array_feature_extractor(x: Any, at: Any, *, node: Any) -> Any:
    if isinstance(x, Host):
        return np.take(x.array, array_of(at).reshape(-1), axis=-1)
    y = fz.take(x, at.reshape((-1,)), axis=-1)
    return y.reshape((1, -1)) if x.ndim == 1 else y


@converts("Binarizer", domain=ML)
def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return (x > threshold).astype(x.dtype)


@converts("Scaler", domain=ML)
def scaler(x: Any, *, offset: Any = None, scale: Any = None) -> Any:
    x = x if x.dtype.kind == "real floating" else x.astype("float32")
    x = x if offset is None else x - _column(offset, x)
    return (x if scale is None else x * _column(scale, x)).astype("float32")


@converts("Normalizer", domain=ML)
def normalizer(x: Any, *, norm: str = "MAX") -> Any:
    x = x if x.dtype.kind == "real floating" else x.astype("float32")
    if norm == "MAX":
        by = fz.max(fz.abs(x), axis=-1, keepdims=True)
    elif norm == "L1":
        by = fz.sum(fz.abs(x), axis=-1, keepdims=True)
    else:
        by = fz.sqrt(fz.sum(x * x, axis=-1, keepdims=True))
    return fz.where(by == 0, x, x / fz.where(by == 0, fz.ones_like(by), by)).astype("float32")


@converts("Imputer", domain=ML)
def imputer(
    x: Any, *, imputed_value_floats: Any = None, imputed_value_int64s: Any = None,
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Any:  # fmt: skip
    if imputed_value_floats:
        lost = fz.isnan(x) if math.isnan(replaced_value_float) else x == replaced_value_float
        return fz.where(lost, _column(imputed_value_floats, x), x)
    return fz.where(x == replaced_value_int64, _column(imputed_value_int64s or [0], x), x)


@converts("FeatureVectorizer", domain=ML)
def feature_vectorizer(*parts: Any, inputdimensions: Any = None) -> Any:
    rows = [p.reshape((1, -1)) if p.ndim == 1 else p.reshape((p.shape[0], -1)) for p in parts]
    rows = [r.astype("float32") for r in rows]
    if inputdimensions:
        rows = [r[:, :n] for r, n in zip(rows, inputdimensions, strict=True)]
    return fz.concat(rows, axis=-1)


@converts("OneHotEncoder", domain=ML, host="x")
def one_hot_encoder(
    x: Any, *, cats_int64s: Any = None, cats_strings: Any = None, zeros: int = 1
) -> Any:
    x = x.array()
    categories = np.asarray(cats_strings, object) if cats_strings else np.asarray(cats_int64s)
    hit = x[..., None] == categories
    if not zeros and not hit.any(axis=-1).all():
        raise ValueError("[onnx] OneHotEncoder met a category that it does not know.")
    return hit.astype(np.float32)


def _looked_up(x: Any, keys: Any, values: Any, default: Any) -> Any:
    """Each element's value by a table; NaN finds NaN."""
    nan = [v for k, v in zip(keys, values, strict=True) if isinstance(k, float) and math.isnan(k)]
    table = dict(zip(keys, values, strict=True))
    found = []
    for v in x:
        is_nan = isinstance(v, float) and math.isnan(v)
        found.append((nan[0] if nan else default) if is_nan else table.get(v, default))
    return found


@converts("CategoryMapper", domain=ML, host="x")
def category_mapper(
    x: Any, *, cats_int64s: Any, cats_strings: Any, default_int64: int = -1,
    default_string: str = "_Unused",
) -> Any:  # fmt: skip
    if x.dtype == "str":
        found = _looked_up(x, cats_strings, cats_int64s, default_int64)
        return np.asarray(found, np.int64).reshape(x.shape)
    return strings(_looked_up(x, cats_int64s, cats_strings, default_string), x.shape)


@converts("LabelEncoder", domain=ML, host="x")
def label_encoder_classes(
    x: Any, *, classes_strings: Any, default_int64: int = -1, default_string: str = "_Unused"
) -> Any:
    if x.dtype == "str":
        table = list(range(len(classes_strings)))
        found = _looked_up(x, classes_strings, table, default_int64)
        return np.asarray(found, np.int64).reshape(x.shape)
    found = _looked_up(x, list(range(len(classes_strings))), classes_strings, default_string)
    return strings(found, x.shape)


@converts("LabelEncoder", 2, domain=ML, host="x")
def label_encoder(
    x: Any, *, keys_strings: Any = None, keys_int64s: Any = None, keys_floats: Any = None,
    keys_tensor: Any = None, values_strings: Any = None, values_int64s: Any = None,
    values_floats: Any = None, values_tensor: Any = None, default_string: str = "_Unused",
    default_int64: int = -1, default_float: float = -0.0, default_tensor: Any = None,
) -> Any:  # fmt: skip
    if keys_tensor is not None:
        keys = keys_tensor.array.reshape(-1).tolist()
    else:
        keys = keys_strings or keys_int64s or keys_floats
    if values_tensor is not None:
        values, dtype = values_tensor.array.reshape(-1).tolist(), values_tensor.array.dtype
        default = None if default_tensor is None else default_tensor.array.reshape(-1)[0]
        if default is None:
            other = default_float if dtype.kind == "f" else default_int64
            default = default_string if dtype.kind == "O" else other
    elif values_strings:
        values, dtype, default = values_strings, np.dtype(object), default_string
    elif values_int64s:
        values, dtype, default = values_int64s, np.dtype(np.int64), default_int64
    else:
        values, dtype, default = values_floats, np.dtype(np.float32), default_float
    found = _looked_up(x, keys, values, default)
    if dtype.kind == "O":
        return strings(found, x.shape)
    return np.asarray(found, dtype).reshape(x.shape)


@converts("DictVectorizer", domain=ML, raw="x")
def dict_vectorizer(x: Any, *, int64_vocabulary: Any = None, string_vocabulary: Any = None) -> Any:
    words = string_vocabulary or int64_vocabulary
    rows = [[row.get(w, 0) for w in words] for row in x]
    array = np.asarray(rows)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


@converts("CastMap", domain=ML, raw="x")
def cast_map(
    x: Any, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> Any:
    row = x[0]
    if map_form == "DENSE":
        values = [row[k] for k in sorted(row)]
    else:
        values = [row.get(i, 0) for i in range(max_map)]
    if cast_to == "TO_STRING":
        return strings([str(v) for v in values], (1, -1))
    dtype = np.float32 if cast_to == "TO_FLOAT" else np.int64
    return np.asarray([float(v) for v in values]).astype(dtype).reshape(1, -1)


@converts("ZipMap", domain=ML, host="x")
def zip_map(x: Any, *, classlabels_int64s: Any = None, classlabels_strings: Any = None) -> Any:
    labels = classlabels_strings or classlabels_int64s
    rows = x.array().reshape((-1, len(labels)))
    return [dict(zip(labels, row.tolist(), strict=True)) for row in rows]


@converts("Linear", domain=OWN)
def linear_tables(
    *_: Any, coefficients: Any, intercepts: Any = None, targets: int = 0,
    classlabels_ints: Any = None, classlabels_strings: Any = None,
) -> Any:  # fmt: skip
    """A column for each target or class, and intercepts."""
    rows = targets or len(intercepts or classlabels_strings or classlabels_ints or (0,))
    weights = np.asarray(coefficients, np.float32).reshape(rows, -1).T
    return np.ascontiguousarray(weights), np.asarray(intercepts, np.float32) if intercepts else None


@converts("LinearRegressor", domain=ML, prepared={"Linear": ("weights intercept",)})
def linear_regressor(
    x: Any, weights: Any = None, intercept: Any = None, *, targets: int = 1,
    post_transform: str = "NONE",
) -> Any:  # fmt: skip
    y = x.astype("float32") @ weights
    return transformed(y if intercept is None else y + intercept, post_transform)


@converts("LinearClassifier", domain=ML, prepared={"Linear": ("weights intercept",)})
def linear_classifier(
    x: Any, weights: Any = None, intercept: Any = None, *, classlabels_ints: Any = None,
    classlabels_strings: Any = None, multi_class: int = 0, post_transform: str = "NONE",
) -> Any:  # fmt: skip
    scores = x.astype("float32") @ weights
    scores = scores if intercept is None else scores + intercept
    return labelled(scores, classlabels_ints, classlabels_strings, post_transform)


def labelled(scores: Any, ints: Any, words: Any, how: str) -> Any:
    """(labels, scores); one score of two classes is that of the second."""
    if scores.shape[-1] == 1 and len(words or ints or ()) == 2:
        positive = scores[..., 0] > (0.5 if how == "NONE" else 0)
        if how == "LOGISTIC":
            second = nn.sigmoid(scores)
            scores = fz.concat([1 - second, second], axis=-1)
        else:
            scores = transformed(fz.concat([-scores, scores], axis=-1), how)
        at = positive.astype("int64")
        if words:
            return np.asarray(words, dtype=object)[array_of(at)], scores
        return fz.take(fz.asarray(list(ints), dtype="int64"), at, axis=0), scores
    return chosen(scores, ints, words), transformed(scores, how)
