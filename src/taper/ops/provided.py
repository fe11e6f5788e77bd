"""Which names each family of operators provides that is imported when it is first used.

Written by tools/operator_names.py (`make docs`).  `name` is a function and a Tensor method,
`name()` a function only, `.name` a method only.
"""

PROVIDES: dict[str, str] = {
    "adaptive_pool": """
        adaptive_avg_pool1d() adaptive_max_pool1d()
    """,
    "addmm": """
        addbmm .addbmm_ addmm .addmm_ addmv addmv_ addr .addr_ baddbmm .baddbmm_
    """,
    "attention": "",
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
        addcdiv .addcdiv_ addcmul .addcmul_ copysign .copysign_ heaviside .heaviside_ lerp .lerp_
        where
    """,
    "border_padding": "",
    "categories": "",
    "clamping": """
        clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ fmax fmin maximum minimum
    """,
    "class_margin_loss": "",
    "conv": """
        conv1d() conv2d() conv3d() conv_transpose1d() conv_transpose2d() conv_transpose3d()
    """,
    "conv_checks": "",
    "conv_kernels": "",
    "conv_tbc": """
        conv_tbc()
    """,
    "convolution": """
        convolution()
    """,
    "coordinates": """
        nonzero_static unravel_index()
    """,
    "cross_entropy": "",
    "ctc_loss": """
        ctc_loss()
    """,
    "distributions": """
        bernoulli .bernoulli_ .cauchy_ .exponential_ .geometric_ .log_normal_ multinomial normal()
        .normal_ poisson() .random_ .uniform_
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
    "fft_frequencies": "",
    "fft_functions": "",
    "fft_transforms": "",
    "find": """
        argwhere nonzero
    """,
    "flip": """
        flip fliplr flipud roll rot90
    """,
    "floats": """
        frexp nextafter .nextafter_
    """,
    "fold": "",
    "fractional_pool": "",
    "functional_activation": "",
    "gamma_gradient_arrays": "",
    "gamma_samples": """
        _dirichlet_grad() _sample_dirichlet() _standard_gamma() _standard_gamma_grad()
    """,
    "gather": """
        gather scatter .scatter_ scatter_add .scatter_add_ take_along_dim
    """,
    "gradient": """
        gradient()
    """,
    "grid": """
        affine_grid_generator() grid_sampler() grid_sampler_2d() grid_sampler_3d()
    """,
    "grid_kernels": "",
    "grid_second": "",
    "grouped_mm": "",
    "hashing": """
        hash_tensor
    """,
    "histogram": """
        bincount bucketize() histc searchsorted()
    """,
    "index_dim": """
        index_add .index_add_ index_copy .index_copy_ index_fill .index_fill_ index_select put .put_
        take
    """,
    "interpolate": "",
    "interpolation": "",
    "join": """
        block_diag() cartesian_prod() combinations() cross kron meshgrid() .repeat repeat_interleave
        tile
    """,
    "layout": """
        .const_data_ptr .dim_order .index is_distributed .is_set_to .module_load .storage_type
    """,
    "leaky_activation": """
        prelu rrelu() rrelu_()
    """,
    "linalg_arrays": "",
    "linalg_checks": "",
    "linalg_cholesky": """
        cholesky cholesky_inverse cholesky_solve
    """,
    "linalg_det": """
        det logdet slogdet
    """,
    "linalg_distance": """
        cdist()
    """,
    "linalg_eigen": "",
    "linalg_ldl_arrays": "",
    "linalg_lowrank": """
        lobpcg() pca_lowrank() svd_lowrank()
    """,
    "linalg_lstsq": "",
    "linalg_lu": """
        lu lu_solve lu_unpack()
    """,
    "linalg_matrices": "",
    "linalg_norms": """
        frobenius_norm() nuclear_norm() renorm .renorm_
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
        cosine_embedding_loss() cosine_similarity() hinge_embedding_loss() margin_ranking_loss()
        pairwise_distance() triplet_margin_loss()
    """,
    "masked": """
        masked_fill .masked_fill_ masked_scatter .masked_scatter_ masked_select
    """,
    "moments": """
        std std_mean() var var_mean()
    """,
    "multi_head_attention": "",
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
    "packing": "",
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
    "pool_checks": "",
    "pool_kernels": "",
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
    "recurrent_kernels": "",
    "resampling": "",
    "resize": """
        .resize_ resize_as_ .set_
    """,
    "rounding": """
        ceil ceil_ fix fix_ floor floor_ frac frac_ nan_to_num nan_to_num_ round round_ trunc trunc_
    """,
    "scatter_reduce": """
        index_reduce .index_reduce_ scatter_reduce .scatter_reduce_
    """,
    "segments": """
        segment_reduce()
    """,
    "smooth_activation": """
        celu() celu_() selu() selu_()
    """,
    "softmax": """
        log_softmax softmax
    """,
    "special": """
        digamma .digamma_ erf erf_ erfc erfc_ erfinv .erfinv_ lgamma .lgamma_ polygamma .polygamma_
    """,
    "special_airy_arrays": "",
    "special_bessel": """
        i0 i0_
    """,
    "special_bessel_arrays": "",
    "special_chebyshev": "",
    "special_gamma": """
        igamma .igamma_ igammac .igammac_ mvlgamma .mvlgamma_
    """,
    "special_gamma_arrays": "",
    "special_normal": "",
    "special_normal_arrays": "",
    "special_numbers": "",
    "special_polynomials": "",
    "spectral": """
        istft stft
    """,
    "strided": """
        as_strided as_strided_ slice_inverse .squeeze_ .swapaxes_ .swapdims_ .t_ .transpose_
        .unsqueeze_
    """,
    "triangle": """
        diag diag_embed diagflat diagonal_copy() trace tril .tril_ tril_indices() triu .triu_
        triu_indices()
    """,
    "trigonometry": """
        acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_
        arctan arctan2 .arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 .atan2_
        atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ hypot .hypot_ rad2deg rad2deg_ sin
        sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_
    """,
    "unique": """
        unique unique_consecutive
    """,
    "unpool": "",
    "upsample": "",
    "upsample_smooth": "",
    "vector_norm": """
        dist norm
    """,
    "view_copies": """
        alias_copy() as_strided_copy() detach_copy() expand_copy() narrow_copy permute_copy()
        select_copy() slice_copy() split_copy() split_with_sizes_copy() squeeze_copy() t_copy()
        transpose_copy() unbind_copy() unfold_copy() unsqueeze_copy() view_as_complex_copy()
        view_as_real_copy() view_copy()
    """,
    "view_scatter": """
        as_strided_scatter diagonal_scatter .fill_diagonal_ select_scatter slice_scatter
    """,
    "weight_norm": """
        _weight_norm() _weight_norm_interface() norm_except_dim()
    """,
    "windows": """
        bartlett_window() blackman_window() hamming_window() hann_window() kaiser_window()
    """,
}
