"""transformers: Mistral, Qwen2, Qwen3, Gemma, Gemma2, Phi, OLMo from configurations: ten steps and generation."""

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GemmaConfig,
    MistralConfig,
    OlmoConfig,
    PhiConfig,
    Qwen2Config,
    Qwen3Config,
)

base = dict(
    vocab_size=48,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
for cfg in (
    MistralConfig(**base, num_key_value_heads=2, sliding_window=8),
    Qwen2Config(**base, num_key_value_heads=2),
    Qwen3Config(**base, num_key_value_heads=2, head_dim=8),
    GemmaConfig(**base, num_key_value_heads=1, head_dim=8),
    Gemma2Config(**base, num_key_value_heads=2, head_dim=8, sliding_window=8),
    PhiConfig(**base),
    OlmoConfig(**base),
):
    torch.manual_seed(1)
    m = AutoModelForCausalLM.from_config(cfg)
    x = torch.randint(3, 48, (4, 18))
    opt = torch.optim.AdamW(m.parameters(), lr=2e-3)
    losses = []
    for i in range(10):
        o = m(x, labels=x)
        o.loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        losses.append(o.loss.item())
    m.eval()
    print(
        type(m).__name__,
        losses[0],
        losses[4],
        losses[-1],
        m.generate(x[:, :6], max_new_tokens=6, do_sample=False).tolist(),
    )
