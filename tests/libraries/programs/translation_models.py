"""transformers: T5 and BART for sequences: label smoothing, teacher forcing, beams with encoder outputs."""

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

torch.manual_seed(0)
src, dst = torch.randint(3, 50, (4, 9)), torch.randint(3, 50, (4, 7))
t5 = T5ForConditionalGeneration(
    T5Config(
        vocab_size=50,
        d_model=24,
        d_kv=6,
        d_ff=40,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        feed_forward_proj="gated-gelu",
    )
)
opt = torch.optim.Adafactor(t5.parameters(), lr=1e-2)
for i in range(6):
    o = t5(input_ids=src, labels=dst)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
t5.eval()
print(t5.generate(src, max_new_tokens=6, num_beams=3).tolist())
enc = t5.get_encoder()(src)
print(enc.last_hidden_state.norm().item())
bart = BartForConditionalGeneration(
    BartConfig(
        vocab_size=50,
        d_model=24,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=40,
        dropout=0.1,
    )
)
opt = torch.optim.AdamW(bart.parameters(), lr=2e-3)
for i in range(5):
    logits = bart(input_ids=src, labels=dst).logits
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), dst.flatten(), label_smoothing=0.1
    )
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
bart.eval()
print(bart.generate(src, max_new_tokens=6, num_beams=2, forced_bos_token_id=5).tolist())
