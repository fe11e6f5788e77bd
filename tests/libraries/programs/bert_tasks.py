"""transformers: BERT for sequence and token classification, question answering, masked words; freeze and save."""

import tempfile

import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

torch.manual_seed(0)
cfg = BertConfig(
    vocab_size=90,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=32,
    num_labels=2,
)
ids = torch.randint(5, 90, (6, 14))
mask = torch.ones_like(ids)
mask[3:, 9:] = 0
model = BertForSequenceClassification(cfg)
for p in model.bert.embeddings.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
labels = torch.tensor([0, 1, 1, 0, 1, 0])
for i in range(6):
    out = model(ids, attention_mask=mask, labels=labels)
    out.loss.backward()
    opt.step()
    opt.zero_grad()
    print(out.loss.item())
with tempfile.TemporaryDirectory() as d:
    model.save_pretrained(d)
    again = AutoModelForSequenceClassification.from_pretrained(d).eval()
    model.eval()
    print(
        (again(ids, attention_mask=mask).logits - model(ids, attention_mask=mask).logits)
        .abs()
        .max()
        .item(),
        AutoConfig.from_pretrained(d).num_labels,
    )
    body = BertModel.from_pretrained(d)
    print(body(ids, attention_mask=mask).last_hidden_state.shape)
tok = BertForTokenClassification(cfg)
print(tok(ids, labels=torch.randint(0, 2, (6, 14))).loss.item())
qa = BertForQuestionAnswering(cfg)
o = qa(ids, start_positions=torch.tensor([1] * 6), end_positions=torch.tensor([4] * 6))
print(o.loss.item())
mlm = BertForMaskedLM(cfg)
lab = ids.clone()
lab[torch.rand(ids.shape) > 0.2] = -100
o = mlm(ids, labels=lab, output_hidden_states=True, output_attentions=False)
print(o.loss.item(), len(o.hidden_states), o.hidden_states[1].std().item())
