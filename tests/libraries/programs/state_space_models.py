"""transformers: Mamba, Mamba2, RWKV-like state models from configurations: steps and generation."""

import torch
from transformers import Mamba2Config, Mamba2ForCausalLM, MambaConfig, MambaForCausalLM

torch.manual_seed(0)
m = MambaForCausalLM(
    MambaConfig(
        vocab_size=40,
        hidden_size=24,
        state_size=8,
        num_hidden_layers=2,
        conv_kernel=4,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=1,
    )
)
x = torch.randint(2, 40, (3, 12))
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
for i in range(8):
    o = m(x, labels=x)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
m.eval()
print(m.generate(x[:, :5], max_new_tokens=6, do_sample=False).tolist())
torch.manual_seed(0)
m = Mamba2ForCausalLM(
    Mamba2Config(
        vocab_size=40,
        hidden_size=32,
        state_size=8,
        num_hidden_layers=2,
        num_heads=8,
        head_dim=8,
        n_groups=2,
        expand=2,
        chunk_size=8,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=1,
    )
)
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
for i in range(5):
    o = m(x, labels=x)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
m.eval()
print(m(x).logits.std().item())
