"""Train a small GPT, character by character, on sources of Python's standard library.

Shows a decoder-only transformer with causal attention, AdamW with weight decay for matrices only,
warm-up and cosine schedule, clipped gradients, and text generation with top-k sampling.
"""

import argparse
import tempfile
import textwrap
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

MODULES = ["this", "json", "json.decoder", "json.encoder", "heapq", "textwrap", "statistics"]


class Text:
    """Characters as numbers, cut into a part for training and one for validation."""

    def __init__(self):
        text = "\n".join(find_spec(name).loader.get_source(name) for name in MODULES)
        self.characters = sorted(set(text))
        self.index = {character: i for i, character in enumerate(self.characters)}
        data = torch.tensor(self.encode(text))
        cut = int(0.9 * len(data))
        self.train, self.validation = data[:cut], data[cut:]

    def encode(self, text):
        return [self.index[character] for character in text]

    def decode(self, numbers):
        return "".join(self.characters[i] for i in numbers)


def random_batch(data, batch_size, block_size):
    """Random pieces of the text; the target is the same piece, one character later."""
    starts = torch.randint(len(data) - block_size, (batch_size,)).tolist()
    inputs = torch.stack([data[i : i + block_size] for i in starts])
    targets = torch.stack([data[i + 1 : i + 1 + block_size] for i in starts])
    return inputs, targets


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query_key_value = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (
            part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in self.query_key_value(x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return self.projection(y.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CausalSelfAttention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, block_size, layers, heads, width, dropout):
        super().__init__()
        self.block_size = block_size
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(block_size, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init_weights)
        self.head.weight = self.token_embedding.weight  # one matrix for both, as in GPT-2

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.08)  # a narrow network likes more than 0.02
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        positions = torch.arange(tokens.size(1), device=tokens.device)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def generate(self, tokens, count, temperature=1.0, top_k=None):
        """Append `count` characters to `tokens`, each drawn from the `top_k` likeliest."""
        for _ in range(count):
            logits = self(tokens[:, -self.block_size :])[:, -1] / temperature
            if top_k is not None:
                values, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < values[:, [-1]]] = -float("inf")
            chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            tokens = torch.cat([tokens, chosen], dim=1)
        return tokens


def loss_function(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def make_optimizer(model, lr, weight_decay, steps, warmup):
    """AdamW that decays matrices but not biases and norms, with its schedule."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))
    scheduler = SequentialLR(
        optimizer,
        [
            LinearLR(optimizer, start_factor=0.1, total_iters=warmup),
            CosineAnnealingLR(optimizer, T_max=steps - warmup, eta_min=0.1 * lr),
        ],
        milestones=[warmup],
    )
    return optimizer, scheduler


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=64, help="numbers that stand for a character")
    parser.add_argument("--block-size", type=int, default=64, help="characters the model sees")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient")
    parser.add_argument("--max-steps", type=int, default=600, help="length of the schedule")
    parser.add_argument("--warmup", type=int, default=20, help="steps until lr has its full size")
    parser.add_argument("--prompt", default="def ")
    parser.add_argument("--generate", type=int, default=300, help="characters written at the end")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="stop after this many optimisation steps")
    parser.add_argument("--log-every", type=int, default=10, metavar="K")
    parser.add_argument("--out", metavar="FOLDER", help="for the text (default: a new folder)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    text = Text()
    model = GPT(
        len(text.characters), args.block_size, args.layers, args.heads, args.width, args.dropout
    )
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text.train)} characters for training, {count} parameters")
    optimizer, scheduler = make_optimizer(
        model, args.lr, args.weight_decay, args.max_steps, args.warmup
    )

    model.train()
    for step in range(1, args.max_steps + 1):
        loss = loss_function(model, *random_batch(text.train, args.batch_size, args.block_size))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        scheduler.step()
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}  norm {norm.item():.8g}")
        if step == args.steps:
            break

    model.eval()
    with torch.no_grad():
        batch = random_batch(text.validation, 4 * args.batch_size, args.block_size)
        print(f"validation: loss {loss_function(model, *batch).item():.4f}")
    prompt = torch.tensor([text.encode(args.prompt)])
    tokens = model.generate(prompt, args.generate, args.temperature, args.top_k)
    sample = text.decode(tokens[0].tolist())
    print(textwrap.indent(sample, "  | ", lambda line: True))

    out = Path(args.out or tempfile.mkdtemp(prefix="char_gpt-"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "sample.txt").write_text(sample)
    print(f"wrote {out / 'sample.txt'}")


if __name__ == "__main__":
    main()
