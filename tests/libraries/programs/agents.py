"""stable-baselines3: PPO, A2C and DQN on CartPole: learn, save, load, predict."""

import tempfile

import gymnasium
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)
environment = gymnasium.make("CartPole-v1")
for kind, options in (
    (PPO, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
    (A2C, {}),
    (DQN, {"learning_starts": 20, "buffer_size": 200}),
):
    agent = kind(
        "MlpPolicy", environment, seed=0, device="cpu", policy_kwargs={"net_arch": [16]}, **options
    )
    agent.learn(128)
    total = sum(p.double().abs().sum() for p in agent.policy.parameters()).item()
    with tempfile.TemporaryDirectory() as folder:
        agent.save(f"{folder}/agent")
        again = kind.load(f"{folder}/agent", env=environment, device="cpu")
    action, _ = again.predict(np.array([0.1, 0.2, -0.1, 0.0], dtype=np.float32), deterministic=True)
    mean, spread = evaluate_policy(again, again.get_env(), n_eval_episodes=2, warn=False)
    print(kind.__name__, total, int(action), mean, spread)
environment = gymnasium.make("Pendulum-v1")
for kind in (SAC, TD3):
    agent = kind(
        "MlpPolicy",
        environment,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [16]},
        learning_starts=20,
        buffer_size=200,
    )
    agent.learn(60)
    print(kind.__name__, sum(p.double().abs().sum() for p in agent.policy.parameters()).item())
