"""Array code: option prices, a fractal, gravity, clusters."""

import tensorflow as tf

from . import compiled


def black_scholes(inp):
    r, v = inp["r"], inp["v"]

    def prices(s, k, t):
        root = v * tf.sqrt(t)
        d1 = (tf.math.log(s / k) + (r + 0.5 * v * v) * t) / root
        d2 = d1 - root
        n1 = 0.5 * (1 + tf.math.erf(d1 * 0.5**0.5))
        n2 = 0.5 * (1 + tf.math.erf(d2 * 0.5**0.5))
        discounted = k * tf.exp(-r * t)
        call = s * n1 - discounted * n2
        return call, call - s + discounted

    return compiled(prices, *(inp[name] for name in ("s", "k", "t")))


def n_body(inp):
    eps = inp["eps"]

    def accelerations(x, m):
        d = x[None, :, :] - x[:, None, :]
        r2 = tf.reduce_sum(d * d, axis=-1) + eps
        w = m / (r2 * tf.sqrt(r2))
        return tf.reduce_sum(d * w[:, :, None], axis=1)

    def components(x, m):
        parts = [x[None, :, i] - x[:, None, i] for i in range(3)]
        r2 = parts[0] * parts[0] + parts[1] * parts[1] + parts[2] * parts[2] + eps
        w = m / (r2 * tf.sqrt(r2))
        return tf.stack([tf.reduce_sum(d * w, axis=1) for d in parts], axis=1)

    return compiled(accelerations, inp["x"], inp["m"]) | compiled(
        components, inp["x"], inp["m"], name="jit_compile, by components"
    )


def k_means(inp):
    k = inp["c"].shape[0]

    def nearest(x, c):
        far = tf.reduce_sum(c * c, axis=1) - 2.0 * tf.matmul(x, c, transpose_b=True)
        return tf.argmin(far, axis=1, output_type=tf.int32)

    def step(x, c):
        member = tf.one_hot(nearest(x, c), k)
        return tf.matmul(member, x, transpose_a=True) / tf.reduce_sum(member, axis=0)[:, None]

    def segments(x, c):
        label = nearest(x, c)
        sums = tf.math.unsorted_segment_sum(x, label, k)
        number = tf.math.unsorted_segment_sum(tf.ones_like(label, tf.float32), label, k)
        return sums / number[:, None]

    return compiled(step, inp["x"], inp["c"]) | compiled(
        segments, inp["x"], inp["c"], name="jit_compile, segment sum"
    )
