"""backpack-for-pytorch, laplace-torch and curvlinops-for-pytorch: second-order quantities and Laplace approximations."""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFLR,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SumGradSquared,
    Variance,
)
from curvlinops import GGNLinearOperator, HessianLinearOperator
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
model = extend(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)))
criterion = extend(torch.nn.CrossEntropyLoss())
with backpack(
    BatchGrad(), BatchL2Grad(), SumGradSquared(), Variance(), DiagGGNExact(), DiagHessian(), KFLR()
):
    criterion(model(x), y).backward()
for name, p in model.named_parameters():
    print(
        name,
        p.grad_batch.abs().sum().item(),
        p.batch_l2.sum().item(),
        p.sum_grad_squared.sum().item(),
        p.variance.sum().item(),
    )
    print(
        name,
        p.diag_ggn_exact.sum().item(),
        p.diag_h.sum().item(),
        sum(f.sum() for f in p.kflr).item(),
    )
plain = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
parameters = list(plain.parameters())
for kind in (HessianLinearOperator, GGNLinearOperator):
    operator = kind(plain, torch.nn.CrossEntropyLoss(), parameters, [(x, y)])
    vector = torch.linspace(-1, 1, operator.shape[1])
    product = operator @ vector
    print(kind.__name__, *operator.shape, product.sum().item(), product.norm().item())
loader = DataLoader(TensorDataset(x, y), batch_size=10)
optimizer = torch.optim.Adam(plain.parameters(), 0.02)
for _ in range(10):
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(plain(inputs), targets).backward()
        optimizer.step()
for subset, structure in (
    ("last_layer", "kron"),
    ("all", "diag"),
    ("last_layer", "full"),
    ("all", "kron"),
):
    approximation = Laplace(
        plain, "classification", subset_of_weights=subset, hessian_structure=structure
    )
    approximation.fit(loader)
    approximation.optimize_prior_precision(method="marglik", n_steps=5)
    print(
        subset,
        structure,
        approximation.log_marginal_likelihood().item(),
        *approximation(x[:2], link_approx="probit").flatten().tolist(),
    )
