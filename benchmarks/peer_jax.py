"""The peers' steps in JAX: one compiled function for the whole step, its state donated."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


def variance_fit(jax: Any) -> dict[str, Any]:
    jnp, keys = jax.numpy, jax.random.split(jax.random.key(0))
    x, label = jnp.ones(5), jnp.array([0.0, 0.0, 1.0, 0.0, 0.0])
    b = jax.random.normal(keys[1], (5,))

    def loss(w: Any) -> Any:
        return jnp.var(jax.nn.sigmoid(w @ x + b) - label, ddof=1)

    def update(w: Any) -> Any:
        value, grad = jax.value_and_grad(loss)(w)
        return w - 0.2 * grad, value

    return {"step": looped(jax, update, jax.random.normal(keys[0], (5, 5)))}


def perceptron(widths: tuple[int, ...], batch: int) -> Callable[[Any], dict[str, Any]]:
    def make(jax: Any) -> dict[str, Any]:
        jnp, keys = jax.numpy, jax.random.split(jax.random.key(0), len(widths) + 1)
        sizes = itertools.pairwise(widths)
        weights = [
            (jax.random.normal(key, size) / size[0] ** 0.5, jnp.zeros(size[1]))
            for key, size in zip(keys, sizes, strict=False)
        ]
        x = jax.random.normal(keys[-2], (batch, widths[0]))
        target = jax.random.randint(keys[-1], (batch,), 0, widths[-1])

        def loss(weights: Any) -> Any:
            y = x
            for w, b in weights[:-1]:
                y = jax.nn.relu(y @ w + b)
            w, b = weights[-1]
            scores = jax.nn.log_softmax(y @ w + b)
            return -jnp.take_along_axis(scores, target[:, None], axis=1).mean()

        zeros = jax.tree.map(jnp.zeros_like, weights)
        state = (weights, zeros, jax.tree.map(jnp.zeros_like, weights), jnp.zeros(()))
        return {"step": looped(jax, adam(jax, loss), state)}

    return make


def adam(jax: Any, loss: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a step of Adam on (parameters, both averages, count)."""

    def update(state: Any) -> Any:
        parameters, first, second, count = state
        value, grads = jax.value_and_grad(loss)(parameters)
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        rate, scale = 1e-3 / (1 - 0.9**count), 1 / (1 - 0.999**count)
        parameters = jax.tree.map(
            lambda p, m, v: p - rate * m / (jax.numpy.sqrt(v * scale) + 1e-8),
            *(parameters, first, second),
        )
        return (parameters, first, second, count), value

    return update


def chain(jax: Any) -> dict[str, Any]:
    jnp, keys = jax.numpy, jax.random.split(jax.random.key(0))
    x, weight = (jax.random.normal(key, (1_000_000,)) for key in keys)

    def total(x: Any, weight: Any) -> Any:
        y = jnp.tanh(x * weight + 0.5) * 2.0
        y = jax.nn.relu(y - 0.1) + jax.nn.sigmoid(y)
        return (jnp.exp(-y) * y + jnp.sqrt(y * y + 1.0)).sum()

    # The weight is an argument: as a constant of the program it would be folded into it.
    compiled = jax.jit(jax.value_and_grad(total))
    return {"step": lambda: jax.block_until_ready(compiled(x, weight))}


def looped(jax: Any, update: Callable[[Any], Any], state: Any) -> Callable[[], None]:
    """Return a step that puts the new state in the place of the old one."""
    compiled = jax.jit(update, donate_argnums=0)

    def step() -> None:
        nonlocal state
        state, value = compiled(state)
        value.block_until_ready()

    return step


JAX = {
    "5x5 variance fit, SGD": variance_fit,
    "32-64-64-10, Adam, 32": perceptron((32, 64, 64, 10), 32),
    "784-512-512-10, Adam, 128": perceptron((784, 512, 512, 10), 128),
    "chain of 12 over 10^6": chain,
}
