"""peft: LoRA on a tiny GPT-2: train, save, load, merge; IA3 and prompt tuning."""

import tempfile

import torch
import transformers as hf
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
    get_peft_model_state_dict,
)  # fmt: skip

hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
tokens = torch.arange(20).reshape(2, 10) * 3 % 30


def base():
    torch.manual_seed(0)
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=30, n_positions=32, n_embd=16, n_layer=2, n_head=2)
    )


def train(model, steps=8):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for _ in range(steps):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


config = LoraConfig(
    r=4,
    lora_alpha=8,
    target_modules=["c_attn", "c_proj"],
    lora_dropout=0.05,
    task_type="CAUSAL_LM",
    fan_in_fan_out=True,
)
model = get_peft_model(base(), config)
print(*model.get_nb_trainable_parameters())
print("lora", *train(model))
model.eval()
print(len(get_peft_model_state_dict(model)), model(input_ids=tokens, labels=tokens).loss.item())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    loaded = PeftModel.from_pretrained(base(), folder).eval()
print("loaded", loaded(input_ids=tokens, labels=tokens).loss.item())
with loaded.disable_adapter():
    print("without", loaded(input_ids=tokens, labels=tokens).loss.item())
merged = loaded.merge_and_unload()
print("merged", merged(input_ids=tokens, labels=tokens).loss.item())
print(
    *merged.generate(tokens[:, :3], max_new_tokens=5, do_sample=False, pad_token_id=0)
    .flatten()
    .tolist()
)
ia3 = IA3Config(
    target_modules=["c_attn", "c_fc"],
    feedforward_modules=["c_fc"],
    task_type="CAUSAL_LM",
    fan_in_fan_out=True,
)
print("ia3", *train(get_peft_model(base(), ia3)))
prompt = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4)
print("prompt", *train(get_peft_model(base(), prompt)))
for options in ({"use_dora": True}, {"use_rslora": True, "init_lora_weights": "pissa"}):
    torch.manual_seed(1)
    config = LoraConfig(
        r=2, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True, **options
    )
    print(*options, *train(get_peft_model(base(), config)))
