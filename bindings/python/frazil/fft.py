"""Fourier transforms under the names of numpy.fft and the array API, by ducc0.

Here: `fft`, `ifft` of one axis, `fft2`, `ifft2` of two, `fftn`, `ifftn` of several; `rfft` and so
on of real numbers, of whose transform they give the first half, which tells the rest; `hfft`,
`ihfft`; `fftfreq`, `rfftfreq`, `fftshift`, `ifftshift`. float32 and complex64 stay in single
precision. Each has its gradient.

>>> import frazil as fz
>>> fft(fz.asarray([1.0, 2.0, 3.0, 2.0])).real.tolist()
[8.0, -2.0, 0.0, -2.0]
"""

from frazil._frazil.fft import fft as fft
from frazil._frazil.fft import fft2 as fft2
from frazil._frazil.fft import fftfreq as fftfreq
from frazil._frazil.fft import fftn as fftn
from frazil._frazil.fft import fftshift as fftshift
from frazil._frazil.fft import hfft as hfft
from frazil._frazil.fft import ifft as ifft
from frazil._frazil.fft import ifft2 as ifft2
from frazil._frazil.fft import ifftn as ifftn
from frazil._frazil.fft import ifftshift as ifftshift
from frazil._frazil.fft import ihfft as ihfft
from frazil._frazil.fft import irfft as irfft
from frazil._frazil.fft import irfft2 as irfft2
from frazil._frazil.fft import irfftn as irfftn
from frazil._frazil.fft import rfft as rfft
from frazil._frazil.fft import rfft2 as rfft2
from frazil._frazil.fft import rfftfreq as rfftfreq
from frazil._frazil.fft import rfftn as rfftn

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
