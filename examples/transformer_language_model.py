"""A Transformer that predicts the next word of the Python reference manual.

The text comes with the standard library: it is what `help("comparisons")` prints. A stack of
`nn.TransformerEncoderLayer`s with a causal mask reads a window of words, and at each position says
which word comes next. The quality of a language model is its perplexity, the exponential of the
mean loss: a model of perplexity 50 is as unsure as if it chose between 50 equally likely words.

    python examples/transformer_language_model.py
    python examples/transformer_language_model.py --optimizer sgd --steps 100 --log-every 1
"""

import argparse
import math
import re
from collections import Counter
from pydoc_data.topics import topics

import torch
from torch import nn
from torch.nn import functional as F

UNKNOWN = "<unknown>"


def read_words():
    """The words and signs of the manual, in lower case, in order."""
    text = "\n".join(topics[name] for name in sorted(topics))
    return re.findall(r"[a-z_]+|\d+|[^\w\s]", text.lower())


def build_vocabulary(words, size):
    """A number for each of the most common words; number 0 stands for all the others."""
    # Ties in the count are broken by the alphabet, so that the numbers are always the same.
    ranked = sorted(Counter(words).items(), key=lambda entry: (-entry[1], entry[0]))
    names = [UNKNOWN] + [word for word, _ in ranked[: size - 1]]
    return {word: number for number, word in enumerate(names)}


def make_columns(tokens, batch_size):
    """Cut one long text into `batch_size` columns that are read side by side."""
    length = len(tokens) // batch_size
    return tokens[: length * batch_size].view(batch_size, length).t().contiguous()


def windows(columns, window):
    """Pairs of (input, target), both of shape (window, batch): the target is one word ahead."""
    for start in range(0, len(columns) - window, window):
        yield columns[start : start + window], columns[start + 1 : start + 1 + window]


class PositionalEncoding(nn.Module):
    """Adds waves of different lengths, by which the model can tell positions apart."""

    def __init__(self, width, dropout, longest=512):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(longest).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        waves = torch.zeros(longest, 1, width)
        waves[:, 0, 0::2] = torch.sin(position * frequency)
        waves[:, 0, 1::2] = torch.cos(position * frequency)
        # A buffer is saved and moved with the model, but no optimizer changes it.
        self.register_buffer("waves", waves)

    def forward(self, x):
        return self.dropout(x + self.waves[: x.size(0)])


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width, heads, hidden, layers, dropout):
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = PositionalEncoding(width, dropout)
        layer = nn.TransformerEncoderLayer(width, heads, hidden, dropout)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(width, vocabulary)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, tokens):
        # The mask is minus infinity above the diagonal: no position sees a later one.
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens))
        x = self.position(self.embedding(tokens) * math.sqrt(self.width))
        return self.decoder(self.encoder(x, mask=mask, is_causal=True))


def train(model, columns, args):
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr or 1.0)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr or 2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    model.train()
    step = 0
    while step < args.steps:
        for tokens, targets in windows(columns, args.window):
            optimizer.zero_grad()
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            loss.backward()
            # One odd batch must not throw the weights far away.
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}  loss {loss.item():.8g}", flush=True)
            if step == args.steps:
                break


def evaluate(model, columns, window):
    """The mean loss per word of a text that the model has not been trained on."""
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for tokens, targets in windows(columns, window):
            logits = model(tokens)
            total += F.cross_entropy(
                logits.flatten(0, 1), targets.flatten(), reduction="sum"
            ).item()
            count += targets.numel()
    return total / count


def continue_text(model, vocabulary, prompt, length, window):
    """Draw a next word from the model's distribution, again and again."""
    names = list(vocabulary)
    tokens = [vocabulary.get(word, 0) for word in prompt]
    model.eval()
    with torch.no_grad():
        for _ in range(length):
            logits = model(torch.tensor(tokens[-window:]).unsqueeze(1))[-1, 0]
            logits[0] = -math.inf  # never answer "unknown"
            tokens.append(torch.distributions.Categorical(logits=logits).sample().item())
    return " ".join(names[token] for token in tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300, help="number of optimisation steps")
    parser.add_argument("--log-every", type=int, default=20, help="steps between two log lines")
    parser.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    parser.add_argument("--lr", type=float, help="learning rate (default: 2e-3 adamw, 1.0 sgd)")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--window", type=int, default=32, help="words that the model sees")
    parser.add_argument("--vocabulary", type=int, default=1000, help="number of known words")
    parser.add_argument("--width", type=int, default=64, help="length of a word's vector")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128, help="width of the feed-forward part")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    words = read_words()
    vocabulary = build_vocabulary(words, args.vocabulary)
    tokens = torch.tensor([vocabulary.get(word, 0) for word in words])
    split = int(0.95 * len(tokens))
    train_columns = make_columns(tokens[:split], args.batch_size)
    test_columns = make_columns(tokens[split:], args.batch_size)

    model = LanguageModel(
        len(vocabulary), args.width, args.heads, args.hidden, args.layers, args.dropout
    )
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(words)} words, {len(vocabulary)} different; {parameters} parameters")
    train(model, train_columns, args)

    loss = evaluate(model, test_columns, args.window)
    print(f"test loss {loss:.4f}, perplexity {math.exp(loss):.1f}")
    print(continue_text(model, vocabulary, ["the", "value", "of"], 20, args.window))


if __name__ == "__main__":
    main()
