"""transformers: Whisper and Wav2Vec2 on tones: features, training, transcripts, CTC."""

import numpy as np
import torch
from transformers import (
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

torch.manual_seed(0)
fe = WhisperFeatureExtractor(feature_size=20, chunk_length=1)
wave = [np.sin(np.arange(12000) * f * 0.01).astype("float32") for f in (1, 2)]
feats = fe(wave, sampling_rate=16000, return_tensors="pt").input_features
print(feats.shape, feats.mean().item(), feats.std().item())
cfg = WhisperConfig(
    vocab_size=60,
    num_mel_bins=20,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    max_source_positions=50,
    max_target_positions=24,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=3,
    suppress_tokens=[],
    begin_suppress_tokens=[],
)
m = WhisperForConditionalGeneration(cfg)
labels = torch.randint(4, 60, (2, 8))
opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
for i in range(5):
    o = m(input_features=feats, labels=labels)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
m.eval()
print(m.generate(feats, max_new_tokens=6, do_sample=False).tolist())
w = Wav2Vec2ForCTC(
    Wav2Vec2Config(
        vocab_size=20,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=40,
        conv_dim=(16, 16),
        conv_stride=(5, 4),
        conv_kernel=(10, 8),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        mask_time_prob=0.0,
        ctc_loss_reduction="mean",
        hidden_dropout=0.0,
        attention_dropout=0.0,
        feat_proj_dropout=0.0,
        activation_dropout=0.0,
        layerdrop=0.0,
    )
)
x = torch.tensor(np.stack(wave))[:, :2000]
for i in range(3):
    o = w(x, labels=torch.randint(1, 20, (2, 5)))
    o.loss.backward()
    print(o.loss.item(), o.logits.shape)
print(sum(p.grad.norm().item() for p in w.parameters() if p.grad is not None))
