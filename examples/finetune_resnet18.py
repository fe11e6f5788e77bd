"""Fine-tuning ResNet-18: everything is frozen but a new last layer, and only that one is trained.

The same program for both libraries, on pictures that it generates:

    taper run examples/finetune_resnet18.py     # taper
    python examples/finetune_resnet18.py        # PyTorch and torchvision

It starts from a checkpoint.  ImageNet's weights are used with `--checkpoint
.../resnet18-f37072fd.pth`; where there is no file, one with random weights is written first, since
even random convolutions tell circles from stripes.
"""

import argparse
import time
from pathlib import Path

import torch
import torchvision
from torch import nn, optim

CLASSES = ("circle", "square", "stripes", "checks")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, default=Path("resnet18-random.pth"))
    parser.add_argument("--size", type=int, default=64, help="height and width of a picture")
    parser.add_argument("--train", type=int, default=192, help="number of pictures to train with")
    parser.add_argument("--test", type=int, default=64, help="number of pictures to test with")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def pictures(count, size):
    """Pictures of four kinds at random places, sizes and colours, with noise; and their kinds."""
    kinds = torch.randint(len(CLASSES), (count,))
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    shapes = []
    for kind in kinds.tolist():
        center = size * (0.3 + 0.4 * torch.rand(2))
        extent = size * (0.15 + 0.1 * float(torch.rand(1)))
        dy, dx = y - center[0], x - center[1]
        if CLASSES[kind] == "circle":
            shape = dx**2 + dy**2 < extent**2
        elif CLASSES[kind] == "square":
            shape = (dx.abs() < extent) & (dy.abs() < extent)
        elif CLASSES[kind] == "stripes":
            shape = torch.sin(dx * 12 / extent) > 0
        else:
            shape = torch.sin(dx * 12 / extent) * torch.sin(dy * 12 / extent) > 0
        shapes.append(shape)
    colours = 0.3 + 0.7 * torch.rand(count, 3, 1, 1)
    images = torch.stack(shapes).unsqueeze(1) * colours
    return images + 0.1 * torch.randn(count, 3, size, size), kinds


def write_random_checkpoint(checkpoint, size):
    """A start without ImageNet: random weights, and statistics of pictures for the batch norms."""
    model = torchvision.models.resnet18()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean over all batches
    with torch.no_grad():
        for _ in range(4):
            model(pictures(16, size)[0])
    torch.save(model.state_dict(), checkpoint)
    print(f"no checkpoint found: wrote random weights to {checkpoint}")


def pretrained(checkpoint, size):
    """ResNet-18 with the weights of a file, which is made if it is not there."""
    if not checkpoint.exists():
        write_random_checkpoint(checkpoint, size)
    model = torchvision.models.resnet18()
    model.load_state_dict(torch.load(checkpoint))
    return model


def accuracy(model, images, kinds, batch):
    with torch.no_grad():
        found = [model(part).argmax(1) for part in images.split(batch)]
    return (torch.cat(found) == kinds).float().mean().item()


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    model = pretrained(options.checkpoint, options.size).eval()  # frozen statistics, too
    for parameter in model.parameters():
        parameter.requires_grad = False
    # The parameters of a new layer require gradients.
    model.fc = nn.Linear(model.fc.in_features, len(CLASSES))
    optimizer = optim.SGD(model.fc.parameters(), lr=options.lr, momentum=0.9)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"{trained} of {sum(p.numel() for p in model.parameters())} weights are trained")

    images, kinds = pictures(options.train, options.size)
    test_images, test_kinds = pictures(options.test, options.size)
    for epoch in range(options.epochs):
        started, losses = time.perf_counter(), []
        order = torch.randperm(len(images))
        for part in order.split(options.batch):
            loss = nn.functional.cross_entropy(model(images[part]), kinds[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        right = accuracy(model, test_images, test_kinds, options.batch)
        print(
            f"epoch {epoch}  loss {sum(losses) / len(losses):.4f}  accuracy {right:.3f}  "
            f"{time.perf_counter() - started:.1f} s"
        )
    frozen = [p for name, p in model.named_parameters() if not name.startswith("fc.")]
    print("frozen without gradient:", all(p.grad is None for p in frozen))


if __name__ == "__main__":
    main()
