# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Q-learning with a target network and a replay buffer; the model acts on one state at a time, and learns from batches."""

import collections
import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(3)
torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Transition = collections.namedtuple("Transition", "state action next_state reward")


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.value, self.advantage = nn.Linear(4, 32), nn.Linear(32, 1), nn.Linear(32, 2)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        a = self.advantage(x)
        return self.value(x) + a - a.mean(1, keepdim=True)


class Cart:
    """A state that drifts, and is pushed by the actions."""

    def __init__(self):
        self.state = torch.zeros(4)

    def step(self, action):
        push = torch.tensor([0.0, 0.1, 0.0, -0.1]) * (1 if action else -1)
        self.state = 0.95 * self.state + push + 0.05 * torch.randn(4)
        return self.state, 1.0 - self.state.abs().sum().item()


policy_net = DQN().to(device)
if torch.cuda.device_count() > 1:
    policy_net = nn.DataParallel(policy_net)
target_net = copy.deepcopy(policy_net)
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True, eps=1e-4)
memory, cart = collections.deque(maxlen=200), Cart()
state = cart.state
for t in range(24):
    if random.random() < 0.5:
        with torch.no_grad():
            action = policy_net(state[None].to(device)).max(1).indices.item()
    else:
        action = random.randrange(2)
    next_state, reward = cart.step(action)
    memory.append(Transition(state, torch.tensor([action]), next_state, torch.tensor([reward])))
    state = next_state
    if len(memory) < 13 or t % 2:
        continue
    batch = Transition(*(torch.stack(values).to(device) for values in zip(*random.sample(list(memory), 13))))
    with torch.no_grad():
        goal = batch.reward + 0.9 * target_net(batch.next_state).max(1, keepdim=True).values
    loss = F.smooth_l1_loss(policy_net(batch.state).gather(1, batch.action), goal)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    target_state = target_net.state_dict()
    for name, value in policy_net.state_dict().items():
        target_state[name] = 0.1 * value + 0.9 * target_state[name]
    target_net.load_state_dict(target_state)
    print(f"step {t}: loss {loss.item():.6f}", flush=True)
