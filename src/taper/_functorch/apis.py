"""Names of `taper.func`, and `vmap` in chunks."""

from taper.func import grad, grad_and_value, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):  # type: ignore[no-untyped-def]
    """Return `vmap` of a function that takes a batch in some chunks, one after the other.

    >>> import taper
    >>> from taper.functorch import chunk_vmap
    >>> chunk_vmap(lambda x: x.sum(), chunks=2)(taper.ones(4, 3))
    tensor([3., 3., 3., 3.])
    """

    def run(*args, **kwargs):  # type: ignore[no-untyped-def]
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [each.shape[dim] for each, dim in zip(args, dims, strict=True) if dim is not None]
        size = -(-sizes[0] // chunks) if sizes else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return run
