"""transformers.Trainer: train with evaluation and checkpoints, resume from one, predict."""

import os
import tempfile

import numpy as np
import torch
import transformers as hf

hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
hf.set_seed(0)


class Sums(torch.utils.data.Dataset):
    def __init__(self, seed, size):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(1, 40, (size, 8), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        row = self.tokens[index]
        return {
            "input_ids": row,
            "labels": int(row.sum() > 160),
            "attention_mask": torch.ones(8).long(),
        }


def model():
    config = hf.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16, num_labels=2,
    )  # fmt: skip
    return hf.BertForSequenceClassification(config)


def measure(predictions):
    logits, labels = predictions
    return {"accuracy": float((np.argmax(logits, -1) == labels).mean())}


def trainer(folder, epochs):
    arguments = hf.TrainingArguments(
        folder, num_train_epochs=epochs, per_device_train_batch_size=8, learning_rate=5e-3,
        save_strategy="epoch", eval_strategy="epoch", logging_steps=2, report_to=[], seed=3,
        gradient_accumulation_steps=2, use_cpu=True, disable_tqdm=True, warmup_steps=2,
    )  # fmt: skip
    made = hf.Trainer(
        model(),
        arguments,
        train_dataset=Sums(0, 48),
        eval_dataset=Sums(1, 16),
        compute_metrics=measure,
    )
    made.remove_callback(hf.PrinterCallback)  # prints how long it took
    return made


with tempfile.TemporaryDirectory() as folder:
    torch.manual_seed(0)
    first = trainer(folder, 2)
    print("train", first.train().training_loss)
    for entry in first.state.log_history:
        print(
            entry["step"],
            entry.get("loss", 0),
            entry.get("eval_loss", 0),
            entry.get("eval_accuracy", 0),
        )
    saved = sorted(os.listdir(folder))
    print(*saved, *sorted(os.listdir(os.path.join(folder, saved[0]))))
    torch.manual_seed(0)
    second = trainer(folder, 3)
    print(
        "resumed", second.train(resume_from_checkpoint=True).training_loss, second.state.global_step
    )
    print(*second.predict(Sums(2, 4)).predictions.flatten().tolist())
