"""Which names each family of operators provides that is imported when it is first used.

Written by tools/operator_names.py (`make docs`).  `name` is a function and a Tensor method,
`name()` a function only, `.name` a method only.
"""

PROVIDES: dict[str, str] = {
    "activation.functional": "",
    "activation.leaky": """
        prelu rrelu() rrelu_()
    """,
    "activation.smooth": """
        celu() celu_() selu() selu_()
    """,
    "activation.softmax": """
        log_softmax softmax
    """,
    "attention.multi_head": "",
    "attention.scaled": "",
    "conv.checks": "",
    "conv.convolution": """
        convolution()
    """,
    "conv.fold": "",
    "conv.functions": """
        conv1d() conv2d() conv3d() conv_transpose1d() conv_transpose2d() conv_transpose3d()
    """,
    "conv.tbc": """
        conv_tbc()
    """,
    "creation.mapped": """
        from_file()
    """,
    "creation.windows": """
        bartlett_window() blackman_window() hamming_window() hann_window() kaiser_window()
    """,
    "dispatching": "",
    "elementwise.blend": """
        addcdiv .addcdiv_ addcmul .addcmul_ copysign .copysign_ heaviside .heaviside_ lerp .lerp_
        where
    """,
    "elementwise.clamping": """
        clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ fmax fmin maximum minimum
    """,
    "elementwise.floats": """
        frexp nextafter .nextafter_
    """,
    "elementwise.rounding": """
        ceil ceil_ fix fix_ floor floor_ frac frac_ nan_to_num nan_to_num_ round round_ trunc trunc_
    """,
    "elementwise.trigonometry": """
        acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_
        arctan arctan2 .arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 .atan2_
        atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ hypot .hypot_ rad2deg rad2deg_ sin
        sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_
    """,
    "fft.frequencies": "",
    "fft.functions": "",
    "fft.spectral": """
        istft stft
    """,
    "fft.transforms": "",
    "image.border_padding": "",
    "image.grid": """
        affine_grid_generator() grid_sampler() grid_sampler_2d() grid_sampler_3d()
    """,
    "image.grid_second": "",
    "image.interpolate": "",
    "image.nearest": "",
    "image.padding": """
        constant_pad_nd()
    """,
    "image.pixels": """
        channel_shuffle() pixel_shuffle() pixel_unshuffle()
    """,
    "image.smooth": "",
    "index.categories": "",
    "index.coordinates": """
        nonzero_static unravel_index()
    """,
    "index.embedding": """
        embedding() embedding_renorm_()
    """,
    "index.embedding_bag": """
        embedding_bag()
    """,
    "index.find": """
        argwhere nonzero
    """,
    "index.gather": """
        gather scatter .scatter_ scatter_add .scatter_add_ take_along_dim
    """,
    "index.masked": """
        masked_fill .masked_fill_ masked_scatter .masked_scatter_ masked_select
    """,
    "index.scatter_reduce": """
        index_reduce .index_reduce_ scatter_reduce .scatter_reduce_
    """,
    "index.slices": """
        index_add .index_add_ index_copy .index_copy_ index_fill .index_fill_ index_select put .put_
        take
    """,
    "linalg.addmm": """
        addbmm .addbmm_ addmm .addmm_ addmv addmv_ addr .addr_ baddbmm .baddbmm_
    """,
    "linalg.checks": "",
    "linalg.cholesky": """
        cholesky cholesky_inverse cholesky_solve
    """,
    "linalg.det": """
        det logdet slogdet
    """,
    "linalg.distance": """
        cdist()
    """,
    "linalg.eigen": "",
    "linalg.einsum": """
        chain_matmul() einsum() inner tensordot()
    """,
    "linalg.grouped_mm": "",
    "linalg.linear": """
        bilinear()
    """,
    "linalg.lowrank": """
        lobpcg() pca_lowrank() svd_lowrank()
    """,
    "linalg.lstsq": "",
    "linalg.lu": """
        lu lu_solve lu_unpack()
    """,
    "linalg.matrices": "",
    "linalg.norms": """
        frobenius_norm() nuclear_norm() renorm .renorm_
    """,
    "linalg.pairwise": """
        pdist()
    """,
    "linalg.products": """
        matrix_exp matrix_power
    """,
    "linalg.qr": """
        geqrf orgqr ormqr qr
    """,
    "linalg.solve": """
        inverse
    """,
    "linalg.statistics": """
        corrcoef cov cumulative_trapezoid() trapezoid() trapz()
    """,
    "linalg.svd": """
        pinverse svd
    """,
    "linalg.triangular": """
        triangular_solve
    """,
    "loss.binary_cross_entropy": """
        binary_cross_entropy_with_logits()
    """,
    "loss.class_margin": "",
    "loss.cross_entropy": "",
    "loss.ctc": """
        ctc_loss()
    """,
    "loss.elementwise": """
        kl_div() poisson_nll_loss()
    """,
    "loss.margin": """
        cosine_embedding_loss() cosine_similarity() hinge_embedding_loss() margin_ranking_loss()
        pairwise_distance() triplet_margin_loss()
    """,
    "norm.batch": """
        batch_norm() instance_norm()
    """,
    "norm.channels": "",
    "norm.kernel_names": """
        native_batch_norm() native_channel_shuffle() native_dropout() native_group_norm()
        native_layer_norm() native_norm()
    """,
    "norm.sample": """
        group_norm() layer_norm() rms_norm()
    """,
    "norm.weight": """
        _weight_norm() _weight_norm_interface() norm_except_dim()
    """,
    "pool.adaptive": """
        adaptive_avg_pool1d() adaptive_max_pool1d()
    """,
    "pool.average": """
        avg_pool1d()
    """,
    "pool.checks": "",
    "pool.fractional": "",
    "pool.max": """
        max_pool1d() max_pool1d_with_indices() max_pool2d() max_pool3d()
    """,
    "pool.unpool": "",
    "random.binomial": """
        binomial()
    """,
    "random.distributions": """
        bernoulli .bernoulli_ .cauchy_ .exponential_ .geometric_ .log_normal_ multinomial normal()
        .normal_ poisson() .random_ .uniform_
    """,
    "random.draws": """
        rand() rand_like() randint() randint_like() randn() randn_like() randperm()
    """,
    "random.dropout": """
        alpha_dropout() alpha_dropout_() dropout() dropout_() feature_alpha_dropout()
        feature_alpha_dropout_() feature_dropout() feature_dropout_()
    """,
    "random.gamma_samples": """
        _dirichlet_grad() _sample_dirichlet() _standard_gamma() _standard_gamma_grad()
    """,
    "recurrent.cells": """
        gru_cell() lstm_cell() rnn_relu_cell() rnn_tanh_cell()
    """,
    "recurrent.halves": "",
    "recurrent.layers": """
        gru() lstm() rnn_relu() rnn_tanh()
    """,
    "recurrent.packing": "",
    "reduction.bins": """
        histogram histogramdd()
    """,
    "reduction.extrema": """
        amax amin aminmax argmax argmin max min
    """,
    "reduction.gradient": """
        gradient()
    """,
    "reduction.hashing": """
        hash_tensor
    """,
    "reduction.histogram": """
        bincount bucketize() histc searchsorted()
    """,
    "reduction.moments": """
        std std_mean() var var_mean()
    """,
    "reduction.order": """
        argsort kthvalue median mode msort nanmedian sort topk
    """,
    "reduction.quantile": """
        nanquantile quantile
    """,
    "reduction.segments": """
        segment_reduce()
    """,
    "reduction.unique": """
        unique unique_consecutive
    """,
    "reduction.vector_norm": """
        dist norm
    """,
    "schemas": "",
    "shape.flip": """
        flip fliplr flipud roll rot90
    """,
    "shape.join": """
        block_diag() cartesian_prod() combinations() cross kron meshgrid() .repeat repeat_interleave
        tile
    """,
    "shape.layout": """
        .const_data_ptr .dim_order .index is_distributed .is_set_to .module_load .storage_type
    """,
    "shape.resize": """
        .resize_ resize_as_ .set_
    """,
    "shape.strided": """
        as_strided as_strided_ slice_inverse .squeeze_ .swapaxes_ .swapdims_ .t_ .transpose_
        .unsqueeze_
    """,
    "shape.triangle": """
        diag diag_embed diagflat diagonal_copy() trace tril .tril_ tril_indices() triu .triu_
        triu_indices()
    """,
    "shape.view_copies": """
        alias_copy() as_strided_copy() detach_copy() expand_copy() narrow_copy permute_copy()
        select_copy() slice_copy() split_copy() split_with_sizes_copy() squeeze_copy() t_copy()
        transpose_copy() unbind_copy() unfold_copy() unsqueeze_copy() view_as_complex_copy()
        view_as_real_copy() view_copy()
    """,
    "shape.view_scatter": """
        as_strided_scatter diagonal_scatter .fill_diagonal_ select_scatter slice_scatter
    """,
    "shown_calls": "",
    "signatures": "",
    "sparse.arrays": "",
    "sparse.checking": "",
    "sparse.converting": """
        ._coalesced_ ._dimI ._dimV ._indices ._nnz ._values .ccol_indices .coalesce .col_indices
        .crow_indices .dense_dim .indices .is_coalesced .row_indices .sparse_dim .sparse_mask
        .sparse_resize_ .sparse_resize_and_clear_ .to_dense .to_sparse .to_sparse_bsc .to_sparse_bsr
        .to_sparse_coo .to_sparse_csc .to_sparse_csr .values
    """,
    "sparse.elementwise": "",
    "sparse.functions": """
        dsmm() hsmm() hspmm() smm spmm() sspaddmm
    """,
    "sparse.gradients": "",
    "sparse.invariants": "",
    "sparse.loading": "",
    "sparse.making": """
        sparse_bsc_tensor() sparse_bsr_tensor() sparse_compressed_tensor() sparse_coo_tensor()
        sparse_csc_tensor() sparse_csr_tensor()
    """,
    "sparse.nodes": "",
    "sparse.parts": "",
    "sparse.products": "",
    "sparse.reductions": "",
    "sparse.rules": "",
    "sparse.shapes": "",
    "sparse.table": "",
    "sparse.tensor": "",
    "sparse.writing": "",
    "special.basic": """
        digamma .digamma_ erf erf_ erfc erfc_ erfinv .erfinv_ lgamma .lgamma_ polygamma .polygamma_
    """,
    "special.bessel": """
        i0 i0_
    """,
    "special.gamma": """
        igamma .igamma_ igammac .igammac_ mvlgamma .mvlgamma_
    """,
    "special.normal": "",
    "special.numbers": "",
    "special.polynomials": "",
}
