"""Learn to continue sine waves with two LSTM cells, one step of time after another.

Given the waves up to a moment, the network says the next value; it is trained in float64 with
L-BFGS, which asks for the loss through a closure. After training it continues waves that it has not
seen: each prediction is fed back as the next input.

    python examples/time_series_lstm.py --out waves
    python examples/time_series_lstm.py --steps 20 --log-every 1
"""

import argparse
import csv
import math
import tempfile
from pathlib import Path

import torch
from torch import nn


def make_waves(count, length, period):
    """Sine waves of one period that begin at random moments, shape (count, length)."""
    start = torch.randint(-4 * period, 4 * period, (count, 1))
    moment = torch.arange(length) + start
    return torch.sin(2 * math.pi * moment.to(torch.float64) / period)


class Forecaster(nn.Module):
    """Two LSTM cells on top of each other and a linear layer, from a value to the next one."""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.lower = nn.LSTMCell(1, hidden)
        self.upper = nn.LSTMCell(hidden, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series, future=0):
        """The value after each of `series` (batch, time), and then `future` values more."""
        zeros = torch.zeros(len(series), self.hidden, dtype=series.dtype)
        lower, upper = (zeros, zeros), (zeros, zeros)
        outputs = []
        for value in series.split(1, dim=1):
            lower = self.lower(value, lower)
            upper = self.upper(lower[0], upper)
            outputs.append(self.head(upper[0]))
        for _ in range(future):
            lower = self.lower(outputs[-1], lower)
            upper = self.upper(lower[0], upper)
            outputs.append(self.head(upper[0]))
        return torch.cat(outputs, dim=1)


def forecast(model, known, future):
    """Continue each of the series `known` by `future` values."""
    with torch.no_grad():
        # The last known value already gives the first of the future ones.
        return model(known, future - 1)[:, -future:]


def write_forecast(path, truth, prediction, begin):
    """A table of the first wave: moment, true value, predicted value."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["moment", "truth", "prediction"])
        for offset, guess in enumerate(prediction[0].tolist()):
            table.writerow([begin + offset, truth[0, begin + offset].item(), guess])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=250, help="number of optimizer steps")
    parser.add_argument("--log-every", type=int, default=10, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--waves", type=int, default=12, help="number of training waves")
    parser.add_argument("--length", type=int, default=60, help="values of a training wave")
    parser.add_argument("--period", type=int, default=20, help="moments that one wave takes")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--future", type=int, default=60, help="values to predict at the end")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder for the forecast (default: a new one)"
    )
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_waves = make_waves(args.waves, args.length, args.period)
    inputs, targets = train_waves[:, :-1], train_waves[:, 1:]
    test_waves = make_waves(4, args.length + args.future, args.period)

    model = Forecaster(args.hidden).double()
    criterion = nn.MSELoss()
    # All the data is one batch, so L-BFGS can be used. `max_iter=1` makes each step one of its
    # iterations, to be logged; what it has learnt about the curvature is kept from step to step.
    optimizer = torch.optim.LBFGS(model.parameters(), lr=args.lr, max_iter=1, history_size=20)

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        return loss

    for step in range(1, args.steps + 1):
        loss = optimizer.step(closure)
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.10g}", flush=True)

    known = test_waves[:, : args.length]
    prediction = forecast(model, known, args.future)
    truth = test_waves[:, args.length :]
    error = criterion(prediction, truth).item()
    print(f"mean squared error over {args.future} future values: {error:.6f}")

    folder = args.out or Path(tempfile.mkdtemp(prefix="time-series-"))
    folder.mkdir(parents=True, exist_ok=True)
    write_forecast(folder / "forecast.csv", test_waves, prediction, args.length)
    print(f"wrote {folder / 'forecast.csv'}")


if __name__ == "__main__":
    main()
