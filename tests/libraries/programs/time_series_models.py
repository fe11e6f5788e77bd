"""transformers: time series (Time Series Transformer, PatchTST, Autoformer), Decision Transformer and Perceiver from configurations: steps, sampling."""

import torch
import transformers as hf

hf.logging.set_verbosity_error()
torch.manual_seed(0)
c = hf.TimeSeriesTransformerConfig(
    prediction_length=4,
    context_length=8,
    lags_sequence=[1, 2, 3],
    num_time_features=1,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=16,
    decoder_ffn_dim=16,
    num_static_categorical_features=1,
    cardinality=[5],
    embedding_dimension=[2],
)
m = hf.TimeSeriesTransformerForPrediction(c)
past = torch.sin(torch.arange(11.0)).repeat(3, 1) + torch.randn(3, 11) * 0.1 + 2
b = dict(
    past_values=past,
    past_time_features=torch.arange(11.0).view(1, 11, 1).repeat(3, 1, 1) / 10,
    past_observed_mask=torch.ones(3, 11),
    static_categorical_features=torch.tensor([[0], [1], [4]]),
    future_time_features=torch.arange(11.0, 15.0).view(1, 4, 1).repeat(3, 1, 1) / 10,
)
opt = torch.optim.Adam(m.parameters(), 1e-2)
for _ in range(5):
    loss = m(**b, future_values=torch.sin(torch.arange(11.0, 15.0)).repeat(3, 1) + 2).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
m.eval()
torch.manual_seed(1)
print(m.generate(**b).sequences.mean(1)[0].tolist())
c = hf.PatchTSTConfig(
    num_input_channels=2,
    context_length=16,
    prediction_length=4,
    patch_length=4,
    patch_stride=4,
    d_model=16,
    num_attention_heads=2,
    num_hidden_layers=2,
    ffn_dim=32,
    distribution_output="student_t",
    loss="nll",
    num_parallel_samples=5,
)
m = hf.PatchTSTForPrediction(c).double()
opt = torch.optim.Adam(m.parameters(), 1e-3)
p, f = torch.randn(4, 16, 2, dtype=torch.double), torch.randn(4, 4, 2, dtype=torch.double)
for _ in range(3):
    loss = m(past_values=p, future_values=f).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
m = hf.PatchTSTForPretraining(
    hf.PatchTSTConfig(
        num_input_channels=2,
        context_length=16,
        patch_length=4,
        patch_stride=4,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        ffn_dim=32,
        mask_type="random",
        random_mask_ratio=0.4,
        use_cls_token=True,
    )
).double()
print(m(past_values=p).loss.item())
c = hf.DecisionTransformerConfig(
    state_dim=4, act_dim=2, hidden_size=16, n_layer=1, n_head=2, max_ep_len=20
)
m = hf.DecisionTransformerModel(c).eval()
o = m(
    states=torch.randn(1, 5, 4),
    actions=torch.randn(1, 5, 2),
    rewards=torch.randn(1, 5, 1),
    returns_to_go=torch.randn(1, 5, 1),
    timesteps=torch.arange(5)[None],
    attention_mask=torch.ones(1, 5),
)
print(o.action_preds.tolist())
c = hf.PerceiverConfig(
    num_latents=4,
    d_latents=16,
    d_model=12,
    num_blocks=1,
    num_self_attends_per_block=2,
    num_self_attention_heads=2,
    num_cross_attention_heads=2,
    num_labels=3,
    vocab_size=50,
    max_position_embeddings=16,
)
m = hf.PerceiverForSequenceClassification(c)
o = m(inputs=torch.randint(0, 50, (2, 9)), labels=torch.tensor([0, 2]))
o.loss.backward()
print(o.loss.item(), o.logits.tolist())
c = hf.AutoformerConfig(
    prediction_length=4,
    context_length=8,
    lags_sequence=[1, 2],
    num_time_features=1,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=16,
    decoder_ffn_dim=16,
    label_length=4,
)
m = hf.AutoformerForPrediction(c).eval()
cost = m(
    past_values=past[:, :10],
    past_time_features=torch.rand(3, 10, 1),
    past_observed_mask=torch.ones(3, 10),
    future_values=past[:, :4],
    future_time_features=torch.rand(3, 4, 1),
).loss
cost.backward()
print(cost.item())
