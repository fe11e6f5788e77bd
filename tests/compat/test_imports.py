"""Under `taper run`, what a program imports as torch is taper."""

from __future__ import annotations


def test_modules_are_the_same_objects(program):
    assert program.output(
        """
        import torch, taper
        import torch.nn.functional as F
        from torch import nn, optim
        from torch.utils import checkpoint
        from torch.autograd import Variable, Function
        import torchviz
        print(torch is taper, F is taper.nn.functional, nn is taper.nn, torch.optim is optim)
        print(checkpoint is taper.utils.checkpoint, Function is taper.autograd.Function)
        print(torchviz.make_dot is taper.viz.make_dot, nn.Linear is taper.nn.Linear)
        print(torch.nn.modules.linear.Linear is nn.Linear)
        """
    ) == ["True True True True", "True True", "True True", "True"]


def test_private_names_that_programs_import(program):
    assert program.output(
        """
        import torch
        from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
        from torch.nn.modules.module import _addindent
        from torch.nn.modules.transformer import _get_activation_fn, _get_clones
        from torch.nn.parallel.data_parallel import DataParallel
        from torch.nn.parallel.distributed import DistributedDataParallel
        print(torch.nn.DataParallel is DataParallel, callable(torch.nn.parallel.data_parallel))
        print(repr(_addindent("a\\nb", 3)), _get_activation_fn("gelu") is torch.nn.functional.gelu)
        print(len(_get_clones(torch.nn.Linear(1, 2), 3)))
        tensors = [torch.ones(2), torch.zeros(1, 2)]
        flat = _flatten_dense_tensors(tensors)
        first, second = _unflatten_dense_tensors(flat, tensors)
        second += 3
        print(flat.tolist(), first.shape, second.shape)
        """
    ) == [
        "True True",
        r"'a\n   b' True",
        "3",
        "[1.0, 1.0, 3.0, 3.0] torch.Size([2]) torch.Size([1, 2])",
    ]


def test_a_function_with_the_name_of_its_module_stays(program):
    assert program.output(
        """
        import torch
        from torch.autograd.gradcheck import GradcheckError
        from torch.nn.utils.weight_norm import WeightNorm
        import torch.nn.utils.spectral_norm
        functions = torch.autograd.gradcheck, torch.nn.utils.weight_norm
        print([callable(each) for each in (*functions, torch.nn.utils.spectral_norm)])
        """
    ) == ["[True, True, True]"]


def test_nothing_is_loaded_that_is_not_imported(program):
    assert program.output(
        """
        import sys, torch
        others = ("nn", "optim", "vision", "viz", "distributions")
        print([name for name in others if f"taper.{name}" in sys.modules])
        print("importlib.metadata" in sys.modules, "multiprocessing" in sys.modules)
        import torch.optim
        print("taper.optim" in sys.modules, "taper.vision" in sys.modules)
        """
    ) == ["[]", "False False", "True False"]


def test_specifications_stay_their_own(program):
    """An alias leaves no trace on the module: it can be pickled by name, reloaded, inspected."""
    assert program.output(
        """
        import inspect, torch, torch.nn
        print(torch.__name__, torch.__spec__.name, torch.nn.__spec__.name, torch.nn.__name__)
        print(type(torch.nn.__loader__).__name__, type(torch.nn.__spec__.loader).__name__)
        print("class Linear" in inspect.getsource(torch.nn.Linear))
        """
    ) == ["torch taper taper.nn taper.nn", "SourceFileLoader SourceFileLoader", "True"]


def test_a_library_that_imports_torch_gets_taper(program):
    program.write("library/__init__.py", "from .layers import Twice\n")
    program.write(
        "library/layers.py",
        """
        import torch
        from torch import nn

        class Twice(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * 2
        """,
    )
    assert program.output(
        """
        import torch
        from library import Twice
        print(Twice()(torch.ones(2)), isinstance(Twice(), torch.nn.Module))
        """
    ) == ["tensor([2., 2.]) True"]


def test_an_installed_pytorch_is_passed_over(program):
    program.write("torch/__init__.py", "raise RuntimeError('the other one')\n")
    program.write("torchvision.py", "raise RuntimeError('the other one')\n")
    assert program.output(
        """
        import torch, torch.nn
        print(torch.__spec__.name)
        import importlib.util
        print(importlib.util.find_spec("torchvision").origin.endswith("taper/vision/__init__.py"))
        """
    ) == ["taper", "True"]


def test_versions(program):
    assert program.output(
        """
        import torch, taper
        from importlib.metadata import PackageNotFoundError, distribution, version
        print(torch.__version__, torch.version.__version__, version("torch"))
        print(torch.__version__ >= "2.0", torch.__version__ > (1, 9), torch.__version__ < "10")
        print(distribution("torch").metadata["Name"], version("torchvision"), taper.version.taper)
        try:
            version("no-such-package")
        except PackageNotFoundError as error:
            print(error)
        """
    ) == [
        "2.13.0 2.13.0 2.13.0",
        "True True True",
        "torch 0.28.0 0.1.0",
        "No package metadata was found for no-such-package",
    ]


def test_questions_without_import(program):
    assert program.output(
        """
        import importlib.util, sys
        for name in ("torch", "torch.nn", "torch.no_such_module", "torchvision"):
            spec = importlib.util.find_spec(name)
            print(name, spec is not None and bool(spec.origin))
        print("torch" in sys.modules)
        """
    ) == [
        "torch True",
        "torch.nn True",
        "torch.no_such_module False",
        "torchvision True",
        "True",  # looking for torch.nn imports torch, as always in Python
    ]


def test_pickles_that_name_torch_are_read(program):
    assert program.output(
        """
        import pickle
        print(pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n."))
        """
    ) == ["<class 'torch.nn.modules.linear.Linear'>"]


def test_a_module_of_torch_can_be_run(program):
    done = program.taper("run", "-m", "torch.utils.collect_env")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("NotImplementedError: torch.utils.collect_env")
