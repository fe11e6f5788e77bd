"""transformers: Mixtral and Qwen2-MoE with router losses, DeepSeek-V3, assisted generation, bfloat16 and sharded checkpoints, device maps."""

import tempfile

import torch
import transformers as hf

hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
base = dict(
    vocab_size=60,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
configs = [
    hf.MixtralConfig(**base, num_local_experts=4, num_experts_per_tok=2, output_router_logits=True),
    hf.Qwen2MoeConfig(
        **base,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        output_router_logits=True,
    ),
    hf.DeepseekV3Config(
        **{**base, "num_key_value_heads": 2},
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        moe_intermediate_size=16,
        first_k_dense_replace=1,
        q_lora_rank=8,
        kv_lora_rank=8,
        qk_rope_head_dim=4,
        qk_nope_head_dim=4,
        v_head_dim=8,
        n_shared_experts=1,
    ),
]
ids = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))
for c in configs:
    torch.manual_seed(0)
    m = hf.AutoModelForCausalLM.from_config(c)
    opt = torch.optim.AdamW(m.parameters(), 3e-3)
    for _ in range(4):
        o = m(ids, labels=ids)
        o.loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        print(c.model_type, o.loss.item(), float(getattr(o, "aux_loss", None) or 0))
    m.eval()
    print(m.generate(ids[:, :4], max_new_tokens=6, do_sample=False).tolist())
    with tempfile.TemporaryDirectory() as d:
        m.save_pretrained(d, max_shard_size="6KB")
        a = hf.AutoModelForCausalLM.from_pretrained(d, device_map="cpu")
        b = hf.AutoModelForCausalLM.from_pretrained(d, dtype=torch.bfloat16)
        print(
            (a(ids).logits - m(ids).logits).abs().max().item(),
            next(b.parameters()).dtype,
            a(ids).logits.sum().item(),
        )
lc = hf.LlamaConfig(**base)
torch.manual_seed(1)
big = hf.LlamaForCausalLM(lc).eval()
small = hf.LlamaForCausalLM(hf.LlamaConfig(**{**base, "num_hidden_layers": 1})).eval()
print(big.generate(ids[:1, :5], max_new_tokens=8, do_sample=False, assistant_model=small).tolist())
print(
    big.generate(
        ids[:1, :5], max_new_tokens=8, do_sample=False, prompt_lookup_num_tokens=2
    ).tolist()
)
print(
    big.generate(
        ids[:, :5],
        max_new_tokens=5,
        num_beams=4,
        num_return_sequences=2,
        length_penalty=0.6,
        no_repeat_ngram_size=2,
        output_scores=True,
        return_dict_in_generate=True,
    ).sequences_scores.tolist()
)
for how in ("eager", "sdpa"):
    big.set_attn_implementation(how)
    print(how, big(ids, output_hidden_states=True).hidden_states[-1].sum().item())
print(big(ids, attention_mask=torch.tril(torch.ones(2, 1, 10, 10)).bool()).logits.sum().item())
