#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Times JAX's data-parallel training step on host devices and prints JSON.

One jitted step of forward, cross entropy, backward and AdamW in f32; with --devices 2 the batch is
sharded over two devices of the host and the parameters are replicated, so that XLA adds the
all-reduce of the gradients. mlp and gpt are those of peer_models.py.
"""

import argparse
import json
import os
import statistics
import time

GPT_LAYERS, GPT_WIDTH, GPT_HEADS, GPT_LENGTH, GPT_VOCABULARY = 4, 256, 4, 128, 256
DEFAULT_BATCH = {"mlp": 512, "gpt": 16}


def linear_parameters(key, inputs, outputs):
    import jax
    bound = inputs ** -0.5
    w, b = jax.random.split(key)
    return {"w": jax.random.uniform(w, (inputs, outputs), minval=-bound, maxval=bound),
            "b": jax.random.uniform(b, (outputs,), minval=-bound, maxval=bound)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def mlp_parameters(key):
    import jax
    keys = jax.random.split(key, 3)
    return [linear_parameters(k, *sizes) for k, sizes in zip(keys, [(784, 1024), (1024, 1024), (1024, 10)])]


def mlp(parameters, x):
    import jax
    for p in parameters[:-1]:
        x = jax.nn.relu(linear(p, x))
    return linear(parameters[-1], x)


def gpt_parameters(key):
    import jax
    import jax.numpy as jnp
    embed, position, *blocks = jax.random.split(key, 2 + GPT_LAYERS)
    norm = lambda: {"w": jnp.ones(GPT_WIDTH), "b": jnp.zeros(GPT_WIDTH)}

    def block(k):
        qkv, out, fc, proj = jax.random.split(k, 4)
        return {"norm1": norm(), "norm2": norm(), "qkv": linear_parameters(qkv, GPT_WIDTH, 3 * GPT_WIDTH),
                "out": linear_parameters(out, GPT_WIDTH, GPT_WIDTH),
                "fc": linear_parameters(fc, GPT_WIDTH, 4 * GPT_WIDTH),
                "proj": linear_parameters(proj, 4 * GPT_WIDTH, GPT_WIDTH)}

    return {"embed": 0.02 * jax.random.normal(embed, (GPT_VOCABULARY, GPT_WIDTH)),
            "position": 0.02 * jax.random.normal(position, (GPT_LENGTH, GPT_WIDTH)),
            "blocks": [block(k) for k in blocks], "norm": norm()}


def layer_norm(p, x):
    import jax.numpy as jnp
    centred = x - x.mean(-1, keepdims=True)
    return p["w"] * centred / jnp.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) + p["b"]


def gpt(parameters, index):
    import jax
    import jax.numpy as jnp
    x = parameters["embed"][index] + parameters["position"]
    for p in parameters["blocks"]:
        heads = linear(p["qkv"], layer_norm(p["norm1"], x))
        q, k, v = (y.reshape(*y.shape[:2], GPT_HEADS, -1) for y in jnp.split(heads, 3, axis=2))
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(p["out"], y.reshape(x.shape))
        x = x + linear(p["proj"], jax.nn.gelu(linear(p["fc"], layer_norm(p["norm2"], x)), approximate=True))
    return layer_norm(parameters["norm"], x) @ parameters["embed"].T


def make_batch(model, rows):
    import jax
    x, y = jax.random.split(jax.random.key(2))
    if model == "gpt":
        shape = (rows, GPT_LENGTH)
        return jax.random.randint(x, shape, 0, GPT_VOCABULARY), jax.random.randint(y, shape, 0, GPT_VOCABULARY)
    return jax.random.normal(x, (rows, 784)), jax.random.randint(y, (rows,), 0, 10)


def make_step(forward):
    """AdamW with PyTorch's defaults (decay 0.01) and a learning rate of 1e-3."""
    import jax
    import jax.numpy as jnp

    def loss(parameters, x, y):
        log_p = jax.nn.log_softmax(forward(parameters, x))
        return -jnp.take_along_axis(log_p, y[..., None], axis=-1).mean()

    def step(state, x, y):
        parameters, m, v, t = state
        value, grads = jax.value_and_grad(loss)(parameters, x, y)
        t = t + 1
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
        update = lambda p, a, b: p * (1 - 1e-5) - 1e-3 * (a / (1 - 0.9 ** t)) / (
            jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8)
        return (jax.tree.map(update, parameters, m, v), m, v, t), value

    return jax.jit(step, donate_argnums=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=DEFAULT_BATCH, required=True)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--devices", type=int, default=2, help="number of devices of the host")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=10)
    args = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={args.devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(jax.devices()[:args.devices], ("rows",))
    batch = args.batch or DEFAULT_BATCH[args.model]
    rows = NamedSharding(mesh, PartitionSpec("rows"))
    x, y = (jax.device_put(a, rows) for a in make_batch(args.model, batch))
    parameters = {"mlp": mlp_parameters, "gpt": gpt_parameters}[args.model](jax.random.key(1))
    zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)
    state = jax.device_put((parameters, zeros(), zeros(), jnp.zeros(())), NamedSharding(mesh, PartitionSpec()))
    step = make_step({"mlp": mlp, "gpt": gpt}[args.model])
    times = []
    for i in range(args.warmup + args.steps):
        start = time.perf_counter()
        state, value = step(state, x, y)
        jax.block_until_ready((state, value))
        if i >= args.warmup:
            times.append(1e3 * (time.perf_counter() - start))
    ordered = sorted(times)
    print(json.dumps({
        "schema_version": 1, "program": "jax " + jax.__version__, "mode": "sharded batch", "model": args.model,
        "batch": batch, "devices": args.devices, "steps": args.steps, "loss": float(value),
        "step_ms": {"p50": round(statistics.median(ordered), 3),
                    "p90": round(ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))], 3)}}))


if __name__ == "__main__":
    main()
