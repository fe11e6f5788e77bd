"""torchinfo, torchsummary and thop: what a model holds and how much it computes."""

import torch
from thop import profile
from torchinfo import summary
from torchsummary import summary as old_summary

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(8 * 16, 10),
)  # fmt: skip
found = summary(
    model,
    input_size=(2, 3, 8, 8),
    verbose=0,
    col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds"),
)
print(found)
print(found.total_params, found.total_mult_adds, found.total_output_bytes)
print(summary(torch.nn.LSTM(4, 5, batch_first=True), input_size=(2, 3, 4), verbose=0))
print(
    summary(
        torch.nn.TransformerEncoderLayer(8, 2, 16),
        input_data=torch.ones(3, 1, 8),
        verbose=0,
        depth=3,
    )
)
old_summary(model, (3, 8, 8), device="cpu")
print(*profile(model, (torch.ones(1, 3, 8, 8),), verbose=False))
