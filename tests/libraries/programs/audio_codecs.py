"""transformers: EnCodec, audio spectrogram transformer, VITS and HuBERT from configurations: encode, decode, train a head."""

import numpy as np
import torch
import transformers as hf

hf.logging.set_verbosity_error()
torch.manual_seed(0)
t = torch.arange(1600) / 1600
wave = (torch.sin(2 * 3.14159 * 40 * t) * 0.5)[None, None]
c = hf.EncodecConfig(
    num_filters=4,
    hidden_size=8,
    codebook_size=16,
    codebook_dim=8,
    upsampling_ratios=[4, 2],
    target_bandwidths=[1.5, 3.0],
    sampling_rate=1600,
    num_lstm_layers=1,
    norm_type="weight_norm",
)
m = hf.EncodecModel(c).eval()
e = m.encode(wave, bandwidth=1.5)
y = m.decode(e.audio_codes, e.audio_scales).audio_values
print(e.audio_codes.shape, e.audio_codes.flatten()[:20].tolist(), y.shape, y.sum().item())
c = hf.ASTConfig(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    patch_size=8,
    frequency_stride=8,
    time_stride=8,
    max_length=32,
    num_mel_bins=16,
    num_labels=3,
)
m = hf.ASTForAudioClassification(c)
opt = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
fe = hf.ASTFeatureExtractor(num_mel_bins=16, max_length=32)
x = fe(
    [np.sin(np.arange(8000) * k / 50).astype("float32") for k in (1, 3)],
    sampling_rate=16000,
    return_tensors="pt",
).input_values
print(x.shape, x.mean().item(), x.std().item())
for _ in range(4):
    o = m(x, labels=torch.tensor([0, 2]))
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
c = hf.HubertConfig(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    conv_dim=(8, 8),
    conv_stride=(4, 2),
    conv_kernel=(8, 3),
    num_feat_extract_layers=2,
    vocab_size=12,
    num_conv_pos_embeddings=8,
    num_conv_pos_embedding_groups=2,
    mask_time_length=2,
    mask_time_prob=0.2,
    classifier_proj_size=8,
    apply_spec_augment=True,
)
m = hf.HubertForCTC(c)
np.random.seed(0)
for _ in range(3):
    o = m(
        wave[0][:, :400].repeat(2, 1) + torch.randn(2, 400) * 0.01,
        labels=torch.tensor([[1, 2, 3], [4, 5, -100]]),
    )
    o.loss.backward()
    print(
        o.loss.item(), sum(p.grad.norm() ** 2 for p in m.parameters() if p.grad is not None).item()
    )
c = hf.VitsConfig(
    vocab_size=20,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    ffn_dim=16,
    flow_size=16,
    spectrogram_bins=9,
    prior_encoder_num_flows=2,
    posterior_encoder_num_wavenet_layers=2,
    prior_encoder_num_wavenet_layers=2,
    upsample_initial_channel=16,
    upsample_rates=[4, 2],
    upsample_kernel_sizes=[8, 4],
    resblock_kernel_sizes=[3],
    resblock_dilation_sizes=[[1, 3]],
    duration_predictor_num_flows=2,
    depth_separable_num_layers=1,
)
m = hf.VitsModel(c).eval()
torch.manual_seed(2)
with torch.no_grad():
    o = m(torch.randint(1, 20, (1, 6)))
print(o.waveform.shape, o.waveform.sum().item())
