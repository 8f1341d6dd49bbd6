"""The transformer of the table, forward and backward by hand."""

import numpy as np

ROOT = np.float32(0.7978845608)  # sqrt(2 / pi)
CUBE = np.float32(0.044715)


def _linear(x, w):
    return x @ w["weight"].T + w["bias"]


def _linear_back(d, x, w, grads):
    flat = d.reshape(-1, d.shape[-1])
    grads[id(w["weight"])] = flat.T @ x.reshape(-1, x.shape[-1])
    grads[id(w["bias"])] = flat.sum(axis=0)
    return d @ w["weight"]


def _norm(x, w):
    d = x - x.mean(axis=-1, keepdims=True)
    r = 1 / np.sqrt((d * d).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    h = d * r
    return h * w["weight"] + w["bias"], (h, r)


def _norm_back(d, kept, w, grads):
    h, r = kept
    grads[id(w["weight"])] = (d * h).reshape(-1, d.shape[-1]).sum(axis=0)
    grads[id(w["bias"])] = d.reshape(-1, d.shape[-1]).sum(axis=0)
    g = d * w["weight"]
    mean = g.mean(axis=-1, keepdims=True)
    return r * (g - mean - h * (g * h).mean(axis=-1, keepdims=True))


def _gelu(x):
    t = np.tanh(ROOT * (x + CUBE * x * x * x))
    return np.float32(0.5) * x * (1 + t), t


def _gelu_back(d, x, t):
    inner = ROOT * (1 + 3 * CUBE * x * x)
    return d * np.float32(0.5) * (1 + t + x * (1 - t * t) * inner)


def _copies(tree):
    if isinstance(tree, dict):
        return {k: _copies(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_copies(v) for v in tree]
    return tree.copy()


def _leaves(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree
    return [leaf for item in items for leaf in _leaves(item)]


class Transformer:
    def __init__(self, weights, heads):
        self.w = _copies(weights)
        self.parameters = _leaves(self.w)
        self.heads = heads
        t = len(self.w["positions"])
        self.mask = np.where(np.tril(np.ones((t, t), bool)), 0, -1e9).astype(np.float32)

    def forward(self, tokens):
        self.tokens, self.kept = tokens, []
        x = self.w["tokens"][tokens] + self.w["positions"]
        for w in self.w["blocks"]:
            x = self._block(x, w)
        self.last, self.kept_norm = _norm(x, self.w["norm"])
        return self.last @ self.w["head"].T

    def _block(self, x, w):
        b, t, d = x.shape
        n, norm1 = _norm(x, w["norm1"])
        qkv = _linear(n, w["qkv"]).reshape(b, t, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv
        scale = np.float32((d // self.heads) ** -0.5)
        s = (q @ k.swapaxes(-1, -2)) * scale + self.mask
        s -= s.max(axis=-1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=-1, keepdims=True)
        y = (s @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
        x = x + _linear(y, w["out"])
        m, norm2 = _norm(x, w["norm2"])
        up = _linear(m, w["up"])
        g, tanh = _gelu(up)
        self.kept.append((n, norm1, q, k, v, s, y, m, norm2, up, tanh, g))
        return x + _linear(g, w["down"])

    def backward(self, d):
        """Gradients in the order of `parameters`."""
        grads = {}
        flat = d.reshape(-1, d.shape[-1])
        grads[id(self.w["head"])] = flat.T @ self.last.reshape(-1, self.last.shape[-1])
        d = _norm_back(d @ self.w["head"], self.kept_norm, self.w["norm"], grads)
        for w in reversed(self.w["blocks"]):
            d = self._block_back(d, w, self.kept.pop(), grads)
        grads[id(self.w["positions"])] = d.sum(axis=0)
        tokens = grads[id(self.w["tokens"])] = np.zeros_like(self.w["tokens"])
        np.add.at(tokens, self.tokens, d)
        return [grads[id(p)] for p in self.parameters]

    def _block_back(self, d, w, kept, grads):
        n, norm1, q, k, v, s, y, m, norm2, up, tanh, g = kept
        b, t, width = d.shape
        dg = _linear_back(d, g, w["down"], grads)
        dm = _linear_back(_gelu_back(dg, up, tanh), m, w["up"], grads)
        d = d + _norm_back(dm, norm2, w["norm2"], grads)
        dy = _linear_back(d, y, w["out"], grads)
        dy = dy.reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3)
        ds = dy @ v.swapaxes(-1, -2)
        ds = s * (ds - (ds * s).sum(axis=-1, keepdims=True))
        ds *= np.float32((width // self.heads) ** -0.5)
        qkv = np.stack([ds @ k, ds.swapaxes(-1, -2) @ q, s.swapaxes(-1, -2) @ dy])
        qkv = qkv.transpose(1, 3, 0, 2, 4).reshape(b, t, 3 * width)
        return d + _norm_back(_linear_back(qkv, n, w["qkv"], grads), norm1, w["norm1"], grads)
