"""Discrete Fourier transforms, as `torch.fft`: one list of names; the functions are in `ops`.

>>> import taper
>>> taper.fft.rfft(taper.ones(4))
tensor([4.+0.j, 0.+0.j, 0.+0.j])
"""

from taper.autograd.overrides import has_grown as _has_grown
from taper.opdef.guards import guard_all as _guard_all
from taper.ops.fft.frequencies import fft_fftfreq as fftfreq
from taper.ops.fft.frequencies import fft_fftshift as fftshift
from taper.ops.fft.frequencies import fft_ifftshift as ifftshift
from taper.ops.fft.frequencies import fft_rfftfreq as rfftfreq
from taper.ops.fft.functions import fft_fft as fft
from taper.ops.fft.functions import fft_fft2 as fft2
from taper.ops.fft.functions import fft_fftn as fftn
from taper.ops.fft.functions import fft_hfft as hfft
from taper.ops.fft.functions import fft_hfft2 as hfft2
from taper.ops.fft.functions import fft_hfftn as hfftn
from taper.ops.fft.functions import fft_ifft as ifft
from taper.ops.fft.functions import fft_ifft2 as ifft2
from taper.ops.fft.functions import fft_ifftn as ifftn
from taper.ops.fft.functions import fft_ihfft as ihfft
from taper.ops.fft.functions import fft_ihfft2 as ihfft2
from taper.ops.fft.functions import fft_ihfftn as ihfftn
from taper.ops.fft.functions import fft_irfft as irfft
from taper.ops.fft.functions import fft_irfft2 as irfft2
from taper.ops.fft.functions import fft_irfftn as irfftn
from taper.ops.fft.functions import fft_rfft as rfft
from taper.ops.fft.functions import fft_rfft2 as rfft2
from taper.ops.fft.functions import fft_rfftn as rfftn

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_guard_all(globals())
_has_grown(globals())
