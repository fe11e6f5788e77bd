"""Train an LSTM that predicts the next word of Python's standard library.

The text is cut into parallel streams and read in pieces.  The state of the LSTM goes on from piece
to piece, but gradients stay within one (truncated backpropagation through time).  The learning rate
of plain SGD falls when the loss on the validation text does not.
"""

import argparse
import math
import re
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import ReduceLROnPlateau

MODULES = ["argparse", "json.decoder", "random", "statistics", "textwrap", "heapq", "fractions"]
UNKNOWN = "<unknown>"


class Corpus:
    """The text as numbers of words; words that occur only once are one and the same."""

    def __init__(self, limit):
        text = "\n".join(find_spec(name).loader.get_source(name) for name in MODULES)
        words = re.findall(r"\w+|[^\w ]", text)[:limit]
        common = [word for word, count in Counter(words).most_common() if count > 1]
        self.vocabulary = [UNKNOWN, *common]
        index = {word: i for i, word in enumerate(self.vocabulary)}
        data = torch.tensor([index.get(word, 0) for word in words])
        cut = int(0.9 * len(data))
        self.train, self.validation = data[:cut], data[cut:]


def streams(data, count):
    """Cut a text into `count` equal streams, one in each column: shape (time, count)."""
    length = len(data) // count
    return data[: length * count].view(count, length).t().contiguous()


def pieces(source, length):
    """Successive pieces of the streams; the target is the same piece, one word later."""
    for start in range(0, len(source) - 1, length):
        end = min(start + length, len(source) - 1)
        yield source[start:end], source[start + 1 : end + 1].flatten()


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width, layers, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout)
        self.decoder = nn.Linear(width, vocabulary)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, words, state):
        output, state = self.lstm(self.dropout(self.encoder(words)), state)
        return self.decoder(self.dropout(output)).flatten(0, 1), state

    def initial_state(self, batch_size):
        shape = (self.lstm.num_layers, batch_size, self.lstm.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)


def train(args, model, source, optimizer, step):
    """One epoch, or less if --steps says so; returns the number of steps done so far."""
    model.train()
    state = model.initial_state(args.batch_size)
    for words, targets in pieces(source, args.bptt):
        # Without this, backward() would go back to the beginning of the text.
        state = tuple(part.detach() for part in state)
        optimizer.zero_grad()
        logits, state = model(words, state)
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        step += 1
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}  perplexity {math.exp(loss.item()):.8g}")
        if step == args.steps:
            break
    return step


@torch.no_grad()
def evaluate(args, model, source):
    """Mean loss for a word of the validation text."""
    model.eval()
    state = model.initial_state(source.size(1))
    total = 0.0
    for words, targets in pieces(source, args.bptt):
        logits, state = model(words, state)
        total += F.cross_entropy(logits, targets, reduction="sum").item()
    return total / ((len(source) - 1) * source.size(1))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=40000, help="length of the text")
    parser.add_argument("--width", type=int, default=128, help="numbers that stand for a word")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--bptt", type=int, default=32, help="words between two detached states")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--lr", type=float, default=20.0)
    parser.add_argument("--clip", type=float, default=0.25, help="largest norm of the gradient")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="stop after this many optimisation steps")
    parser.add_argument("--log-every", type=int, default=10, metavar="K")
    parser.add_argument("--out", metavar="FOLDER", help="for the model (default: a new folder)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    corpus = Corpus(args.words)
    train_streams = streams(corpus.train, args.batch_size)
    validation_streams = streams(corpus.validation, 10)
    print(f"{len(corpus.train)} words for training, {len(corpus.vocabulary)} different ones")

    model = LanguageModel(len(corpus.vocabulary), args.width, args.layers, args.dropout)
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.25, patience=0)
    out = Path(args.out or tempfile.mkdtemp(prefix="lstm_language_model-"))
    out.mkdir(parents=True, exist_ok=True)

    step, best = 0, math.inf
    for epoch in range(1, args.epochs + 1):
        step = train(args, model, train_streams, optimizer, step)
        loss = evaluate(args, model, validation_streams)
        print(f"epoch {epoch}: validation loss {loss:.4f}, perplexity {math.exp(loss):.1f}")
        if loss < best:
            best = loss
            torch.save(model.state_dict(), out / "model.pt")
        scheduler.step(loss)
        if step == args.steps:
            break
    print(f"wrote {out / 'model.pt'} (perplexity {math.exp(best):.1f})")


if __name__ == "__main__":
    main()
