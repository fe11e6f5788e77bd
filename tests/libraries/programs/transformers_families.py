"""transformers: 18 families of language models from configurations: steps, generation."""

import torch
import transformers as T

small = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4
)
ids = torch.randint(3, 64, (2, 12), generator=torch.Generator().manual_seed(0))
cases = {
    "mistral": (
        T.MistralForCausalLM,
        T.MistralConfig(**small, num_key_value_heads=2, sliding_window=6),
    ),
    "qwen2": (T.Qwen2ForCausalLM, T.Qwen2Config(**small, num_key_value_heads=2)),
    "qwen3": (T.Qwen3ForCausalLM, T.Qwen3Config(**small, num_key_value_heads=2, head_dim=8)),
    "gemma": (T.GemmaForCausalLM, T.GemmaConfig(**small, num_key_value_heads=2, head_dim=8)),
    "gemma2": (T.Gemma2ForCausalLM, T.Gemma2Config(**small, num_key_value_heads=2, head_dim=8)),
    "phi": (T.PhiForCausalLM, T.PhiConfig(**small)),
    "neox": (T.GPTNeoXForCausalLM, T.GPTNeoXConfig(**small)),
    "mixtral": (
        T.MixtralForCausalLM,
        T.MixtralConfig(**small, num_key_value_heads=2, num_local_experts=4),
    ),
    "opt": (
        T.OPTForCausalLM,
        T.OPTConfig(
            vocab_size=64,
            hidden_size=32,
            ffn_dim=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            word_embed_proj_dim=32,
        ),
    ),
    "bloom": (
        T.BloomForCausalLM,
        T.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4),
    ),
    "falcon": (
        T.FalconForCausalLM,
        T.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    ),
    "roberta": (T.RobertaForMaskedLM, T.RobertaConfig(**small, max_position_embeddings=40)),
    "distilbert": (
        T.DistilBertForMaskedLM,
        T.DistilBertConfig(vocab_size=64, dim=32, hidden_dim=48, n_layers=2, n_heads=4),
    ),
    "electra": (T.ElectraForMaskedLM, T.ElectraConfig(**small, embedding_size=16)),
    "albert": (T.AlbertForMaskedLM, T.AlbertConfig(**small, embedding_size=16)),
    "deberta": (
        T.DebertaV2ForMaskedLM,
        T.DebertaV2Config(
            **small, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4
        ),
    ),
    "gptneo": (
        T.GPTNeoForCausalLM,
        T.GPTNeoConfig(
            vocab_size=64,
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=4,
        ),
    ),
    "gptj": (
        T.GPTJForCausalLM,
        T.GPTJConfig(vocab_size=64, n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    ),
}
for n, (cls, cfg) in cases.items():
    torch.manual_seed(0)
    m = cls(cfg).train()
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
    for i in range(3):
        loss = m(input_ids=ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(n, i, loss.item())
    m.eval()
    print(n, m(ids).logits.abs().mean().item())
    if "Causal" in cls.__name__:
        print(n, m.generate(ids[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
