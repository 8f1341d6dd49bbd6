"""Wrong calls of transforms and control flow, as text; used by test_wrong_transforms.py.
`./dev python tests/python/wrong_transforms.py` writes wrong_transforms.txt anew: each call with the
exception that it raises.
"""

from pathlib import Path

import frazil as fz

PAGE = Path(__file__).with_suffix(".txt")

CALLS = """
fz.vmap()
fz.vmap(fz.sin, in_axes='a')(x)
fz.vmap(fz.sin, in_axes=-2)(x)
fz.vmap(fz.sin, out_axes='a')(x)
fz.vmap(fz.add, in_axes=(0, (0, 0)))(x, x)
fz.vmap(fz.sin, axis_size=3)(x)
fz.vmap(fz.sin, axis_size=-1)(x)
fz.vmap(fz.sin)()
fz.vmap(fz.sin)('a')
fz.vmap(fz.sin)([])
fz.vmap(lambda v: float(v))(x)
fz.vmap(lambda v: v.tolist())(x)
fz.vmap(lambda v: fz.random.uniform())(x)
fz.vmap(lambda v: 1 if v > 0 else 2)(x)
fz.vmap(lambda v: x[v])(fz.asarray([True, False]))
fz.vmap(lambda v: fz.arange(v))(i)
fz.vmap(lambda v: fz.reshape(v, (2,)))(x)
fz.vmap(lambda v: v + fz.ones(3))(fz.ones((2, 4)))
fz.vmap(fz.unique_values)(fz.ones((2, 2)))
fz.jvp(3, (x,), (x,))
fz.jvp(fz.sin, (x,), (x, x))
fz.jvp(fz.sin, (x,), ('a',))
fz.jvp(fz.sin, ([x],), (x,))
fz.jvp(lambda v: 'a', (x,), (x,))
fz.vjp(3, x)
fz.vjp(fz.sin, i)
fz.vjp(fz.sin, x)[1]('a')
fz.vjp(fz.sin, x)[1]()
fz.vjp(lambda v: (v, v), x)[1](x)
fz.vjp(lambda v: 'a', x)
fz.vjp(lambda v: v, x, has_aux=True)
fz.linearize(3, x)
fz.linearize(fz.sin, x)[1](fz.ones(3))
fz.jacfwd(3)
fz.jacfwd(fz.sin, argnums='a')(x)
fz.jacfwd(fz.sin)(i)
fz.jacrev(lambda v: 'a')(x)
fz.jacrev(fz.sin)(x + 1j)
fz.jacrev(fz.sin, holomorphic=True)(x)
fz.hessian(3)
fz.hessian(fz.sin, argnums=3)(x)
fz.hvp(3, (x,), (x,))
fz.hvp(fz.sum, (x,), (fz.ones(3),))
fz.hvp(fz.sum, x, x)
fz.grad(fz.sin)(x)
fz.grad(lambda v: 'a')(x)
fz.grad(fz.sum, argnums=2)(x)
fz.value_and_grad(3)
fz.checkpoint(fz.sin, policy='all')
fz.checkpoint(fz.sin, policy=3)
fz.checkpoint(lambda v: 'a')(x)
fz.custom_vjp(3)
fz.custom_vjp(fz.sin)(x)
fz.custom_jvp(3)
fz.custom_jvp(fz.sin)(x)
fz.cond(True, 3, fz.cos, x)
fz.cond('a', fz.sin, fz.cos, x)
fz.cond(None, fz.sin, fz.cos, x)
fz.vmap(lambda v: fz.cond(v > 0, lambda u: fz.ones(2), lambda u: fz.ones(3), v))(x)
fz.vmap(lambda v: fz.cond(v > 0, lambda u: 'a', lambda u: 'b', v))(x)
fz.switch('a', [fz.sin, fz.cos], x)
fz.switch(0, [fz.sin, 3], x)
fz.switch(i, [fz.sin, fz.cos], x)
fz.switch(0.5, [fz.sin, fz.cos], x)
fz.vmap(lambda v: fz.switch(v, [fz.sin, fz.cos], v))(x)
fz.vmap(lambda n: fz.switch(n, [lambda: fz.ones(2), lambda: fz.ones(3)]))(i)
fz.while_loop(3, fz.sin, x)
fz.while_loop(lambda s: 'a', fz.sin, x)
fz.while_loop(lambda s: True, lambda s: fz.ones(3), x)
fz.while_loop(lambda s: True, lambda s: s > 0, x)
fz.while_loop(lambda s: x > 0, fz.sin, x)
fz.while_loop(lambda s: True, lambda s: 'a', x)
fz.fori_loop('a', 3, lambda n, s: s, x)
fz.fori_loop(0, None, lambda n, s: s, x)
fz.fori_loop(0, 3, 3, x)
fz.fori_loop(0, 3, lambda n, s: s, 'a')
fz.fori_loop(0, 3, lambda n, s: (s, s), x)
fz.fori_loop(0, 3, lambda n, s: s, x, checkpoint=0)
fz.fori_loop(0, 3, lambda n, s: s, x, checkpoint='a')
fz.fori_loop(fz.asarray(0), 3, lambda n, s: s, x, checkpoint=True)
fz.scan(3, x, x)
fz.scan(lambda c, v: (c, v, v), x, x)
fz.scan(lambda c, v: (fz.ones(3), v), x, x)
fz.scan(lambda c, v: (c, 'a'), x, x)
fz.scan(lambda c, v: (c, v), x, x, length=3)
fz.scan(lambda c, v: (c, v), x, x, length='a')
fz.scan(lambda c, v: (c, v), x, x, checkpoint=-1)
fz.map(3, x)
fz.map(lambda v: 'a', x)
fz.map(lambda v: v, fz.ones(()))
fz.map(lambda v: v, x, batch_size='a')
fz.associative_scan(3, x)
fz.associative_scan(lambda a, b: 'a', x)
fz.associative_scan(lambda a, b: a[:1], fz.ones(4))
fz.associative_scan(fz.add, x, axis='a')
fz.associative_scan(fz.add, (fz.ones(2), fz.ones(3)))
"""


def calls():
    return CALLS.split("\n")[1:-1]


def line(call):
    """The call and what it raises, or that it raises nothing."""
    try:
        eval(call, {"fz": fz, "x": fz.asarray([1.0, 2.0]), "i": fz.asarray([1, 0])})
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is compared
        return f"{call}  # {type(error).__name__}: {error}"
    return f"{call}  # no error"


if __name__ == "__main__":
    PAGE.write_text("\n".join(line(call) for call in calls()) + "\n", encoding="utf-8")
