"""sentence-transformers: a model of modules made here; encode, cosine similarity, losses, training by hand."""

import tempfile

import torch
from sentence_transformers import SentenceTransformer, losses, models, util
from sentence_transformers.models import Dense, Normalize, Pooling
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as tm
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

torch.manual_seed(0)
text = [
    "a cat sat here",
    "the dog ran away",
    "cats sit",
    "dogs run far",
    "blue sky today",
    "green grass",
]
words = sorted({w for t in text for w in t.split()})
tok = Tokenizer(
    tm.WordLevel(
        {w: i for i, w in enumerate(["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"] + words)},
        unk_token="[UNK]",
    )
)
tok.pre_tokenizer = pre_tokenizers.Whitespace()
with tempfile.TemporaryDirectory() as d:
    PreTrainedTokenizerFast(
        tokenizer_object=tok,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(d)
    BertModel(
        BertConfig(
            vocab_size=70,
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=32,
        )
    ).save_pretrained(d)
    word = models.Transformer(d, max_seq_length=16)
    m = SentenceTransformer(
        modules=[
            word,
            Pooling(24, pooling_mode="mean"),
            Dense(24, 12, activation_function=torch.nn.Tanh()),
            Normalize(),
        ],
        device="cpu",
    )
    e = m.encode(text, convert_to_tensor=True, show_progress_bar=False)
    print(e.shape, util.cos_sim(e, e).sum().item(), util.semantic_search(e[:1], e, top_k=3)[0])
    loss = losses.MultipleNegativesRankingLoss(m)
    m.train()
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
    for i in range(5):
        feats = [m.tokenize(text[0:4:2]), m.tokenize(text[1:5:2])]
        v = loss(feats, None)
        v.backward()
        opt.step()
        opt.zero_grad()
        print(v.item())
    m.save(d + "/out")
    again = SentenceTransformer(d + "/out", device="cpu")
    m.eval()
    print(
        (again.encode(text, convert_to_tensor=True) - m.encode(text, convert_to_tensor=True))
        .abs()
        .max()
        .item()
        < 1e-6
    )
