"""peft: LoRA with DoRA and rslora, LoHa, prefix tuning, prompt tuning, adapters merged, swapped, disabled."""

import torch
from peft import (
    AdaLoraConfig,
    IA3Config,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    VeraConfig,
    get_peft_model,
)
from transformers import LlamaConfig, LlamaForCausalLM


def base():
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
        )
    )


ids = torch.randint(0, 50, (4, 12), generator=torch.Generator().manual_seed(1))
for name, cfg in dict(
    dora=LoraConfig(
        r=4, lora_alpha=8, use_dora=True, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    ),
    rs=LoraConfig(
        r=4, use_rslora=True, lora_dropout=0.1, target_modules="all-linear", task_type="CAUSAL_LM"
    ),
    loha=LoHaConfig(r=3, target_modules=["q_proj"]),
    lokr=LoKrConfig(r=3, target_modules=["q_proj", "k_proj"]),
    prefix=PrefixTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4),
    prompt=PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=3),
    ia3=IA3Config(
        task_type="CAUSAL_LM",
        target_modules=["k_proj", "v_proj", "down_proj"],
        feedforward_modules=["down_proj"],
    ),
    ada=AdaLoraConfig(
        task_type="CAUSAL_LM", target_modules=["q_proj"], init_r=4, target_r=2, total_step=20
    ),
    vera=VeraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
).items():
    m = get_peft_model(base(), cfg)
    t, a = m.get_nb_trainable_parameters()
    opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-2)
    ls = []
    torch.manual_seed(3)
    for i in range(4):
        o = m(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)
        o.loss.backward()
        opt.step()
        opt.zero_grad()
        ls.append(o.loss.item())
    print(name, t, a, ls)
m = get_peft_model(
    base(),
    LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights="gaussian"),
    adapter_name="one",
)
m.add_adapter("two", LoraConfig(r=3, target_modules=["v_proj"]))
m.set_adapter("two")
print(m.active_adapter)
with m.disable_adapter():
    print(m(input_ids=ids).logits.sum().item())
merged = m.merge_and_unload()
print(type(merged).__name__, merged(input_ids=ids).logits.sum().item())
