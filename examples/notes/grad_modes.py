"""Default, no-grad and inference mode: what is recorded, and what may be used later."""

import taper as torch

x = torch.ones(2, requires_grad=True)

y = x * 2
print("default:  ", y.requires_grad)

with torch.no_grad():
    y = x * 2
    made = torch.ones(2, requires_grad=True)
print("no_grad:  ", y.requires_grad, "usable later:", (x * y).requires_grad)
print("a factory is not affected:", made.requires_grad)

with torch.inference_mode():
    y = x * 2
print("inference:", y.requires_grad, y.is_inference())
try:
    x * y
except RuntimeError as error:
    print("refused:  ", str(error).split(".")[0])
print("a clone:  ", (x * y.clone()).requires_grad)
