"""Families of operators that are imported when they are first used.

Owns: the table of what each of them provides, functions and Tensor methods alike (a name with `()`
is a function and no method); a test holds it and the families equal.  A method of a family that is
not loaded yet is a stub on Tensor which loads the family and calls the real one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from taper.opdef import methods
from taper.tensor import Tensor

PROVIDES: dict[str, str] = {
    "adaptive_pool": """
        adaptive_avg_pool1d() adaptive_max_pool1d()
    """,
    "addmm": """
        addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_
    """,
    "average_pool": """
        avg_pool1d()
    """,
    "batch_norm": """
        batch_norm() instance_norm()
    """,
    "binary_cross_entropy": """
        binary_cross_entropy_with_logits()
    """,
    "binomial": """
        binomial()
    """,
    "bins": """
        histogram histogramdd()
    """,
    "blend": """
        addcdiv addcdiv_ addcmul addcmul_ copysign copysign_ heaviside heaviside_ lerp lerp_ where
    """,
    "clamping": """
        clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ fmax fmin maximum
        minimum
    """,
    "conv": """
        conv1d() conv2d() conv3d() conv_transpose1d() conv_transpose2d() conv_transpose3d()
    """,
    "conv_tbc": """
        conv_tbc()
    """,
    "convolution": """
        convolution()
    """,
    "coordinates": """
        nonzero_static unravel_index()
    """,
    "ctc_loss": """
        ctc_loss()
    """,
    "distributions": """
        bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal()
        normal_ poisson() random_ uniform_
    """,
    "dropout": """
        alpha_dropout() alpha_dropout_() dropout() dropout_() feature_alpha_dropout()
        feature_alpha_dropout_() feature_dropout() feature_dropout_()
    """,
    "einsum": """
        chain_matmul() einsum() inner tensordot()
    """,
    "embedding": """
        embedding() embedding_renorm_()
    """,
    "embedding_bag": """
        embedding_bag()
    """,
    "extrema": """
        amax amin aminmax argmax argmin max min
    """,
    "find": """
        argwhere nonzero
    """,
    "flip": """
        flip fliplr flipud roll rot90
    """,
    "floats": """
        frexp nextafter nextafter_
    """,
    "gamma_samples": """
        _dirichlet_grad() _sample_dirichlet() _standard_gamma() _standard_gamma_grad()
    """,
    "gather": """
        gather scatter scatter_ scatter_add scatter_add_ take_along_dim
    """,
    "gradient": """
        gradient()
    """,
    "grid": """
        affine_grid_generator() grid_sampler() grid_sampler_2d() grid_sampler_3d()
    """,
    "hashing": """
        hash_tensor
    """,
    "histogram": """
        bincount bucketize() histc searchsorted()
    """,
    "index_dim": """
        index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_select put put_
        take
    """,
    "inplace_names": """
        abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_
        atan_ atanh_ ceil ceil_ celu_() clamp_ clamp_max_ clamp_min_ clip_ conj_physical_
        cos_ cosh_ deg2rad_ detach_() digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_
        exp2_ exp_ expm1_ fix fix_ floor floor_ frac frac_ gcd_ lcm_ ldexp_ lgamma lgamma_
        log10_ log1p_ log2_ log_ logit_ nan_to_num nan_to_num_ neg_ negative_ polygamma
        polygamma_ rad2deg_ reciprocal_ relu_ round round_ rrelu_() rsqrt_ selu_() sigmoid_
        sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_() trunc trunc_ xlogy_
    """,
    "join": """
        block_diag() cartesian_prod() combinations() cross kron meshgrid() repeat
        repeat_interleave tile
    """,
    "layout": """
        const_data_ptr dim_order index is_distributed is_set_to module_load storage_type
    """,
    "leaky_activation": """
        prelu rrelu()
    """,
    "linalg_cholesky": """
        cholesky cholesky_inverse cholesky_solve
    """,
    "linalg_det": """
        det logdet slogdet
    """,
    "linalg_distance": """
        cdist()
    """,
    "linalg_lowrank": """
        lobpcg() pca_lowrank() svd_lowrank()
    """,
    "linalg_lu": """
        lu lu_solve lu_unpack()
    """,
    "linalg_norms": """
        frobenius_norm() nuclear_norm() renorm renorm_
    """,
    "linalg_products": """
        matrix_exp matrix_power
    """,
    "linalg_qr": """
        geqrf orgqr ormqr qr
    """,
    "linalg_solve": """
        inverse
    """,
    "linalg_statistics": """
        corrcoef cov cumulative_trapezoid() trapezoid() trapz()
    """,
    "linalg_svd": """
        pinverse svd
    """,
    "linalg_triangular": """
        triangular_solve
    """,
    "linear": """
        bilinear()
    """,
    "loss": """
        kl_div() poisson_nll_loss()
    """,
    "mapped": """
        from_file()
    """,
    "margin_loss": """
        cosine_embedding_loss() cosine_similarity() hinge_embedding_loss()
        margin_ranking_loss() pairwise_distance() triplet_margin_loss()
    """,
    "masked": """
        masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select
    """,
    "moments": """
        std std_mean() var var_mean()
    """,
    "native": """
        native_batch_norm() native_channel_shuffle() native_dropout() native_group_norm()
        native_layer_norm() native_norm()
    """,
    "norm": """
        group_norm() layer_norm() rms_norm()
    """,
    "order": """
        argsort kthvalue median mode msort nanmedian sort topk
    """,
    "padding": """
        constant_pad_nd()
    """,
    "pairwise": """
        pdist()
    """,
    "pixels": """
        channel_shuffle() pixel_shuffle() pixel_unshuffle()
    """,
    "pool": """
        max_pool1d() max_pool1d_with_indices() max_pool2d() max_pool3d()
    """,
    "quantile": """
        nanquantile quantile
    """,
    "random": """
        rand() rand_like() randint() randint_like() randn() randn_like() randperm()
    """,
    "recurrent": """
        gru() lstm() rnn_relu() rnn_tanh()
    """,
    "recurrent_cells": """
        gru_cell() lstm_cell() rnn_relu_cell() rnn_tanh_cell()
    """,
    "resize": """
        resize_ resize_as_ set_
    """,
    "scatter_reduce": """
        index_reduce index_reduce_ scatter_reduce scatter_reduce_
    """,
    "segments": """
        segment_reduce()
    """,
    "smooth_activation": """
        celu() selu()
    """,
    "softmax": """
        log_softmax softmax
    """,
    "special_bessel": """
        i0 i0_
    """,
    "special_gamma": """
        igamma igamma_ igammac igammac_ mvlgamma mvlgamma_
    """,
    "spectral": """
        istft stft
    """,
    "strided": """
        as_strided as_strided_ slice_inverse squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    "triangle": """
        diag diag_embed diagflat diagonal_copy() trace tril tril_ tril_indices() triu triu_
        triu_indices()
    """,
    "trigonometry": """
        acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_
        arctan arctan2 arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 atan2_
        atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ hypot hypot_ rad2deg rad2deg_ sin
        sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_
    """,
    "unique": """
        unique unique_consecutive
    """,
    "vector_norm": """
        dist norm
    """,
    "view_copies": """
        alias_copy() as_strided_copy() detach_copy() expand_copy() narrow_copy
        permute_copy() select_copy() slice_copy() split_copy() split_with_sizes_copy()
        squeeze_copy() t_copy() transpose_copy() unbind_copy() unfold_copy()
        unsqueeze_copy() view_as_complex_copy() view_as_real_copy() view_copy()
    """,
    "view_scatter": """
        as_strided_scatter diagonal_scatter fill_diagonal_ select_scatter slice_scatter
    """,
    "weight_norm": """
        _weight_norm() _weight_norm_interface() norm_except_dim()
    """,
    "windows": """
        bartlett_window() blackman_window() hamming_window() hann_window() kaiser_window()
    """,
}

# Families without public names of their own: `nn.functional` imports them.
FOR_FUNCTIONAL_ONLY = """
    attention categories class_margin_loss cross_entropy fold fractional_pool functional_activation
    grouped_mm interpolate multi_head_attention packing scalar unpool
"""

# The same for `linalg`.
FOR_LINALG_ONLY = "linalg_lstsq"

# And for `fft`.
FOR_FFT_ONLY = "fft_frequencies fft_functions fft_transforms"

_GIVEN = {name: family for family, names in PROVIDES.items() for name in names.split()}

# And for `special`.
FOR_SPECIAL_ONLY = "special_normal special_polynomials"

FAMILY_OF = {name.removesuffix("()"): family for name, family in _GIVEN.items()}

_IN_PLACE = frozenset(PROVIDES["inplace_names"].replace("()", "").split())


def install(provided: Mapping[str, Callable[..., Any]]) -> None:
    """Put methods on Tensor: the given ones, and stubs for those of families not loaded."""
    for name, method in provided.items():
        setattr(Tensor, name, method)
    for name in _GIVEN:
        if not name.endswith("()") and name not in provided and not hasattr(Tensor, name):
            setattr(Tensor, name, _stub(name))


def load(name: str) -> None:
    """Load the family that provides `name`."""
    load_family(FAMILY_OF[name])


def load_function(name: str) -> None:
    """Load the family that provides `name` as a function: an in-place method has two."""
    load_family("inplace_names" if name in _IN_PLACE else FAMILY_OF[name])


def load_family(family: str) -> Any:
    """Import a family and put its methods in the place of the stubs; returns the module."""
    module = importlib.import_module(f"taper.ops.{family}")
    for method, function in methods.items():
        if Tensor.__dict__.get(method) is not function:
            setattr(Tensor, method, function)
    return module


def load_all() -> None:
    """Import every family; for those who want the whole table."""
    lists = (FOR_FUNCTIONAL_ONLY, FOR_LINALG_ONLY, FOR_FFT_ONLY, FOR_SPECIAL_ONLY)
    others = [family for names in lists for family in names.split()]
    for family in (*PROVIDES, *others):
        load_family(family)


def _stub(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        load(name)
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method
