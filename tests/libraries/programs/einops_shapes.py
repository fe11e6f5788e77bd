"""einops: rearrange, reduce, repeat, einsum, pack and the layers, with gradients."""

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 4, 6, 3, requires_grad=True)
y = rearrange(x, "b (h h2) (w w2) c -> b h w (h2 w2 c)", h2=2, w2=3)
z = reduce(x, "b h w c -> b c", "mean") + reduce(x, "b h w c -> b c", "max")
w = repeat(z, "b c -> b c k", k=5)
print(*y.shape, y.sum().item(), *z.flatten().tolist(), *w.shape)
print(einsum(x, torch.randn(3, 5), "b h w c, c d -> b d").sum().item())
packed, shapes = pack([x, torch.ones(2, 7, 3)], "b * c")
print(
    *packed.shape,
    [tuple(each.shape) for each in unpack(packed, shapes, "b * c")],
    parse_shape(x, "b h w c"),
)
model = torch.nn.Sequential(
    Rearrange("b h w c -> b c h w"), torch.nn.Conv2d(3, 4, 3), Reduce("b c h w -> b c", "max"),
    EinMix("b c -> b d", weight_shape="c d", bias_shape="d", c=4, d=2),
)  # fmt: skip
loss = model(x).square().sum() + w.sum() + y.logsumexp(-1).sum()
loss.backward()
print(loss.item(), x.grad.sum().item(), asnumpy(z).mean())
print(model)
