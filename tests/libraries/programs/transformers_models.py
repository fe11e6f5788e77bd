"""transformers: GPT-2, BERT, Llama, T5 and ViT from a configuration: 20 steps, generation, save and load."""

import tempfile

import torch
import transformers as hf

transformers_logging = hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
tokens = torch.arange(40).reshape(4, 10) * 7 % 50
pixels = torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16).sin()


def gpt2():
    config = hf.GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2)
    return hf.GPT2LMHeadModel, config, {"input_ids": tokens, "labels": tokens}


def bert():
    config = hf.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    return hf.BertForMaskedLM, config, {"input_ids": tokens, "labels": tokens}


def llama():
    config = hf.LlamaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    return hf.LlamaForCausalLM, config, {"input_ids": tokens, "labels": tokens}


def t5():
    config = hf.T5Config(
        vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        decoder_start_token_id=0,
    )  # fmt: skip
    labels = tokens[:, :6].contiguous()
    return hf.T5ForConditionalGeneration, config, {"input_ids": tokens, "labels": labels}


def vit():
    config = hf.ViTConfig(
        image_size=16, patch_size=4, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, num_labels=3,
    )  # fmt: skip
    batch = {"pixel_values": pixels, "labels": torch.tensor([0, 2])}
    return hf.ViTForImageClassification, config, batch


for make in (gpt2, bert, llama, t5, vit):
    torch.manual_seed(0)
    kind, config, batch = make()
    model = kind(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = hf.get_cosine_schedule_with_warmup(optimizer, 3, 20)
    losses = []
    model.train()
    for _ in range(20):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(make.__name__, "losses", *losses)
    model.eval()
    if "pixel_values" not in batch and kind.__name__ != "BertForMaskedLM":
        for options in ({"do_sample": False}, {"num_beams": 3}, {"do_sample": True, "top_k": 5}):
            torch.manual_seed(1)
            out = model.generate(tokens[:2, :3], max_new_tokens=6, pad_token_id=0, **options)
            print(make.__name__, *options, *out.flatten().tolist())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = kind.from_pretrained(folder).eval()
        for name in ("AutoModel",):
            print(make.__name__, type(getattr(hf, name).from_pretrained(folder)).__name__)
    print(make.__name__, "again", again(**batch).loss.item(), model(**batch).loss.item())
