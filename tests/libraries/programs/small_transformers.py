"""x-transformers, vit-pytorch, rotary-embedding-torch, local-attention, vector-quantize-pytorch and ema-pytorch: a step of each."""

import torch
from ema_pytorch import EMA
from local_attention import LocalAttention
from rotary_embedding_torch import RotaryEmbedding
from vector_quantize_pytorch import FSQ, VectorQuantize
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, XTransformer

torch.manual_seed(0)
tokens = torch.randint(0, 32, (2, 16))
for options in (
    {},
    {"rotary_pos_emb": True, "use_rmsnorm": True, "ff_glu": True},
    {"alibi_pos_bias": True, "attn_qk_norm": True},
):
    torch.manual_seed(1)
    model = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=32, max_seq_len=32, attn_layers=Decoder(dim=16, depth=2, heads=2, **options)
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for _ in range(4):
        loss = model(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(*options, loss.item())
    print(*model.generate(tokens[:, :3], 6, temperature=0.0).flatten().tolist())
encoder = TransformerWrapper(
    num_tokens=32, max_seq_len=32, attn_layers=Encoder(dim=16, depth=1, heads=2)
)
print("encoder", encoder(tokens).sum().item())
both = XTransformer(
    dim=16,
    enc_num_tokens=32,
    enc_depth=1,
    enc_heads=2,
    enc_max_seq_len=16,
    dec_num_tokens=32,
    dec_depth=1,
    dec_heads=2,
    dec_max_seq_len=16,
)
print("both", both(tokens, tokens).item())
image = torch.randn(2, 3, 32, 32)
for make in (
    lambda: ViT(image_size=32, patch_size=8, num_classes=4, dim=16, depth=2, heads=2, mlp_dim=32),
    lambda: SimpleViT(
        image_size=32, patch_size=8, num_classes=4, dim=16, depth=2, heads=2, mlp_dim=32
    ),
    lambda: CaiT(
        image_size=32,
        patch_size=8,
        num_classes=4,
        dim=16,
        depth=1,
        cls_depth=1,
        heads=2,
        mlp_dim=32,
    ),
    lambda: CCT(
        img_size=32,
        embedding_dim=16,
        n_conv_layers=1,
        kernel_size=3,
        stride=2,
        padding=1,
        pooling_kernel_size=3,
        pooling_stride=2,
        pooling_padding=1,
        num_layers=1,
        num_heads=2,
        mlp_ratio=2.0,
        num_classes=4,
    ),
):
    torch.manual_seed(2)
    model = make()
    loss = torch.nn.functional.cross_entropy(model(image), torch.tensor([0, 3]))
    loss.backward()
    print(
        type(model).__name__,
        loss.item(),
        sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None).item(),
    )
torch.manual_seed(3)
q = torch.randn(1, 2, 8, 16)
print("rotary", RotaryEmbedding(dim=8).rotate_queries_or_keys(q).sum().item())
print("local", LocalAttention(window_size=4, causal=True, dim=16)(q, q, q).sum().item())
vq = VectorQuantize(dim=16, codebook_size=8, decay=0.8, commitment_weight=1.0)
out, indices, loss = vq(torch.randn(1, 12, 16))
print("vq", out.sum().item(), loss.item(), *indices.flatten().tolist())
out, indices = FSQ([5, 4])(torch.randn(1, 4, 2))
print("fsq", out.sum().item(), *indices.flatten().tolist())
net = torch.nn.Linear(3, 2)
average = EMA(net, beta=0.9, update_after_step=0, update_every=1)
for _ in range(5):
    with torch.no_grad():
        net.weight.add_(0.1)
    average.update()
print("ema", average.ema_model.weight.sum().item())
