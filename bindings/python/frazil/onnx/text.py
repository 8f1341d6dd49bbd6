"""Strings: arrays of the host, element by element."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from frazil.onnx._regex import Pattern
from frazil.onnx._table import converts


def strings(values: Any, shape: Any) -> Any:
    """An array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


@converts("StringConcat", 20, host="a b")
def string_concat(a: Any, b: Any) -> Any:
    return np.asarray(a.array() + b.array(), dtype=object)


@converts("StringSplit", 20, host="x")
def string_split(x: Any, *, delimiter: str | None = None, maxsplit: int | None = None) -> Any:
    split = -1 if maxsplit is None else maxsplit
    parts = [str(s).split(delimiter or None, split) for s in x]
    most = max(map(len, parts), default=0)
    padded = [word for p in parts for word in (*p, *[""] * (most - len(p)))]
    counts = np.asarray([len(p) for p in parts], np.int64).reshape(x.shape)
    return strings(padded, (*x.shape, most)), counts


_patterns = functools.lru_cache(maxsize=64)(Pattern)


@converts("RegexFullMatch", 20, host="x")
def regex_full_match(x: Any, *, pattern: str = "") -> Any:
    own = _patterns(pattern)
    found = [own.matches(str(s)) for s in x]
    return np.asarray(found, dtype=bool).reshape(x.shape)


@converts("StringNormalizer", 10, host="x")
def string_normalizer(
    x: Any, *, case_change_action: str = "NONE", is_case_sensitive: int = 0,
    locale: str = "en_US", stopwords: Any = (),
) -> Any:  # fmt: skip
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(case_change_action, str)
    stops = set(stopwords if is_case_sensitive else [s.lower() for s in stopwords])

    def kept(words: Any) -> list[str]:
        return [change(w) for w in words if (w if is_case_sensitive else w.lower()) not in stops]

    if x.ndim == 2:  # of one row
        words = kept(x)
        return strings(words or [""], (1, -1))
    words = kept(x)
    return strings(words or [""], (-1,))


@converts("TfIdfVectorizer", 9, host="x")
def tf_idf(
    x: Any, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
    ngram_counts: Any, ngram_indexes: Any, pool_int64s: Any = None, pool_strings: Any = None,
    weights: Any = None,
) -> Any:  # fmt: skip
    """How often known n-grams occur in each row, with elements skipped in between."""
    pool = pool_strings if pool_int64s is None else pool_int64s
    known: dict[Any, int] = {}
    ends = [*ngram_counts[1:], len(pool)]
    for n, (begin, end) in enumerate(zip(ngram_counts, ends, strict=True), 1):
        for i in range(begin, end, n):
            known[tuple(pool[i : i + n])] = len(known)
    rows = x.array().reshape((1, -1)) if x.ndim < 2 else x.array()
    result = np.zeros((len(rows), max(ngram_indexes) + 1), np.float32)
    for row, out in zip(rows.tolist(), result, strict=True):
        found: Counter[int] = Counter()
        for n in range(min_gram_length, max_gram_length + 1):
            for step in range(1, 2 if n == 1 else max_skip_count + 2):
                for i in range(len(row) - (n - 1) * step):
                    place = known.get(tuple(row[i : i + (n - 1) * step + 1 : step]))
                    if place is not None:
                        found[place] += 1
        for place, count in found.items():
            weight = 1.0 if weights is None else weights[place]
            value = {"TF": count, "IDF": weight, "TFIDF": count * weight}[mode]
            out[ngram_indexes[place]] = value
    return result[0] if x.ndim < 2 else result
