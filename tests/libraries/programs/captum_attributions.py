"""captum: attributions of a small network by gradients, perturbation and layers."""

import numpy as np
import torch
from captum import attr
from captum.metrics import infidelity, sensitivity_max

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 3, 3)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2)
        self.relu2 = torch.nn.ReLU()
        self.fc = torch.nn.Linear(27, 4)

    def forward(self, x):
        return self.fc(self.relu2(self.pool(self.relu(self.conv(x)))).flatten(1))


net = Net().eval()
x = torch.randn(2, 1, 8, 8)
base = torch.zeros_like(x)


def show(name, value):
    value = value[0] if isinstance(value, tuple) else value
    print(name, *value.shape, value.sum().item(), value.abs().mean().item())


show("saliency", attr.Saliency(net).attribute(x, target=1))
show("input x gradient", attr.InputXGradient(net).attribute(x, target=1))
value, delta = attr.IntegratedGradients(net).attribute(
    x, base, target=2, return_convergence_delta=True, n_steps=20
)
show("integrated", value)
print(*delta.tolist())
show("deeplift", attr.DeepLift(net).attribute(x, base, target=0))
show("deepliftshap", attr.DeepLiftShap(net).attribute(x, torch.randn(3, 1, 8, 8), target=0))
show("guided", attr.GuidedBackprop(net).attribute(x, target=1))
show("deconvolution", attr.Deconvolution(net).attribute(x, target=1))
torch.manual_seed(1)
np.random.seed(0)
show(
    "gradientshap",
    attr.GradientShap(net).attribute(x, torch.randn(3, 1, 8, 8), n_samples=4, target=0),
)
show("ablation", attr.FeatureAblation(net).attribute(x, target=1))
show("occlusion", attr.Occlusion(net).attribute(x, (1, 3, 3), target=1, strides=(1, 2, 2)))
mask = torch.arange(64).reshape(1, 1, 8, 8) // 16
torch.manual_seed(1)
show(
    "shapley", attr.ShapleyValueSampling(net).attribute(x, target=1, feature_mask=mask, n_samples=3)
)
show("permutation", attr.FeaturePermutation(net).attribute(x, target=1, feature_mask=mask))
show("lrp", attr.LRP(net).attribute(x, target=1))
show(
    "noise tunnel",
    attr.NoiseTunnel(attr.Saliency(net)).attribute(x, nt_samples=3, stdevs=0.1, target=1),
)
show("layer gradcam", attr.LayerGradCam(net, net.conv).attribute(x, target=1))
show("guided gradcam", attr.GuidedGradCam(net, net.conv).attribute(x, target=1))
show("layer conductance", attr.LayerConductance(net, net.pool).attribute(x, target=1, n_steps=10))
show("layer activation", attr.LayerActivation(net, net.pool).attribute(x))
show("internal influence", attr.InternalInfluence(net, net.pool).attribute(x, target=1, n_steps=10))
show(
    "layer integrated",
    attr.LayerIntegratedGradients(net, net.pool).attribute(x, base, target=1, n_steps=10),
)
show("layer deeplift", attr.LayerDeepLift(net, net.pool).attribute(x, base, target=1))
show("neuron gradient", attr.NeuronGradient(net, net.pool).attribute(x, (0, 1, 1)))
show(
    "neuron conductance",
    attr.NeuronConductance(net, net.pool).attribute(x, (0, 1, 1), target=1, n_steps=10),
)
upsampled = attr.LayerAttribution.interpolate(
    attr.LayerGradCam(net, net.conv).attribute(x, target=1), (8, 8)
)
show("upsampled", upsampled)


def perturb(inputs):
    noise = torch.ones_like(inputs) * 0.01
    return noise, inputs - noise


show("infidelity", infidelity(net, perturb, x, attr.Saliency(net).attribute(x, target=1), target=1))
torch.manual_seed(2)
show("sensitivity", sensitivity_max(attr.Saliency(net).attribute, x, target=1))
