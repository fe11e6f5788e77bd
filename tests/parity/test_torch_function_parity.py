"""`__torch_function__` in both packages: who is told of which call, with which arguments."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch

import taper

# `s` is a tensor of a subclass, or a plain one under a mode; `p` is a plain one.
EXPRESSIONS = """
s+1
1+s
s-1
1-s
s*s
2*s
s/2
2/s
s//2
s%2
s**2
2**s
-s
abs(s)
s@s.t()
s<1
1<s
s==1
s!=s
~(s>0)
s.add(1)
s.add(1,alpha=2)
s.add_(1)
s.__iadd__(1)
torch.add(s,1)
torch.add(s,other=1)
torch.add(p,s)
torch.add(input=p,other=s)
s[0]
s[0,1:]
s[s>0]
s.__setitem__(0,1.)
s.shape
s.dtype
s.device
s.grad
s.requires_grad
s.T
s.mT
s.data
s.is_leaf
s.grad_fn
s.ndim
s.size()
s.size(0)
s.dim()
s.numel()
len(s)
list(s)
s.sum()
s.sum(0)
s.sum(dim=0,keepdim=True)
s.mean()
s.max(0)
s.split(1)
s.chunk(2)
s.unbind()
s.reshape(-1)
s.view(9)
s.view(3,3)
s.permute(1,0)
s.transpose(0,1)
s.clone()
s.detach()
s.contiguous()
s.to(torch.float64)
s.float()
s.double()
s.cpu()
s.item() if s.numel()==1 else s[0,0].item()
s.tolist()
s.numpy()
repr(s)
float(s[0,0])
bool(s[0,0])
s.new_zeros(2)
s.new_empty(2).zero_()
torch.zeros_like(s)
torch.ones_like(s)
torch.rand_like(s)
torch.empty_like(s)
torch.full_like(s,2)
torch.cat([s,p])
torch.cat((p,s),1)
torch.stack([s,s])
torch.where(s>0,s,p)
torch.einsum('ij,jk->ik',s,p)
torch.matmul(s,p)
torch.relu(s)
F.relu(s)
F.relu(s,inplace=True)
F.linear(s,p)
F.linear(p,s)
F.softmax(s,dim=-1)
F.cross_entropy(s,torch.tensor([0,1,2]))
F.mse_loss(s,p)
F.dropout(s,0.5)
F.layer_norm(s,(3,))
F.gelu(s)
F.interpolate(s[None,None],scale_factor=2)
F.pad(s,(1,1))
F.conv2d(s[None,None],torch.ones(1,1,2,2))
F.max_pool2d(s[None],2)
F.embedding(torch.tensor([0,1]),s)
F.normalize(s)
s.exp().log()
s.to(p)
p.to(s)
s.type(torch.float64)
s.type()
s.requires_grad_()
torch.sum(s)
torch.linalg.norm(s)
torch.linalg.inv(s+3*torch.eye(3))
torch.fft.fft(s)
torch.special.erf(s)
s.fill_(2)
s.copy_(p)
p.copy_(s)
torch.allclose(s,p)
torch.equal(s,p)
torch.is_tensor(s)
torch.numel(s)
torch.is_floating_point(s)
s.is_floating_point()
torch.unbind(s)
torch.split(s,2)
torch.topk(s,2)
torch.sort(s)
s.sort()
torch.broadcast_tensors(s,p)
torch.meshgrid(s[0],p[0],indexing='ij')
torch.tensordot(s,p,1)
torch.unique(s)
torch.norm(s)
torch.cdist(s,p)
s.unique()
s.type_as(p)
s.expand_as(p)
s.storage_offset()
s.stride()
s.is_contiguous()
s.data_ptr() and None
s.element_size()
s.register_hook
s.layout
s.itemsize
s.nbytes
s.real
s.H
s._version
3 in s
hash(s) and None
s.untyped_storage() and None
torch.atleast_1d(s)
s.unflatten(0,(1,3))
s.masked_fill(s>0,0.)
s.index_select(0,torch.tensor([0]))
s.scatter(0,torch.tensor([[0]]),1.)
s.gather(0,torch.tensor([[0]]))
s.pow(2)
s.std()
s.var(0)
s.cumsum(0)
s.repeat(2,1)
s.flatten()
s.squeeze()
s.unsqueeze(0)
s.is_complex()
s.bernoulli()
s.uniform_()
torch.bernoulli(s.abs().clamp(0,1))
torch.as_tensor(s)
torch.tensor(s[0,0])
torch.asarray(s)
F.scaled_dot_product_attention(s,s,s)
(s*2).requires_grad_().sum().backward()
torch.add(s,1,out=p.clone())
torch.max(s)
torch.max(s,0)
torch.max(s,p)
torch.var_mean(s)
torch.lerp(s,p,0.5)
torch.addmm(s,p,p)
torch.baddbmm(s[None],p[None],p[None])
torch.tril(s)
torch.clamp(s,0,1)
torch.clamp(s,min=0)
s.clamp(min=0)
s.clamp_(max=1)
torch.histc(s)
torch.nonzero(s)
s.nonzero(as_tuple=True)
torch.where(s>0)
torch.argmax(s)
torch.logsumexp(s,0)
torch.outer(s[0],s[0])
torch.diag(s)
torch.trace(s)
s.masked_scatter_(s>0,p)
s.put_(torch.tensor([0]),torch.tensor([1.]))
s.index_put_((torch.tensor([0]),),torch.tensor(1.))
s.zero_()
s.sub(1)
torch.rsub(s,1)
s.__rsub__(1)
s.__rpow__(2)
s.__rdiv__(2)
s.__rmod__(2)
(s>0)&(s>0)
(s>0)|True
s.__pos__()
s.__matmul__(p)
s.__rmatmul__(p)
s.__floordiv__(2)
s.__contains__(3)
s.__format__('')
s.__reversed__()
s.__dir__() and None
s.__len__()
s.unflatten(0,[3])
s.split([1,2])
torch.split_with_sizes(s,[1,2])
torch.tensor_split(s,2)
torch.hsplit(s,3)
torch.vstack([s,s])
torch.concat([s,s])
torch.hstack([s,p])
torch.broadcast_to(s,(2,3,3))
torch.flip(s,[0])
torch.roll(s,1)
torch.nan_to_num(s)
torch.isnan(s)
torch.isfinite(s)
torch.is_nonzero(s[0,0])
torch.isclose(s,p)
torch.result_type(s,p)
torch.is_same_size(s,p)
"""
# What a mode sees more of: how layers are made, how tensors are pickled.
OF_SUBCLASSES = """
s.new_tensor([1.])
F.one_hot(torch.tensor([0,1]).as_subclass(S))
s.apply_(lambda x:x)
s.square()
torch.nn.init.zeros_(s)
torch.nn.init.normal_(s)
torch.nn.init.kaiming_uniform_(s)
torch.nn.Parameter(s)
torch.nn.Linear(3,2)(s)
torch.nn.ReLU()(s)
torch.nn.LayerNorm(3)(s)
torch.nn.Conv2d(1,1,2)(s[None,None])
torch.nn.BatchNorm1d(3)(s)
torch.nn.Softmax(-1)(s)
torch.nn.Dropout()(s)
torch.nn.Embedding(3,2)(torch.tensor([0]).as_subclass(S))
torch.nn.CrossEntropyLoss()(s,torch.tensor([0,1,2]))
torch.nn.MSELoss()(s,p)
torch.nn.LSTM(3,2)(s)[0]
copy.copy(s)
torch.bincount(torch.tensor([1,2]).as_subclass(S))
s.__reduce_ex__(2) and None
"""


def shown(value):
    """A value as both packages show it: the class of a tensor, not its elements."""
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({','.join(map(shown, value))})"
    if isinstance(value, (taper.Tensor, torch.Tensor)):
        return type(value).__name__
    return "callable" if callable(value) else repr(value)


def kinds_of(package, log):
    """A subclass and a mode that write down what they are told."""

    def write(func, types, args, kwargs):
        name = package.overrides.resolve_name(func)
        named = {key: shown(value) for key, value in (kwargs or {}).items()}
        log.append((name, [each.__name__ for each in types], shown(args), named))

    class Told(package.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            write(func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Watch(package.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            write(func, types, args, kwargs)
            return func(*args, **(kwargs or {}))

    return Told, Watch


def outcome(package, text, mode):
    log = []
    told, watch = kinds_of(package, log)
    package.manual_seed(0)
    p = package.arange(9.0).reshape(3, 3) / 3 - 1
    s = p.clone() if mode else p.clone().as_subclass(told)
    names = {"torch": package, "F": package.nn.functional, "S": told, "copy": copy, "s": s, "p": p}
    log.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode:
                with watch():
                    result = eval(text, names)
            else:
                result = eval(text, names)
        except RuntimeError as error:
            return log, type(error).__name__
    answer = isinstance(result, (taper.Tensor, torch.Tensor, tuple, list))
    return log, shown(result) if answer else type(result).__name__


@pytest.mark.parametrize("text", (EXPRESSIONS + OF_SUBCLASSES).split("\n"))
def test_a_subclass_is_told_and_keeps_its_type(text):
    if text:
        assert outcome(taper, text, False) == outcome(torch, text, False)


@pytest.mark.parametrize("text", EXPRESSIONS.split("\n"))
def test_a_mode_is_told(text):
    if text:
        assert outcome(taper, text, True) == outcome(torch, text, True)


WITH_OTHERS = """
torch.add(d,1)
torch.add(t,d)
t+d
t*d
t@d
t.add(d)
t.matmul(d)
torch.matmul(t,d)
torch.stack([d,d])
torch.cat([t,d])
F.relu(d)
F.linear(t,d)
F.mse_loss(t,d)
F.cross_entropy(d,t)
torch.sum(d)
torch.sum(d,dim=0)
torch.linalg.cholesky(d)
torch.linalg.solve(t,d)
torch.diagonal(d)
torch.einsum('ij,jk',t,d)
torch.where(t>0,t,d)
torch.logdet(d)
torch.inverse(d)
torch.squeeze(d,-1)
torch.unsqueeze(d,0)
torch.transpose(d,0,1)
torch.permute(d,(0,1))
torch.reshape(d,(2,))
torch.zeros_like(d)
torch.allclose(t,d)
torch.equal(d,t)
torch.is_tensor(d)
torch.numel(d)
torch.bmm(t,d)
torch.trace(d)
torch.exp(d)
torch.pow(d,2)
torch.clone(d)
torch.max(d)
torch.max(d,0)
torch.isclose(d,t)
torch.broadcast_tensors(d,t)
torch.norm(d)
torch.linalg.norm(d)
torch.fft.fft(d)
torch.nn.functional.normalize(d)
torch.nn.functional.softmax(d,-1)
torch.tensordot(t,d)
torch.addmm(t,t,d)
torch.clamp(d,0,1)
torch.split(d,1)
torch.chunk(d,2)
t-d
t/d
torch.gather(d,0,t)
torch.nn.Linear(2,2)(d)
torch.nn.ReLU()(d)
"""


def told_another(package, text):
    class Other:
        """No tensor, but does the work of functions."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            name = package.overrides.resolve_name(func)
            return name, [each.__name__ for each in types], len(args), sorted(kwargs or {})

    names = {"torch": package, "F": package.nn.functional}
    return eval(text, names, {"d": Other(), "t": package.ones(2, 2)})


def test_what_is_no_tensor_is_told():
    for text in WITH_OTHERS.split():
        assert told_another(taper, text) == told_another(torch, text), text


REFUSALS = """
torch.add(other(), 1)
torch.ones(2) + other()
F.relu(other())
F.linear(torch.ones(2), other())
torch.add(torch.ones(2), silent)
torch.ones(2).add(silent)
silent.shape
torch.add(silent, other())
torch.ones(2).as_subclass(One) + torch.ones(2).as_subclass(Two)
torch.stack([torch.ones(2).as_subclass(Base), torch.ones(2).as_subclass(Derived)])
"""


@pytest.mark.parametrize("text", REFUSALS.strip().split("\n"))
def test_nobody_does_the_work(text):
    assert refusal(taper, text) == refusal(torch, text)


def refusal(package, text):
    def refuse(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    members = {"__torch_function__": classmethod(refuse), "__module__": "here"}
    base = type("Base", (package.Tensor,), members)
    names = {
        "torch": package,
        "F": package.nn.functional,
        "other": type("Other", (), members),
        "silent": package.ones(2).as_subclass(base),
        "Base": base,
        "Derived": type("Derived", (base,), {"__module__": "here"}),
        "One": type("One", (package.Tensor,), {}),
        "Two": type("Two", (package.Tensor,), {}),
    }
    with pytest.raises(TypeError) as caught:
        eval(text, names)
    return str(caught.value)


def test_functions_that_ask_have_the_names_of_pytorch():
    names = {torch.overrides.resolve_name(each) for each in torch.overrides.get_testing_overrides()}
    ours = {taper.overrides.resolve_name(each) for each in taper.overrides.get_testing_overrides()}
    assert len(ours & names) > 1150
    spaces = ("torch.Tensor.", "torch.nn.functional.", "torch.linalg.", "torch.fft.")
    extra = sorted(each for each in ours - names if each.startswith(spaces))
    assert extra == []
