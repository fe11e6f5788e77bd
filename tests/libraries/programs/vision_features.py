"""torchvision: feature extraction from models by fx, intermediate layers, torchinfo and thop of them, fine tuning of the last layer."""

import thop
import torch
import torchinfo
import torchvision
from torchvision.models import (
    convnext_tiny,
    densenet121,
    efficientnet_b0,
    mobilenet_v3_small,
    regnet_y_400mf,
    resnet18,
    shufflenet_v2_x0_5,
)
from torchvision.models import (
    feature_extraction as fe,
)

torch.set_default_dtype(torch.float64)
x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
for make, nodes in (
    (resnet18, ["layer1", "layer2.0.relu", "layer4"]),
    (mobilenet_v3_small, ["features.3", "features.8"]),
    (efficientnet_b0, {"features.2": "a", "features.5": "b"}),
    (regnet_y_400mf, ["trunk_output.block2"]),
    (densenet121, ["features.denseblock2"]),
    (shufflenet_v2_x0_5, ["stage3", "conv5"]),
    (convnext_tiny, ["features.1", "features.5"]),
):
    torch.manual_seed(0)
    m = make(weights=None).eval()
    ext = fe.create_feature_extractor(m, return_nodes=nodes)
    o = ext(x)
    print(
        make.__name__,
        {k: (tuple(v.shape), round(v.abs().mean().item(), 6)) for k, v in o.items()},
        len(fe.get_graph_node_names(m)[1]),
    )
torch.manual_seed(0)
m = resnet18(num_classes=4)
[p.requires_grad_(False) for n, p in m.named_parameters() if not n.startswith("fc")]
opt = torch.optim.SGD(m.fc.parameters(), 0.1)
for i in range(4):
    loss = torch.nn.functional.cross_entropy(m(x), torch.tensor([1, 3]))
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
torch.set_default_dtype(torch.float32)
print(str(torchinfo.summary(resnet18(), (1, 3, 64, 64), verbose=0)).splitlines()[-12:])
print(thop.profile(mobilenet_v3_small(), (torch.zeros(1, 3, 64, 64),), verbose=False))
torch.manual_seed(0)
v = torchvision.models.VisionTransformer(32, 8, 2, 2, 32, 48, num_classes=3).eval()
print(
    fe.create_feature_extractor(
        v, ["encoder.layers.encoder_layer_1", "getitem_5"] if False else ["encoder"]
    )(torch.ones(1, 3, 32, 32))["encoder"]
    .sum()
    .item()
)
