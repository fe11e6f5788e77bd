"""peft: AdaLoRA, VeRA, OFT, BOFT, HRA, LayerNorm tuning, P-tuning, LoRA on convolutions with saved modules, weighted adapters, mixed batches."""

import tempfile

import peft
import torch
import transformers as hf

hf.logging.set_verbosity_error()


def gpt():
    torch.manual_seed(0)
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(
            vocab_size=50,
            n_embd=16,
            n_layer=2,
            n_head=2,
            n_positions=32,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
        )
    )


def llama():
    torch.manual_seed(0)
    return hf.LlamaForCausalLM(
        hf.LlamaConfig(
            vocab_size=50,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=32,
        )
    )


ids = torch.randint(0, 50, (3, 8), generator=torch.Generator().manual_seed(1))
T = "CAUSAL_LM"
for name, base, cfg in [
    (
        "adalora",
        llama,
        peft.AdaLoraConfig(
            task_type=T,
            target_modules=["q_proj", "v_proj"],
            init_r=4,
            target_r=2,
            tinit=1,
            tfinal=2,
            deltaT=1,
            total_step=6,
        ),
    ),
    ("vera", llama, peft.VeraConfig(task_type=T, target_modules=["q_proj", "v_proj"], r=4)),
    ("oft", llama, peft.OFTConfig(task_type=T, target_modules=["q_proj"], oft_block_size=4)),
    ("boft", llama, peft.BOFTConfig(task_type=T, target_modules=["q_proj"], boft_block_size=4)),
    ("hra", llama, peft.HRAConfig(task_type=T, target_modules=["q_proj"], r=4)),
    ("ln", llama, peft.LNTuningConfig(task_type=T)),
    (
        "ptuning",
        gpt,
        peft.PromptEncoderConfig(task_type=T, num_virtual_tokens=3, encoder_hidden_size=8),
    ),
    (
        "fourier",
        llama,
        peft.FourierFTConfig(task_type=T, target_modules=["q_proj"], n_frequency=20),
    ),
    ("lokr", llama, peft.LoKrConfig(task_type=T, target_modules=["q_proj", "down_proj"], r=2)),
    ("randlora", llama, peft.RandLoraConfig(task_type=T, target_modules=["q_proj"], r=4)),
]:
    try:
        m = peft.get_peft_model(base(), cfg)
    except ImportError:
        print(name, "needs more")
        continue
    torch.manual_seed(3)
    opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], 1e-2)
    for i in range(3):
        cost = m(input_ids=ids, labels=ids).loss
        cost.backward()
        opt.step()
        if name == "adalora":
            m.base_model.update_and_allocate(i)
        opt.zero_grad()
        print(name, cost.item(), m.get_nb_trainable_parameters())
    with tempfile.TemporaryDirectory() as d:
        m.save_pretrained(d)
        again = peft.PeftModel.from_pretrained(base(), d)
        m.eval()
        again.eval()
        print(
            (again(input_ids=ids).logits - m(input_ids=ids).logits).abs().max().item() < 1e-5,
            m(input_ids=ids).logits.sum().item(),
        )
    if hasattr(m, "merge_and_unload") and name not in ("ptuning",):
        print(m.merge_and_unload()(input_ids=ids).logits.sum().item())
conv = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4)
)
m = peft.get_peft_model(
    conv,
    peft.LoraConfig(target_modules=["0"], modules_to_save=["3"], r=2, lora_alpha=4, use_dora=True),
)
o = m(torch.randn(2, 3, 8, 8))
o.sum().backward()
print(o.shape, sorted(n for n, p in m.named_parameters() if p.requires_grad))
m = peft.get_peft_model(
    llama(),
    peft.LoraConfig(task_type=T, r=2, init_lora_weights=False, target_modules=["q_proj"]),
    adapter_name="a",
)
m.add_adapter(
    "b", peft.LoraConfig(task_type=T, r=2, init_lora_weights=False, target_modules=["q_proj"])
)
m.eval()
m.add_weighted_adapter(["a", "b"], [0.6, 0.4], "c", combination_type="linear")
m.add_weighted_adapter(["a", "b"], [0.6, 0.4], "e", combination_type="ties", density=0.5)
m.add_weighted_adapter(["a", "b"], [1.0, 0.5], "s", combination_type="svd")
for n in "abces":
    m.set_adapter(n)
    print(n, m(input_ids=ids).logits.abs().sum().item())
print(m(input_ids=ids, adapter_names=["a", "b", "__base__"]).logits.sum((1, 2)).tolist())
with m.disable_adapter():
    print(m(input_ids=ids).logits.sum().item())
m.delete_adapter("b")
print(sorted(m.peft_config))
m = peft.get_peft_model(
    llama(),
    peft.LoraConfig(
        task_type=T,
        r=2,
        init_lora_weights="pissa",
        target_modules=["q_proj", "v_proj"],
        layers_to_transform=[1],
    ),
)
print(m(input_ids=ids).logits.sum().item())
print(
    len(peft.get_peft_model_state_dict(m)),
    m.targeted_module_names[:3],
)
