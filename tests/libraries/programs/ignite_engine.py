"""pytorch-ignite: a trainer with metrics, handlers, checkpoints, early stopping and schedules."""

import os
import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint,
    DiskSaver,
    EarlyStopping,
    TerminateOnNan,
)
from ignite.handlers.param_scheduler import CosineAnnealingScheduler
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, Recall, RunningAverage
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
RunningAverage(output_transform=lambda value: value).attach(trainer, "average")
precision, recall = Precision(average=False), Recall(average=False)
evaluator = create_supervised_evaluator(
    model,
    metrics={
        "accuracy": Accuracy(),
        "loss": Loss(criterion),
        "precision": precision,
        "recall": recall,
        "f1": (precision * recall * 2 / (precision + recall)).mean(),
        "confusion": ConfusionMatrix(2),
    },  # fmt: skip
)
schedule = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, cycle_size=8)
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    measures = evaluator.run(loader).metrics
    print(
        engine.state.epoch,
        engine.state.metrics["average"],
        measures["accuracy"],
        measures["loss"],
        measures["f1"],
    )


@trainer.on(Events.ITERATION_COMPLETED(every=3))
def log(engine):
    print("iteration", engine.state.iteration, engine.state.output, optimizer.param_groups[0]["lr"])


with tempfile.TemporaryDirectory() as folder:
    best = Checkpoint(
        {"model": model, "optimizer": optimizer, "trainer": trainer}, DiskSaver(folder, create_dir=True), n_saved=1,
        score_function=lambda engine: engine.state.metrics["accuracy"], score_name="accuracy",
    )  # fmt: skip
    evaluator.add_event_handler(Events.COMPLETED, best)
    evaluator.add_event_handler(
        Events.COMPLETED, EarlyStopping(5, lambda e: -e.state.metrics["loss"], trainer)
    )
    trainer.run(loader, max_epochs=3)
    file = os.path.join(folder, os.path.basename(best.last_checkpoint))
    print(os.path.basename(file))
    Checkpoint.load_objects(
        {"model": model, "optimizer": optimizer}, torch.load(file, weights_only=False)
    )
print(evaluator.run(loader).metrics["confusion"].flatten().tolist())
