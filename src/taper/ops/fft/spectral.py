"""Fourier transforms of the overlapping pieces of a signal: stft and its inverse, istft.

Owns: the pieces, their windows and the checks; the transforms are in `transforms`. Both functions
call operators in PyTorch's order, so that the graphs agree.
"""

from __future__ import annotations

from typing import Any, NoReturn

from taper import dtypes
from taper.arrays.foreign import refuse_without_elements
from taper.factory import integer, refuse
from taper.opdef import composite
from taper.opdef.operands import invalid_combination
from taper.ops.elementwise.complexes import view_as_complex, view_as_real
from taper.ops.fft.transforms import fft_c2c, fft_c2r, fft_r2c
from taper.ops.image.padding import constant_pad_nd, pad
from taper.ops.shape.ones import squeeze_dim, transpose, unsqueeze
from taper.ops.shape.parts import narrow, slice_dim, unfold_backward
from taper.ops.shape.reshape import view_as_shape
from taper.ops.shape.strided import strided_view
from taper.tensor import Tensor, element_strides
from taper.userwarning import warn_once

_RECTANGLE = (
    "To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
_SIGNATURES = (
    "(Tensor input, int n_fft, int hop_length = None, int win_length = None, Tensor window = None, "
    'bool center = True, str pad_mode = "reflect", bool normalized = False, bool onesided = None, '
    "bool return_complex = None, bool align_to_window = None)",
    "(Tensor input, int n_fft, int hop_length = None, int win_length = None, Tensor window = None, "
    "bool normalized = False, bool onesided = None, bool return_complex = None, "
    "bool align_to_window = None)",
)


# --- words for errors ------------------------------------------------------------------------


def _kind(tensor: Tensor) -> str:
    """Return PyTorch's name of a type of tensors, as its C++ code prints it."""
    return dtypes.backend_type_name(tensor.dtype)


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _call(function: str, input: Tensor, window: Tensor | None, **arguments: Any) -> str:
    """Spell out the call, for the texts of errors."""
    parts = []
    for name, value in arguments.items():
        parts.append(f"{name}={_word(value)}")
        if name == "win_length":
            shown = "None"
            if window is not None:
                shown = f"{_kind(window)}{{{list(window.shape)}}}"
            parts.append(f"window={shown}")
    return f"{function}({_kind(input)}{list(input.shape)}, {', '.join(parts)})"


# --- stft ------------------------------------------------------------------------------------


def _check_stft_types(input: Any, *numbers_and_flags: Any) -> None:
    n_fft, hop_length, win_length, window, *flags = numbers_and_flags
    lengths = [n_fft, *[each for each in (hop_length, win_length) if each is not None]]
    good = all(isinstance(each, int) and not isinstance(each, bool) for each in lengths)
    good = good and (window is None or isinstance(window, Tensor))
    good = good and isinstance(flags[0], bool)
    good = good and all(each is None or isinstance(each, bool) for each in flags[1:])
    if not good:
        raise invalid_combination("stft", (input, *numbers_and_flags), _SIGNATURES)


def _check_return(input: Tensor, window: Tensor | None, return_complex: Any) -> bool:
    """Tell whether the result is complex, with PyTorch's warning about real inputs."""
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to "
            "cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage." + _RECTANGLE
        )
    is_complex = _any_complex(input, window)
    if return_complex or (return_complex is None and is_complex):
        return True
    if return_complex is None:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will "
            "further require that return_complex=True in a future PyTorch release."
        )
    warn_once(
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
        "return complex tensors for all inputs, and return_complex=False will raise an error.\n"
        "Note: you can still call torch.view_as_real on the complex output to recover the old "
        "return format."
    )
    return False


def _any_complex(input: Tensor, window: Tensor | None) -> bool:
    return input.dtype.is_complex or (window is not None and window.dtype.is_complex)


def _refuse_stft(
    call: str, input: Tensor, n_fft: int, hop: int, win_length: int, window: Tensor | None
) -> None:
    """Raise for what cannot be cut into pieces."""
    text = ""
    length = input.shape[-1] if input.dim() else 0
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        text = "expected a tensor of floating point or complex values"
    elif not 1 <= input.dim() <= 2:
        text = "expected a 1D or 2D tensor"
    elif not 0 < n_fft <= length:
        text = f"expected 0 < n_fft < {length}, but got n_fft={n_fft}"
    elif hop <= 0:
        text = f"expected hop_length > 0, but got hop_length={hop}"
    elif not 0 < win_length <= n_fft:
        text = f"expected 0 < win_length <= n_fft, but got win_length={win_length}"
    elif window is not None and tuple(window.shape) != (win_length,):
        text = (
            f"expected a 1D window tensor of size equal to win_length={win_length}, but got "
            f"window with size {list(window.shape)}"
        )
    if text:
        raise RuntimeError(f"{call} : {text}")


def _centred(input: Tensor, n_fft: Any, pad_mode: Any) -> Tensor:
    """Add a border of half a piece on both sides of the signal."""
    ndim = input.dim()
    shape = tuple(input.shape)
    width = int(n_fft // 2)
    if not isinstance(pad_mode, str):
        refuse("pad", "mode", 3, "str", pad_mode)
    bordered = pad(view_as_shape(input, (1,) * (3 - ndim) + shape), (width, width), pad_mode)
    return view_as_shape(bordered, tuple(bordered.shape)[bordered.dim() - ndim :])


def _widened(window: Tensor | None, input: Tensor, win_length: int, n_fft: int) -> Tensor | None:
    """Pad the window with zeros on both sides to the length of a piece."""
    if win_length == n_fft:
        return window
    like = input if window is None else window
    wide = like.new_zeros(n_fft)
    middle = narrow(wide, 0, (n_fft - win_length) // 2, win_length)
    if window is None:
        middle.fill_(1)
    else:
        middle.copy_(window)
    return wide


@composite()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Transform overlapping pieces of a signal: frequencies by pieces.

    A piece of `n_fft` points begins every `hop_length` (a quarter of it) points and is multiplied
    by `window`. With `center` the signal gets a border, so that piece k has its middle at point k *
    hop_length; without it, `align_to_window` lets the first window, not the first piece, begin
    where the signal does.

    >>> import taper
    >>> taper.stft(taper.ones(8), 4, window=taper.ones(4), return_complex=True).abs()
    tensor([[4., 4., 4., 4., 4., 4., 4., 4., 4.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.]])
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        input = _centred(input, n_fft, pad_mode)
    flags = (normalized, onesided, return_complex, align_to_window)
    return uncentred_stft(input, n_fft, hop_length, win_length, window, *flags)


def uncentred_stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """Compute `stft` of a signal that has its border already."""
    given = (input, n_fft, hop_length, win_length, window)
    _check_stft_types(*given, normalized, onesided, return_complex, align_to_window)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    as_complex = _check_return(input, window, return_complex)
    call = _call(
        *("stft", input, window),
        n_fft=n_fft,
        hop_length=hop,
        win_length=length,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    _refuse_stft(call, input, n_fft, hop, length, window)
    single = input.dim() == 1
    rows = unsqueeze(input, 0) if single else input
    count = 1 + (rows.shape[1] - (length if align_to_window else n_fft)) // hop
    if align_to_window:  # as in PyTorch: with an odd difference the last piece may be cut off
        rows = constant_pad_nd(rows, ((n_fft - length) // 2,) * 2)
    across, along = element_strides(rows._array)
    strides = (across, hop * along, along)
    pieces = strided_view(rows, (rows.shape[0], count, n_fft), strides)
    found = _transformed(pieces, window, length, normalized, onesided)
    found = found.transpose_(1, 2)
    if single:
        found = found.squeeze_(0)
    return found if as_complex else view_as_real(found)


def _transformed(
    pieces: Tensor, window: Tensor | None, win_length: int, normalized: bool, onesided: bool | None
) -> Tensor:
    n_fft = pieces.shape[2]
    wide = _widened(window, pieces, win_length, n_fft)
    if wide is not None:
        pieces = pieces * wide
    kind = pieces.dtype
    if kind in (dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {kind.scalar_type}")
    if kind.is_complex:
        if onesided:
            _refuse_half()
        return fft_c2c(pieces, (2,), int(normalized), True)
    return fft_r2c(pieces, (2,), int(normalized), onesided is not False)


def _refuse_half() -> NoReturn:
    raise RuntimeError("Cannot have onesided output if window or input is complex")


# --- istft -----------------------------------------------------------------------------------


def _check_istft_types(input: Any, n_fft: Any, window: Any, **others: Any) -> None:
    if not isinstance(input, Tensor):
        refuse("istft", "input", 1, "Tensor", input)
    integer("istft", "n_fft", 2, n_fft)
    for name in ("hop_length", "win_length", "length"):
        if others[name] is not None:
            integer("istft", name, 0, others[name])
    if window is not None and not isinstance(window, Tensor):
        refuse("istft", "window", 0, "Tensor", window)
    for name in ("center", "normalized", "onesided", "return_complex"):
        if not isinstance(others[name], bool) and (name != "onesided" or others[name] is not None):
            refuse("istft", name, 0, "bool", others[name])


def _refuse_istft(
    call: str, input: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None, half: bool
) -> None:
    """Raise for what is not the transform of a signal."""
    text = ""
    frequencies = input.shape[-2]
    if not input._array.size:
        text = "input tensor cannot be empty."
    elif input.dim() > 3:
        text = f"expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}"
    elif half and n_fft // 2 + 1 != frequencies:
        text = (
            "expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft / 2 + 1 when onesided=True, but got {frequencies}"
        )
    elif not half and n_fft != frequencies:
        text = (
            "expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft when onesided=False, but got {frequencies}"
        )
    elif not 0 < hop <= length:
        text = "expected 0 < hop_length <= win_length"
    elif not 0 < length <= n_fft:
        text = "expected 0 < win_length <= n_fft"
    elif window is not None and tuple(window.shape) != (length,):
        text = "Invalid window shape. window has to be 1D and length of `win_length`"
    if text:
        raise RuntimeError(f"{call} : {text}")


@composite(arrays=True)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Find the signal whose `stft` this is, or comes closest to it by least squares.

    >>> import taper
    >>> signal, window = taper.arange(8.0), taper.ones(4)
    >>> taper.istft(taper.stft(signal, 4, window=window, return_complex=True), 4, window=window)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    others = dict(hop_length=hop_length, win_length=win_length, center=center)
    others |= dict(normalized=normalized, onesided=onesided, length=length)
    _check_istft_types(input, n_fft, window, **others, return_complex=return_complex)
    hop = n_fft // 4 if hop_length is None else hop_length
    window_length = n_fft if win_length is None else win_length
    _check_complex(input, window, return_complex)
    if input.dim() < 2:
        first = -input.dim() - 1
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{first}, {-first - 1}], "
            f"but got {-3 if input.dim() else -2})"
        )
    call = _call(
        *("istft", input, window),
        n_fft=n_fft,
        hop_length=hop,
        win_length=window_length,
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
        return_complex=return_complex,
    )
    half = onesided if onesided is not None else input.shape[-2] != n_fft
    _refuse_istft(call, input, n_fft, hop, window_length, window, half)
    single = input.dim() == 2
    parts = view_as_real(input)
    parts = transpose(unsqueeze(parts, 0) if single else parts, 1, 2)
    frames = view_as_complex(parts)
    pieces = _pieces_of(frames, n_fft, normalized, half, return_complex)
    wide = _synthesis_window(window, input, window_length, n_fft)
    result = _overlapped(call, pieces, wide, hop, center, length)
    result = squeeze_dim(result, 0) if single else result
    return _lengthened(result, length)


def _check_complex(input: Tensor, window: Tensor | None, return_complex: bool) -> None:
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the "
            "same window used by stft to make the inversion lossless." + _RECTANGLE
        )
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if window is not None and window.dtype.is_complex and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")


def _synthesis_window(window: Tensor | None, input: Tensor, win_length: int, n_fft: int) -> Tensor:
    if window is None:
        window = input.new_ones(win_length, dtype=input.dtype.to_real())
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    return constant_pad_nd(window, (left, n_fft - win_length - left))


def _pieces_of(
    frames: Tensor, n_fft: int, normalized: bool, half: bool, return_complex: bool
) -> Tensor:
    """Compute the pieces of the signal whose transforms the rows are."""
    normalization = 1 if normalized else 2
    if return_complex:
        if half:
            _refuse_half()
        return fft_c2c(frames, (2,), normalization, False)
    if not half:
        frames = slice_dim(frames, -1, 0, n_fft // 2 + 1)
    return fft_c2r(frames, (2,), normalization, n_fft)


def _overlapped(
    call: str, pieces: Tensor, window: Tensor, hop: int, center: bool, length: int | None
) -> Tensor:
    """Sum the pieces, each times the window, and divide by the sum of squared windows."""
    count, n_fft = pieces.shape[1:]
    total = n_fft + hop * (count - 1)
    weighted = pieces * view_as_shape(window, (1, 1, n_fft))
    sizes = (pieces.shape[0], total)
    signal = unfold_backward(weighted, sizes, 1, n_fft, hop)
    squares = (window**2).expand((1, count, n_fft))
    weight = unfold_backward(squares, (1, total), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = -(n_fft // 2) if center else total
    signal, weight = slice_dim(signal, 1, start, end), slice_dim(weight, 1, start, end)
    refuse_without_elements(weight._array, "equal")
    if float(weight.detach().abs().min()) <= 1e-11:
        raise RuntimeError(f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]")
    return signal / weight


def _lengthened(signal: Tensor, length: int | None) -> Tensor:
    if length is None or signal.shape[-1] >= length:
        return signal
    warn_once(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings."
    )
    return constant_pad_nd(signal, (0, length - signal.shape[-1]))
