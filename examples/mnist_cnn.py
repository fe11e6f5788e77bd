"""Train a small convolutional network to read digits, and test it after every epoch.

Without arguments the digits are drawn by this script: ten glyphs, rotated, moved, scaled and
covered with noise.  With --data FOLDER the real MNIST files are read from FOLDER/MNIST/raw.
"""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

MEAN, STD = 0.1307, 0.3081  # of the pixels of MNIST

# The digits 0 to 9, five pixels wide and seven high, side by side.
GLYPHS = """
    01110 00100 01110 11110 00010 11111 00110 11111 01110 01110
    10001 01100 10001 00001 00110 10000 01000 00001 10001 10001
    10011 00100 00001 00001 01010 11110 10000 00010 10001 10001
    10101 00100 00010 01110 10010 00001 11110 00100 01110 01111
    11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
    10001 00100 01000 00001 00010 10001 10001 01000 10001 00010
    01110 01110 11111 11110 00010 01110 01110 01000 01110 01100
"""


def draw_digits(count):
    """A data set of `count` images of 28 x 28 pixels with their labels."""
    bits = [float(bit) for bit in "".join(GLYPHS.split())]
    glyphs = torch.tensor(bits).view(7, 10, 1, 5).permute(1, 2, 0, 3)  # digit, channel, row, column
    glyphs = F.interpolate(glyphs, size=(20, 14), mode="bilinear")
    glyphs = F.pad(glyphs, (7, 7, 4, 4))
    labels = torch.randint(10, (count,))

    # One affine map for each image.  It says where a pixel of the result is found in the glyph.
    angle = 0.25 * torch.randn(count)
    scale = torch.empty(count).uniform_(0.8, 1.3)
    shift = torch.empty(2, count).uniform_(-0.2, 0.2)
    cos, sin = scale * torch.cos(angle), scale * torch.sin(angle)
    maps = torch.stack([cos, -sin, shift[0], sin, cos, shift[1]], dim=1).view(count, 2, 3)
    grid = F.affine_grid(maps, (count, 1, 28, 28), align_corners=False)
    images = F.grid_sample(glyphs[labels], grid, align_corners=False)
    images = (images + 0.1 * torch.randn_like(images)).clamp(0, 1)
    return TensorDataset((images - MEAN) / STD, labels)


def load_mnist(folder):
    """The real thing, if you have the files."""
    from torchvision import datasets, transforms

    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))])
    return (
        datasets.MNIST(folder, train=True, transform=transform),
        datasets.MNIST(folder, train=False, transform=transform),
    )


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3)
        self.conv2 = nn.Conv2d(width, 2 * width, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(2 * width * 12 * 12, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))  # 28 x 28 -> 26 x 26
        x = F.relu(self.conv2(x))  # -> 24 x 24
        x = F.max_pool2d(x, 2)  # -> 12 x 12
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def train(args, model, device, loader, optimizer, step):
    """One epoch, or less if --steps says so; returns the number of steps done so far."""
    model.train()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}")
        if step == args.steps:
            break
    return step


def test(model, device, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            output = model(images)
            loss += F.nll_loss(output, labels, reduction="sum").item()
            correct += (output.argmax(dim=1) == labels).sum().item()
    count = len(loader.dataset)
    print(
        f"test: loss {loss / count:.4f}, accuracy {correct}/{count} ({100 * correct / count:.1f}%)"
    )


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder with the MNIST files")
    parser.add_argument("--train-size", type=int, default=4000, help="digits drawn for training")
    parser.add_argument("--test-size", type=int, default=1000, help="digits drawn for the test")
    parser.add_argument("--width", type=int, default=16, help="channels of the first convolution")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7, help="factor for lr after each epoch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="stop after this many optimisation steps")
    parser.add_argument("--log-every", type=int, default=10, metavar="K")
    parser.add_argument("--out", metavar="FOLDER", help="for the model (default: a new folder)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    if args.data:
        train_set, test_set = load_mnist(args.data)
    else:
        train_set, test_set = draw_digits(args.train_size), draw_digits(args.test_size)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=500)

    model = Net(args.width).to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)

    step = 0
    for _ in range(args.epochs):
        step = train(args, model, device, train_loader, optimizer, step)
        test(model, device, test_loader)
        scheduler.step()
        if step == args.steps:
            break

    out = Path(args.out or tempfile.mkdtemp(prefix="mnist_cnn-"))
    out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), out / "mnist_cnn.pt")
    print(f"wrote {out / 'mnist_cnn.pt'}")


if __name__ == "__main__":
    main()
