"""The types of `taper.functional`.  Written by tools/stubs.py (`make docs`)."""

from taper import atleast_1d as atleast_1d
from taper import atleast_2d as atleast_2d
from taper import atleast_3d as atleast_3d
from taper import block_diag as block_diag
from taper import broadcast_shapes as broadcast_shapes
from taper import broadcast_tensors as broadcast_tensors
from taper import cartesian_prod as cartesian_prod
from taper import cdist as cdist
from taper import chain_matmul as chain_matmul
from taper import einsum as einsum
from taper import istft as istft
from taper import lu as lu
from taper import meshgrid as meshgrid
from taper import norm as norm
from taper import pca_lowrank as pca_lowrank
from taper import split as split
from taper import stft as stft
from taper import svd_lowrank as svd_lowrank
from taper import tensordot as tensordot
from taper import unique as unique
from taper import unique_consecutive as unique_consecutive
from taper import unravel_index as unravel_index
