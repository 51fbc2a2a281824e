# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of torchvision and transformers, with small models of random weights. As in plain.py, but for what they import."""

import tempfile

import torch
import torch.nn.functional as F

from . import plain


def resnet18(device, wrap):
    import torchvision

    model = wrap(torchvision.models.resnet18(num_classes=5).to(device))
    x, y = torch.randn(4, 3, 32, 32).to(device), torch.randint(5, (4,)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return plain.descend(model, lambda m: F.cross_entropy(m(x), y), optimizer=optimizer, steps=2)


def vision_transformer(device, wrap):
    import torchvision

    model = torchvision.models.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=5).to(device)
    x, y = torch.randn(4, 3, 32, 32).to(device), torch.randint(5, (4,)).to(device)
    return plain.descend(model, lambda m: F.cross_entropy(m(x), y))


def detection_lists(device, wrap):
    """A detector's loss over lists of images and of boxes, each of another size."""
    import torchvision

    net = torchvision.models.mobilenet_v3_small(num_classes=8).features[:4].to(device).eval()
    head = torch.nn.Conv2d(24, 5, 1).to(device)
    images = [torch.randn(3, 32, 40).to(device), torch.randn(3, 48, 32).to(device)]
    boxes = [torch.rand(3, 4).to(device), torch.rand(1, 4).to(device)]

    def loss(m):
        total = 0
        for image, box in zip(images, boxes, strict=True):
            found = m(net(image[None]))[0].flatten(1).t()
            distances = torch.cdist(found[:, :4], box)
            total = total + distances.min(0).values.sum() + F.softplus(found[:, 4]).mean()
        return total

    return plain.descend(head, loss)


def train_bert(device, gpus):
    """Hugging Face's Trainer. Returns it and what it has trained."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                        max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    rows = [{"input_ids": torch.randint(50, (8,)), "labels": torch.tensor(i % 2)} for i in range(16)]
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=8 // gpus, max_steps=2, report_to=[], save_strategy="no",
                                      disable_tqdm=True, use_cpu=device == "cpu", optim="sgd", learning_rate=0.01, lr_scheduler_type="constant")
        if gpus == 1 and device != "cpu":
            arguments._n_gpu = 1
        trainer = Trainer(model=model, args=arguments, train_dataset=rows)
        trainer.train()
    return trainer, model


def bert_trainer(device, wrap):
    """On one GPU: its loss in DataParallel is a sum over GPUs, and so another one."""
    return [p.detach() for p in train_bert(device, 1)[1].parameters()]


def gpt2(device, wrap):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model, x = GPT2LMHeadModel(config).to(device), torch.randint(50, (4, 12)).to(device)
    done = plain.descend(model, lambda m: m(x, labels=x).loss)
    model.eval()
    return [*done, model.generate(x[:, :4], max_new_tokens=5, do_sample=False, pad_token_id=0).float()]


def t5(device, wrap):
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0.0, decoder_start_token_id=0)
    model, x = T5ForConditionalGeneration(config).to(device), torch.randint(1, 50, (4, 8)).to(device)
    return plain.descend(model, lambda m: m(input_ids=x, labels=x).loss)
