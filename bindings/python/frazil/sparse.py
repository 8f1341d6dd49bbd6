"""Sparse matrices and solvers that need nothing but products with them.

Here: `csr_array`, `coo_array` and `issparse`, under SciPy's names and from and to SciPy's matrices;
and the solvers `cg`, `gmres` and `lobpcg`.

Products are ops, and all else is made of frazil's functions: they are recorded and differentiated,
to the values of a matrix and to the dense side. Indices are data, not part of a gradient. Products
give the same bits with any number of threads.

>>> a = csr_array(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 2, 1])), shape=(2, 3))
>>> a
fz.sparse.csr_array(shape=(2, 3), nnz=3, dtype=float32)
>>> (a @ [1.0, 10.0, 100.0]).tolist()
[201.0, 30.0]
"""

from frazil._krylov import cg as cg
from frazil._krylov import gmres as gmres
from frazil._krylov import lobpcg as lobpcg
from frazil._sparse import coo_array as coo_array
from frazil._sparse import csr_array as csr_array
from frazil._sparse import issparse as issparse

__all__ = ["cg", "coo_array", "csr_array", "gmres", "issparse", "lobpcg"]
