"""transformers: pipelines with tiny models of their own: classify, mark, fill, embed, generate."""

import os
import tempfile

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertTokenizerFast,
    GPT2Config,
    GPT2LMHeadModel,
    pipeline,
)

torch.manual_seed(0)
d = tempfile.mkdtemp()
words = (
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    + "the a cat dog runs sleeps fast slow is was good bad movie i love hate this , . ! ##s ##ing who what".split()
)
open(os.path.join(d, "vocab.txt"), "w").write("\n".join(words))
tok = BertTokenizerFast(vocab_file=os.path.join(d, "vocab.txt"), vocab=os.path.join(d, "vocab.txt"))
cfg = BertConfig(
    vocab_size=len(words),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
)
b = tok(
    ["the cat runs fast .", "i love this movie !"],
    padding=True,
    truncation=True,
    return_tensors="pt",
)
print({k: v.tolist() for k, v in b.items()})


def rnd(o):
    if isinstance(o, float):
        return round(o, 5)
    if isinstance(o, dict):
        return {k: rnd(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [rnd(v) for v in o]
    return o if not hasattr(o, "item") else round(float(o), 5)


for task, cls, args in [
    ("text-classification", BertForSequenceClassification, (["i love this movie", "bad dog"],)),
    ("token-classification", BertForTokenClassification, ("the cat runs",)),
    ("fill-mask", BertForMaskedLM, ("the [MASK] runs .",)),
    ("feature-extraction", BertModel, ("the cat",)),
]:
    m = cls(cfg).eval()
    m.save_pretrained(d)
    tok.save_pretrained(d)
    p = pipeline(task, model=d, tokenizer=d)
    print(task, rnd(p(*args)))
m = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=len(words),
        n_positions=32,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
).eval()
p = pipeline("text-generation", model=m, tokenizer=tok)
print(p("the cat", max_new_tokens=6, do_sample=False))
torch.manual_seed(1)
print(p(["the cat", "i love"], max_new_tokens=6, do_sample=True, num_return_sequences=2))
