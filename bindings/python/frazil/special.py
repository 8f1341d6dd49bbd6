"""Special functions under the names of scipy.special: elementwise; integers become floats;
computed in float64 and rounded once to the dtype; each has its gradient.

Here: `gamma`, `gammaln`, `digamma` or `psi`, `polygamma`, `beta`, `betaln`, `zeta`; incomplete
`gammainc`, `gammaincc`, `betainc`; `erf`, `erfc`, `erfinv`, `erfcinv`; of the
normal distribution `ndtr`, `log_ndtr`, `ndtri`; Bessel functions `j0`, `j1`, `y0`, `y1`, `i0`,
`i1`, `i0e`, `i1e`; `expit`, `logit`, `xlogy`, `xlog1py`, `logsumexp`, `softmax`, `log_softmax`,
`exp2`, `expm1`, `log1p`, `cbrt`, `sinc`.

>>> gamma(5.0).item()
24.0
"""

from frazil._frazil import beta as beta
from frazil._frazil import betainc as betainc
from frazil._frazil import betaln as betaln
from frazil._frazil import cbrt as cbrt
from frazil._frazil import digamma as digamma
from frazil._frazil import erf as erf
from frazil._frazil import erfc as erfc
from frazil._frazil import erfcinv as erfcinv
from frazil._frazil import erfinv as erfinv
from frazil._frazil import exp2 as exp2
from frazil._frazil import expm1 as expm1
from frazil._frazil import gamma as gamma
from frazil._frazil import gammainc as gammainc
from frazil._frazil import gammaincc as gammaincc
from frazil._frazil import gammaln as gammaln
from frazil._frazil import i0 as i0
from frazil._frazil import i0e as i0e
from frazil._frazil import i1 as i1
from frazil._frazil import i1e as i1e
from frazil._frazil import j0 as j0
from frazil._frazil import j1 as j1
from frazil._frazil import log1p as log1p
from frazil._frazil import log_ndtr as log_ndtr
from frazil._frazil import logit as logit
from frazil._frazil import logsumexp as logsumexp
from frazil._frazil import ndtr as ndtr
from frazil._frazil import ndtri as ndtri
from frazil._frazil import polygamma as polygamma
from frazil._frazil import sigmoid as _sigmoid
from frazil._frazil import sinc as sinc
from frazil._frazil import xlog1py as xlog1py
from frazil._frazil import xlogy as xlogy
from frazil._frazil import y0 as y0
from frazil._frazil import y1 as y1
from frazil._frazil import zeta as zeta
from frazil._frazil.nn import log_softmax as log_softmax
from frazil._frazil.nn import softmax as softmax

psi = digamma
expit = _sigmoid

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "cbrt",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "zeta",
]
