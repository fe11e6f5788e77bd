"""transformers.Trainer: a custom loss, callbacks, early stopping, gradient accumulation, best model, label names."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

set_seed(7)


class Data(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(2, 50, (n, 10), generator=g)
        self.y = self.x.sum(1) % 2

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {
            "input_ids": self.x[i],
            "attention_mask": torch.ones(10, dtype=torch.long),
            "labels": self.y[i],
        }


class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        print(
            state.global_step,
            {
                k: v
                for k, v in sorted(logs.items())
                if "runtime" not in k and "per_second" not in k and "flos" not in k
            },
        )


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = torch.nn.functional.cross_entropy(
            out.logits, labels, weight=torch.tensor([1.0, 2.0])
        )
        return (loss, out) if return_outputs else loss


def metrics(p):
    return {"acc": float((p.predictions.argmax(-1) == p.label_ids).mean())}


with tempfile.TemporaryDirectory() as d:
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=50, dim=24, n_layers=2, n_heads=4, hidden_dim=32, max_position_embeddings=16
        )
    )
    args = TrainingArguments(
        d,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=3,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="acc",
        logging_steps=4,
        report_to=[],
        max_grad_norm=0.5,
        use_cpu=True,
        disable_tqdm=True,
        save_total_limit=2,
        weight_decay=0.01,
        label_smoothing_factor=0.0,
    )
    t = Weighted(
        model=model,
        args=args,
        train_dataset=Data(40, 0),
        eval_dataset=Data(16, 1),
        compute_metrics=metrics,
        callbacks=[Log(), EarlyStoppingCallback(3)],
    )
    from transformers import PrinterCallback

    t.remove_callback(PrinterCallback)
    r = t.train()
    print(r.global_step, r.training_loss)
    print(t.state.best_metric, sorted(t.evaluate())[:3])
