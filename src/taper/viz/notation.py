"""What the helpers of formulas mean, in the notation of the page.

Owns the translation before mathematics is written: calls of helpers become what they compute,
branches that only save time are left out, and the gradients of the few operators whose formulas are
programs (convolutions, norms) are stated as mathematics here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = ["STATED", "simplified"]

# Parameters and result of a helper, as Python; parameters that do not matter are left out.
_MEANINGS = {
    "scaled": "g, factor: factor * g",
    "mm_like": "a, b: a @ b",
    "left_gradient": "g, b: g @ adjoint(b)",
    "right_gradient": "a, g: adjoint(a) @ g",
    "product": "a, b: a @ b",
    "inside": "g, mask: where(mask, g, 0)",
    "threshold_backward": "g, y, level: where(y > level, g, 0)",
    "leaky_relu_backward": "g, x, slope: where(x > 0, g, slope * g)",
    "tanh_backward": "g, y: g * (1 - y ** 2)",
    "sigmoid_backward": "g, y: g * y * (1 - y)",
    "mh": "a: adjoint(a)",
    "mt": "a: transpose(a)",
    "in_single": "g: g",
    "in_dtype_of": "x, g: g",
    "zeros_like": "g: 0",
    "zeros_of": "g: 0",
    "rsqrt": "x: 1 / sqrt(x)",
    "div_scalar": "g, n: g / n",
    "expand_to": "g: spread(g)",
    "spread": "g, shape, dim, keepdim: spread(g)",
    "unreduced": "g, shape, dim, keepdim: spread(g)",
    "reshape": "g, shape: reshape(g)",
    "weighted": "x, g, factor: factor * x * g",
    "_masked_fill": "g, mask, value: where(mask, value, g)",
    "conjugate": "x: x",
    "_log_softmax_backward_data": "g, y, dim: g - exp(y) * sum(g)",
    "_softmax_backward_data": "g, y, dim: y * (g - sum(g * y))",
}
_PARSED = {
    name: (
        [each.strip() for each in text.split(":", 1)[0].split(",")],
        ast.parse(text.split(":", 1)[1].strip(), mode="eval").body,
    )
    for name, text in _MEANINGS.items()
}

# Gradients by operator and argument, in terms of what the page calls x, y and the arguments.
STATED = {
    "convolution": {
        "input": "convolve_transposed(grad, weight)",
        "weight": "correlate(input, grad)",
        "bias": "sum(grad)",
    },
    "native_layer_norm": {
        "input": "(weight * grad - mean(weight * grad) - n * mean(weight * grad * n)) / sigma",
        "weight": "sum(grad * n)",
        "bias": "sum(grad)",
    },
    "native_batch_norm": {
        "input": "weight * (grad - mean(grad) - n * mean(grad * n)) / sigma",
        "weight": "sum(grad * n)",
        "bias": "sum(grad)",
    },
    "cat": {"tensors": "part(grad)"},
    "add": {"self": "grad", "other": "alpha * grad"},
    "sub": {"self": "grad", "other": "-alpha * grad"},
    "rsub_scalar": {"self": "-alpha * grad"},
    "rsub_tensor": {"self": "-alpha * grad", "other": "grad"},
    "pow_scalar": {"self": "grad * exponent * self ** (exponent - 1)"},
    "pow_base": {"exponent": "grad * result * log(self)"},
    "pow_tensor": {
        "self": "grad * exponent * self ** (exponent - 1)",
        "exponent": "grad * result * log(self)",
    },
    "prod_all": {"self": "grad * result / self"},
    "prod_dim": {"self": "spread(grad) * result / self"},
    "cumprod": {"self": "reverse_cumsum(grad * result) / self"},
    "logaddexp": {"self": "grad * exp(self - result)", "other": "grad * exp(other - result)"},
    "mean_dim": {"self": "spread(grad) / N"},
    "var_dim": {"self": "2 * spread(grad) * (self - mean(self)) / (N - correction)"},
    "std_dim": {"self": "spread(grad) * (self - mean(self)) / (result * (N - correction))"},
    "permute": {"self": "permute_back(grad)"},
    "logit": {"self": "grad / (self * (1 - self))"},
    "nll_loss_forward": {"self": "nll_backward(grad, target, weight)"},
    "nll_loss2d_forward": {"self": "nll_backward(grad, target, weight)"},
    "embedding": {"weight": "add_rows(grad, indices)"},
}


def simplified(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a formula with helpers replaced and shortcuts left out."""
    kept = [each for each in statements if not _is_shortcut(each)]
    changed: list[ast.stmt] = []
    for each in kept or statements:
        new = _Replacing().visit(ast.parse(ast.unparse(each)).body[0])
        changed.append(new)
    return changed


def _is_shortcut(statement: ast.stmt) -> bool:
    """Return whether a statement is a branch for one kind of operand, which says nothing new."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    text = ast.unparse(statement.test)
    return any(word in text for word in ("ndarray", "__class__", "isinstance", "native", "sparse"))


class _Replacing(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in _PARSED or node.keywords:
            return node
        names, result = _PARSED[name]
        if len(node.args) < len(names):
            return node
        given = dict(zip(names, node.args, strict=False))
        return _Filling(given).visit(ast.parse(ast.unparse(result), mode="eval").body)


class _Filling(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.given.get(node.id, node)
