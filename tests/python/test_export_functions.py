"""Functions that libraries compute (fz.linalg, transforms), and those with code of their own in
Python, exported."""

import pytest
from exports import bits, normal

import frazil as fz

la = fz.linalg


def positive(x):
    return x @ la.matrix_transpose(x) + 3 * fz.eye(x.shape[-1])


FUNCTIONS = {
    "cholesky": lambda x: la.cholesky(positive(x)),
    "solve": lambda x: la.solve(x, x[..., :2]),
    "solve a vector": lambda x: la.solve(x, x[..., 0, :][..., None])[..., 0],
    "solve for several": lambda x: la.solve(positive(x), fz.ones((5, *x.shape))),
    "solve one for several": lambda x: la.solve(positive(fz.eye(4)), x),
    "inv": la.inv, "det": la.det, "slogdet": la.slogdet, "pinv": la.pinv, "qr": la.qr,
    "qr, complete": lambda x: la.qr(x, mode="complete"),
    "svd": la.svd, "svd, reduced": lambda x: la.svd(x[..., :3], full_matrices=False),
    "svdvals": la.svdvals, "eigh": lambda x: la.eigh(positive(x)),
    "eigvalsh": lambda x: la.eigvalsh(positive(x)), "eig": la.eig, "eigvals": la.eigvals,
    "norms": lambda x: (la.matrix_norm(x), la.matrix_norm(x, ord="nuc"), la.vector_norm(x)),
    "triangular": lambda x: (
        la.solve_triangular(fz.tril(positive(x)), x, lower=True),
        la.solve_triangular(fz.triu(positive(x)), x, lower=False, trans=1),
    ),
    "gradient of solve": fz.grad(lambda x: la.solve(positive(x), x).sum()),
    "gradient of det": fz.grad(lambda x: la.det(x).sum()),
    "vmap of solve": lambda x: fz.vmap(lambda b: la.solve(positive(fz.eye(4)), b))(x),
    "fft": lambda x: (fz.fft.fft(x), fz.fft.irfft(fz.fft.rfft(x), 4)),
    "einsum": lambda x: fz.einsum("...ij,...kj->...ik", x, x),
    "einsum, chosen": lambda x: fz.einsum("...ij,...jk,...kl->...il", x, x, x, optimize="optimal"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(tmp_path, name):
    fn = FUNCTIONS[name]
    for shape in ((4, 4), (3, 4, 4)):
        fz.export(lambda x: fn(x), (normal(*shape),), tmp_path / "f.frz")
        g = fz.load_program(tmp_path / "f.frz")
        for seed in range(3):
            x = normal(*shape, seed=seed)
            assert bits(g(x)) == bits(fn(x)), shape
