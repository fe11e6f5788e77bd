"""kornia: colours, filters, geometry, augmentation, losses, features, gradients through them."""

import kornia
import kornia.augmentation as K
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 16, 16, requires_grad=True)


def show(name, value):
    value = value.detach().double()
    print(name, *value.shape, value.sum().item(), value.std().item())


for name in (
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_lab",
    "rgb_to_yuv",
    "rgb_to_hls",
    "rgb_to_ycbcr",
):
    show(name, getattr(kornia.color, name)(x))
f = kornia.filters
show("gaussian", f.gaussian_blur2d(x, (3, 3), (1.5, 1.5)))
show("sobel", f.sobel(x))
show("median", f.median_blur(x, (3, 3)))
show("laplacian", f.laplacian(x, 3))
show("canny", f.canny(x)[0])
show("bilateral", f.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)))
show("unsharp", f.unsharp_mask(x, (3, 3), (1.0, 1.0)))
g = kornia.geometry
show("rotate", g.rotate(x, torch.tensor([30.0, 45.0])))
show("resize", g.resize(x, (8, 8)))
show("affine", g.warp_affine(x, torch.eye(2, 3).repeat(2, 1, 1) * 0.9, (12, 12)))
points = torch.tensor([[[0.0, 0.0], [15.0, 0.0], [15.0, 15.0], [0.0, 15.0]]]).repeat(2, 1, 1)
matrix = g.get_perspective_transform(points, points + torch.rand(2, 4, 2))
show("perspective", g.warp_perspective(x, matrix, (16, 16)))
show("elastic", g.elastic_transform2d(x, torch.rand(2, 2, 16, 16) * 2 - 1))
show("pyramid", g.pyrdown(x))
show("homography", g.find_homography_dlt(points, points * 2 + 1))
show("quaternion", g.axis_angle_to_rotation_matrix(torch.randn(3, 3)))
show("morphology", kornia.morphology.opening(x, torch.ones(3, 3)))
show("equalize", kornia.enhance.equalize(x.detach()))
show("contrast", kornia.enhance.adjust_contrast(x, 0.7))
show("ssim", kornia.metrics.ssim(x, x.detach().flip(-1), 5))
loss = kornia.losses.ssim_loss(f.gaussian_blur2d(x, (5, 5), (1.0, 1.0)), x.detach(), 5)
loss = (
    loss
    + kornia.losses.total_variation(x).mean()
    + kornia.losses.psnr_loss(x, x.detach() * 0.9, 1.0)
)
loss.backward()
show("gradient", x.grad)
logits, labels = torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
print(
    kornia.losses.dice_loss(logits, labels).item(),
    kornia.losses.focal_loss(logits, labels, 0.5, reduction="mean").item(),
)
torch.manual_seed(1)
many = K.AugmentationSequential(
    K.RandomHorizontalFlip(p=0.5), K.RandomAffine(15.0, p=1.0), K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    K.RandomErasing(p=1.0), K.Normalize(torch.tensor([0.5] * 3), torch.tensor([0.2] * 3)),
    data_keys=["input", "mask"],
)  # fmt: skip
image, mask = many(x.detach(), (x.detach() > 0.5).float())
show("augmented", image)
show("mask", mask)
show("corners", kornia.feature.harris_response(x))
show("hog", kornia.feature.SIFTDescriptor(16)(x[:, :1].detach()))
show("distance", kornia.contrib.distance_transform((x[:, :1].detach() > 0.9).float()))
