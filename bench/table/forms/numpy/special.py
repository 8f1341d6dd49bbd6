"""The error function, which NumPy lacks: SciPy's, or else a rational approximation."""

import numpy as np

try:
    from scipy.special import erf
except ImportError:

    def erf(x):
        """Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: within 1.5e-7."""
        a = np.abs(x).astype(np.float64)
        t = 1 / (1 + 0.3275911 * a)
        p = t * (
            0.254829592
            + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
        )
        return (np.sign(x) * (1 - p * np.exp(-a * a))).astype(x.dtype)
