"""kornia: augmentation with boxes and points, geometry, filters, feature matching parts, losses, colour, morphology."""

import kornia as K
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 24, 28, requires_grad=True)
for f in (
    lambda: K.filters.gaussian_blur2d(x, (5, 5), (1.2, 1.2)),
    lambda: K.filters.sobel(x),
    lambda: K.filters.canny(x)[0],
    lambda: K.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
    lambda: K.filters.median_blur(x, (3, 3)),
    lambda: K.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
    lambda: K.color.rgb_to_lab(x),
    lambda: K.color.rgb_to_hsv(x),
    lambda: K.color.rgb_to_ycbcr(x),
    lambda: K.enhance.equalize_clahe(x.detach().clamp(0, 1)),
    lambda: K.enhance.adjust_gamma(x, 1.4),
    lambda: K.morphology.dilation(x, torch.ones(3, 3)),
    lambda: K.morphology.gradient(x, torch.ones(3, 3)),
    lambda: K.geometry.transform.rotate(x, torch.tensor([20.0, -30.0])),
    lambda: K.geometry.transform.resize(x, (12, 14), antialias=True),
    lambda: K.geometry.transform.pyrdown(x),
    lambda: K.geometry.transform.elastic_transform2d(
        x,
        torch.rand(2, 2, 24, 28, generator=torch.Generator().manual_seed(1)) * 2 - 1,
        (11, 11),
        (4.0, 4.0),
    ),
    lambda: K.geometry.depth.depth_to_normals(x[:, :1], torch.eye(3)[None].repeat(2, 1, 1)),
    lambda: K.feature.harris_response(x),
    lambda: K.feature.gftt_response(x[:, :1]),
):
    r = f()
    print(r.shape, r.double().mean().item())
    if r.requires_grad:
        (gr,) = torch.autograd.grad(r.sum(), x, allow_unused=True)
        print(gr.abs().mean().item() if gr is not None else None)
aug = K.augmentation.AugmentationSequential(
    K.augmentation.RandomAffine((-15, 15), (0.1, 0.1), p=1.0),
    K.augmentation.RandomHorizontalFlip(p=0.5),
    K.augmentation.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0),
    K.augmentation.RandomErasing(p=0.5),
    data_keys=["input", "mask", "keypoints"],
)
torch.manual_seed(3)
a, b, c = aug(x.detach(), (x[:, :1] > 0.5).float().detach(), torch.rand(2, 4, 2) * 20)
print(a.mean().item(), b.mean().item(), c.sum().item())
for A in (
    K.augmentation.RandomPerspective(p=1.0),
    K.augmentation.RandomResizedCrop((16, 16), p=1.0),
    K.augmentation.RandomGaussianNoise(p=1.0),
    K.augmentation.RandomMotionBlur(3, 35.0, 0.5, p=1.0),
    K.augmentation.RandomPosterize(3, p=1.0),
    K.augmentation.RandomSolarize(p=1.0),
    K.augmentation.RandomThinPlateSpline(p=1.0),
    K.augmentation.RandomGrayscale(p=1.0),
    K.augmentation.RandomBoxBlur(p=1.0),
):
    torch.manual_seed(5)
    print(type(A).__name__, A(x.detach()).mean().item())
print(
    K.losses.ssim_loss(x, x.flip(0), 5).item(),
    K.losses.focal_loss(
        torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4)), 0.5, 2.0, "mean"
    ).item(),
    K.losses.dice_loss(torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))).item(),
    K.losses.total_variation(x).mean().item(),
    K.losses.lovasz_softmax_loss(torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))).item(),
    K.losses.psnr_loss(x, x.flip(0), 1.0).item(),
)
p1, p2 = torch.rand(1, 12, 2), torch.rand(1, 12, 2)
H = K.geometry.homography.find_homography_dlt(
    p1, p1 @ torch.tensor([[1.1, 0.1], [-0.05, 0.9]]) + 0.1
)
print(H.tolist())
print(
    K.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])).tolist(),
    K.geometry.conversions.rotation_matrix_to_quaternion(torch.eye(3)[None]).tolist(),
)
