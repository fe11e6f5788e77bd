"""transformers.Seq2SeqTrainer: MarianMT from a configuration learns to turn sequences round, predicts by generating, resumes."""

import tempfile

import numpy as np
import torch
import transformers as hf
from tokenizers import Tokenizer, models

hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
hf.set_seed(2)
g = torch.Generator().manual_seed(0)


def rows(n):
    out = []
    for _ in range(n):
        k = int(torch.randint(3, 8, (1,), generator=g))
        ids = torch.randint(4, 30, (k,), generator=g).tolist() + [2]
        out.append(
            {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids[::-1][1:] + [2]}
        )
    return out


tokenizer = hf.PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel({f"w{i}": i for i in range(32)}, unk_token="w3")),
    pad_token="w1",
    eos_token="w2",
    unk_token="w3",
    bos_token="w0",
)
config = hf.MarianConfig(
    vocab_size=32,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    max_position_embeddings=32,
    pad_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
    forced_eos_token_id=None,
    dropout=0.1,
)


def make():
    torch.manual_seed(0)
    return hf.MarianMTModel(config)


def measure(p):
    preds, labels = p
    preds = preds[0] if isinstance(preds, tuple) else preds
    return {"mean": float(np.where(preds < 0, 1, preds).mean()), "size": preds.shape[1]}


train, test = rows(24), rows(6)
with tempfile.TemporaryDirectory() as d:

    def trainer(steps):
        a = hf.Seq2SeqTrainingArguments(
            d,
            max_steps=steps,
            per_device_train_batch_size=4,
            learning_rate=1e-2,
            predict_with_generate=True,
            generation_max_length=9,
            generation_num_beams=2,
            eval_strategy="steps",
            eval_steps=4,
            save_strategy="steps",
            save_steps=4,
            logging_steps=2,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            label_smoothing_factor=0.1,
            seed=1,
            lr_scheduler_type="polynomial",
            warmup_steps=2,
        )
        m = make()
        t = hf.Seq2SeqTrainer(
            m,
            a,
            train_dataset=train,
            eval_dataset=test,
            data_collator=hf.DataCollatorForSeq2Seq(tokenizer, m),
            compute_metrics=measure,
            processing_class=tokenizer,
        )
        t.remove_callback(hf.PrinterCallback)
        return t

    t = trainer(8)
    print(t.train().training_loss)
    for e in t.state.log_history:
        print(e["step"], e.get("loss", 0), e.get("eval_loss", 0), e.get("eval_mean", 0))
    t = trainer(12)
    print(t.train(resume_from_checkpoint=True).training_loss, t.state.global_step)
    p = t.predict(test, num_beams=3, max_length=7)
    print(p.predictions.tolist(), p.metrics["test_loss"])
