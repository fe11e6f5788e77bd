"""transformers: GPT-2 trained on a toy corpus with AdamW and a cosine schedule; beams, sampling, penalties."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup, set_seed

set_seed(3)
cfg = GPT2Config(
    vocab_size=60,
    n_positions=48,
    n_embd=32,
    n_layer=3,
    n_head=4,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=2,
)
model = GPT2LMHeadModel(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = get_cosine_schedule_with_warmup(opt, 3, 15)
data = (torch.arange(32 * 20).reshape(32, 20) * 7) % 57 + 3
for step in range(15):
    batch = data[torch.randint(0, 32, (8,))]
    out = model(batch, labels=batch)
    out.loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    print(step, out.loss.item(), norm.item(), sched.get_last_lr()[0])
model.eval()
prompt = data[:2, :6]
kw = dict(attention_mask=torch.ones_like(prompt), max_new_tokens=12)
print(model.generate(prompt, **kw, do_sample=False).tolist())
print(
    model.generate(prompt, **kw, num_beams=4, no_repeat_ngram_size=2, length_penalty=0.7).tolist()
)
print(
    model.generate(prompt, **kw, num_beams=3, num_return_sequences=2, early_stopping=True).tolist()
)
torch.manual_seed(11)
print(model.generate(prompt, **kw, do_sample=True, top_k=10, top_p=0.9, temperature=0.8).tolist())
print(model.generate(prompt, **kw, do_sample=False, repetition_penalty=1.4).tolist())
out = model.generate(
    prompt, **kw, do_sample=False, output_scores=True, return_dict_in_generate=True
)
print(sum(s.float().logsumexp(-1).sum().item() for s in out.scores))
print(model.generate(prompt, **kw, do_sample=True, typical_p=0.8, min_new_tokens=3).shape)
