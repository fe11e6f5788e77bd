"""An actor and a critic learn together to balance a pole on a cart.

The environment is written below, with the usual equations of motion, so nothing needs to be
installed. The actor gives the probabilities of pushing left or right; the critic guesses how much
reward is still to come. An action is made likelier if it brought more than the critic expected.

    python examples/actor_critic.py
    python examples/actor_critic.py --steps 50 --log-every 1
"""

import argparse
import math
import random

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F


class CartPole:
    """A pole on a cart; the reward is 1 for each fiftieth of a second that it stays upright."""

    GRAVITY = 9.8
    CART_MASS = 1.0
    POLE_MASS = 0.1
    HALF_LENGTH = 0.5
    FORCE = 10.0
    SECONDS = 0.02
    LARGEST_ANGLE = math.radians(12)
    LARGEST_POSITION = 2.4

    def __init__(self, seed):
        self.random = random.Random(seed)

    def reset(self):
        """Start an episode; returns (position, velocity, angle, angular velocity)."""
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        """Push left (0) or right (1); returns the new state and whether the episode is over."""
        position, velocity, angle, angular_velocity = self.state
        force = self.FORCE if action == 1 else -self.FORCE
        sine, cosine = math.sin(angle), math.cos(angle)
        mass = self.CART_MASS + self.POLE_MASS
        moment = self.POLE_MASS * self.HALF_LENGTH

        push = (force + moment * angular_velocity**2 * sine) / mass
        angular_acceleration = (self.GRAVITY * sine - cosine * push) / (
            self.HALF_LENGTH * (4 / 3 - self.POLE_MASS * cosine**2 / mass)
        )
        acceleration = push - moment * angular_acceleration * cosine / mass

        # Euler's method: each quantity moves along its old rate of change.
        self.state = [
            position + self.SECONDS * velocity,
            velocity + self.SECONDS * acceleration,
            angle + self.SECONDS * angular_velocity,
            angular_velocity + self.SECONDS * angular_acceleration,
        ]
        over = abs(self.state[0]) > self.LARGEST_POSITION or abs(self.state[2]) > self.LARGEST_ANGLE
        return self.state, over


class Policy(nn.Module):
    """One hidden layer, shared by the two heads."""

    def __init__(self, hidden):
        super().__init__()
        self.shared = nn.Linear(4, hidden)
        self.actor = nn.Linear(hidden, 2)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, state):
        x = F.relu(self.shared(state))
        return F.softmax(self.actor(x), dim=-1), self.critic(x)


def play(policy, environment, longest):
    """One episode; returns what the loss needs: log probabilities, values, rewards."""
    log_probs, values, rewards = [], [], []
    state = environment.reset()
    for _ in range(longest):
        probs, value = policy(torch.tensor(state))
        distribution = Categorical(probs)
        action = distribution.sample()
        state, over = environment.step(action.item())
        log_probs.append(distribution.log_prob(action))
        values.append(value.squeeze(-1))
        rewards.append(1.0)
        if over:
            break
    return torch.stack(log_probs), torch.stack(values), rewards


def discounted_returns(rewards, gamma):
    """What was still to come at each moment; a reward one step later counts `gamma` times."""
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.append(total)
    returns = torch.tensor(returns[::-1])
    # Of mean 0 and deviation 1, so that the learning rate fits short and long episodes.
    return (returns - returns.mean()) / (returns.std() + 1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=500, help="most episodes; a step follows each")
    parser.add_argument("--log-every", type=int, default=10, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--gamma", type=float, default=0.99, help="discount of later rewards")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--longest", type=int, default=200, help="end an episode after these steps")
    parser.add_argument("--goal", type=float, default=175, help="running reward that is enough")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    environment = CartPole(args.seed)
    policy = Policy(args.hidden)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)

    running_reward = 10.0
    for step in range(1, args.steps + 1):
        log_probs, values, rewards = play(policy, environment, args.longest)
        returns = discounted_returns(rewards, args.gamma)
        # The critic's error is a constant to the actor: without `detach` the actor's loss
        # would also pull at the critic.
        advantages = returns - values.detach()
        actor_loss = -(log_probs * advantages).sum()
        critic_loss = F.smooth_l1_loss(values, returns, reduction="sum")
        loss = actor_loss + critic_loss

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        running_reward += 0.05 * (sum(rewards) - running_reward)
        if step % args.log_every == 0:
            print(
                f"step {step}  loss {loss.item():.8g}"
                f"  reward {sum(rewards):.0f}  running {running_reward:.2f}",
                flush=True,
            )
        if running_reward > args.goal:
            print(f"the pole is balanced after {step} episodes")
            break
    print(f"running reward {running_reward:.2f}")


if __name__ == "__main__":
    main()
