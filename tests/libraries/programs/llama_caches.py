"""transformers: Llama with grouped queries, caches (dynamic, static), gradient checkpointing, resized embeddings."""

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

torch.manual_seed(2)
cfg = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=56,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
m = LlamaForCausalLM(cfg)
x = torch.randint(0, 64, (3, 16))
m.gradient_checkpointing_enable()
m.train()
out = m(x, labels=x)
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in m.parameters()))
m.gradient_checkpointing_disable()
m.zero_grad()
out = m(x, labels=x)
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in m.parameters()))
m.eval()
with torch.no_grad():
    cache = DynamicCache()
    whole = m(x).logits
    parts = []
    for t in range(x.shape[1]):
        o = m(x[:, t : t + 1], past_key_values=cache, use_cache=True)
        parts.append(o.logits)
    print((torch.cat(parts, 1) - whole).abs().max().item() < 1e-4, cache.get_seq_length())
    print(
        m.generate(
            x[:, :5],
            max_new_tokens=8,
            do_sample=False,
            pad_token_id=0,
            cache_implementation="static",
        ).tolist()
    )
    print(
        m.generate(
            x[:, :5], max_new_tokens=8, do_sample=False, pad_token_id=0, use_cache=False
        ).tolist()
    )
m.resize_token_embeddings(70)
print(m(x).logits.shape, m.get_input_embeddings().weight.shape)
print(m.num_parameters())
