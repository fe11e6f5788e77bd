"""The operator table: `@op` declares an operator, `@derivative` how it is differentiated (D4).

Owns: the registry and the meaning of a declaration.  `compiler` turns an entry into a specialised
function and node class when it is first called; `operands` (arguments), `nodes` (the generic
node) and `writes` (in-place, `out=`, modes) hold what is not worth specialising.

    @op(promote=SAME, tangent=MULTILINEAR, inplace=True)
    def mul(self: Operand, other: Operand) -> Array:
        '''Product of two tensors, element by element.'''
        return np.multiply(self, other)

    @derivative(mul, wrt="self")
    def mul_self(grad, other):          # saves `other`, and only if `self` needs a gradient
        return grad * conj(other)

The forward is a kernel: a pure function of arrays and plain values.  Its annotations say what its
parameters are: `Array` a tensor, `Operand` a tensor or a Python number, `Array | None` an optional
tensor, `Arrays` a sequence of tensors, `Indices` one of tensors and Nones, anything else a plain
value.  A parameter named `self` is called `input` in the public function.  The decorated name is
the public function: it takes Tensors and records, or takes arrays and returns arrays, so that
formulas may use it in both modes (D5).

A formula may name: `grad` (`grad_<output>` with several outputs), `result`/`result<i>` or the name
of an output, any forward parameter, `<tensor>_shape|_dtype|_ndim|_strides|_numel|_geometry`, and
`needs` (a tuple of bools, one for each name in `wrt`).  Anything else is an error at import.  A
`grad_...` parameter with the default None accepts an undefined gradient; otherwise zeros are
filled in.  `_strides` counts bytes, as NumPy does.

`python -m taper.opdef mul` prints the generated text, `--docs` the table of all derivatives.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from taper.arrays.layouts import BY_KIND, ELEMENTWISE, Rule, settled
from taper.autograd.overrides import declared
from taper.autograd.transforms import seen_whole
from taper.opdef.numpy_names import with_numpy_names

Array: TypeAlias = Any
Operand: TypeAlias = Any
Arrays: TypeAlias = Any
Indices: TypeAlias = Any

# promote=: what happens to the dtypes of tensor parameters before the kernel sees them
SAME = "same"  # all become the common dtype
FLOAT = "float"  # as SAME, and integers become the default floating dtype

# inplace=: True makes the method `name_`, FUNCTION also
FUNCTION = "function"  # the function of that name, as `torch.exp_`

WITH_NUMBERS = "numbers"  # a kind of `upcast`

# tangent=: how a forward-mode tangent follows from the rest of the declaration
LINEAR = "linear"  # jointly linear in all tensors: the operator applied to the tangents
MULTILINEAR = "multilinear"  # linear in each tensor alone: sum of the operator with one replaced
POINTWISE = "pointwise"  # element by element: the backward formula with grad := tangent

_KINDS = {
    "Array": "tensor",
    "Operand": "operand",
    "Array | None": "optional",
    "Operand | None": "optional_operand",
    "Arrays": "tensors",
    "Indices": "indices",
}
TENSOR_KINDS = frozenset(_KINDS.values())
_PROPERTIES = ("shape", "device", "dtype", "ndim", "strides", "numel", "geometry")


class DeclarationError(TypeError):
    """A declaration in the operator table is wrong; raised at import."""


REQUIRED: Any = inspect.Parameter.empty  # the default of a parameter that has none


# PyTorch's name of the first tensor, and a name that generated code uses itself.
_PUBLIC_NAMES = {"self": "input", "mode": "mode_"}


class Param:
    """A parameter of an operator."""

    __slots__ = ("default", "keyword_only", "kind", "name", "public_name")

    def __init__(self, name: str, default: Any, keyword_only: bool, annotation: Any) -> None:
        self.name = name
        self.public_name = _PUBLIC_NAMES.get(name, name)
        self.kind = _KINDS.get(annotation, "plain")
        self.default = default
        self.keyword_only = keyword_only


def parameters_of(function: Any) -> list[Param]:
    """Return the parameters of a plain function from its code: `inspect` takes 50 us for it."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    values = [REQUIRED] * (code.co_argcount - len(defaults)) + list(defaults)
    keywords = function.__kwdefaults__ or {}
    values += [keywords.get(name, REQUIRED) for name in names[code.co_argcount :]]
    annotations = function.__annotations__
    return [
        Param(name, value, nr >= code.co_argcount, annotations.get(name))
        for nr, (name, value) in enumerate(zip(names, values, strict=True))
    ]


class Formula:
    """A derivative: the function, the parameters it is for, and the meaning of its arguments.

    `sources` holds one (meaning, name, property) for each argument: meaning is "grad", "output",
    "tensor", "plain", "property" or "needs".
    """

    __slots__ = ("accepts_none", "function", "real", "sources", "wrt")

    def __init__(
        self, op: Op, function: Callable[..., Any], wrt: tuple[str, ...], real: Any = None
    ) -> None:
        self.function = function
        self.real = real
        self.wrt = wrt
        self.sources = []
        self.accepts_none = False
        for param in parameters_of(function):
            self.sources.append(self._source(op, function, param.name))
            if param.name.startswith("grad_") and param.default is None:
                self.accepts_none = True
        for name in wrt:
            if name not in op.tensor_names:
                raise DeclarationError(f"{op.name}: {function.__name__} is for unknown {name!r}")

    @staticmethod
    def _source(op: Op, function: Callable[..., Any], name: str) -> tuple[str, Any, str]:
        if name == "needs":
            return "needs", None, ""
        if name == "grad":
            return "grad", 0, ""
        if name.startswith("grad_") and name[5:] in op.outputs:
            return "grad", op.outputs.index(name[5:]), ""
        if name in op.outputs:
            return "output", op.outputs.index(name), ""
        by_name = {param.name: param for param in op.params}
        if name in by_name:
            return ("tensor" if by_name[name].kind in TENSOR_KINDS else "plain"), name, ""
        head, _, tail = name.rpartition("_")
        if tail in _PROPERTIES and head in op.tensor_names:
            return "property", head, tail
        if tail in _PROPERTIES and head in op.outputs:
            return "property", head, tail
        raise DeclarationError(
            f"{op.name}: the formula {function.__name__} names {name!r}, which is no gradient, "
            "output, parameter or property of a parameter"
        )


class Op:
    """One entry of the table."""

    def __init__(self, kernel: Callable[..., Any], **options: Any) -> None:
        self.kernel = kernel
        self.name: str = options["name"] or kernel.__name__
        self.label: str = options["label"] or self.name
        self.node_name: str | None = options["node"]
        self.promote: str | None = options["promote"]
        self.tangent: Any = options["tangent"]
        self.view: Any = options["view"]
        self.inplace: bool | str = options["inplace"]
        self.out: Any = options["out"]
        self.upcast: bool | str = options["upcast"]
        self.outputs: tuple[str, ...] = options["outputs"]
        self.nondifferentiable: frozenset[int] = frozenset(options["nondifferentiable"])
        self.returns: Any = options["returns"]
        self.ufunc: Any = options["ufunc"]
        self.public: bool = options["public"]
        self.method: bool = options["method"]
        self.inplace_name: str = options["inplace_name"] or f"{self.name}_"
        self.many_outputs: bool = options["many_outputs"]
        self.saved_sizes: dict[str, tuple[int, ...]] = options["saved_sizes"] or {}
        self.check: Callable[[Any, Sequence[Any]], None] | None = options["check"]
        self.change_complex: Callable[[list[Any]], None] | None = options["change_complex"]
        self.numbers: bool = options["numbers"]
        self.complex_gradient: bool = options["complex_gradient"]
        self.signatures: tuple[str, ...] = options["signatures"]
        self.lazy_functions: dict[str, Any] = {}
        self.params = parameters_of(kernel)
        self.keyword_names = tuple(each.name for each in self.params if each.keyword_only)
        self.tensor_names = tuple(each.name for each in self.params if each.kind in TENSOR_KINDS)
        # The tensors that promotion sees but leaves alone.
        self.unpromoted = tuple(
            each.name in options["unpromoted"]
            for each in self.params
            if each.kind not in ("plain", "tensors", "indices")
        )
        self.layout: Rule | None = self._layout(options["layout"])
        self.formulas: list[Formula] = []
        self.wrt: set[str] = set()  # the parameters that have a gradient
        self.node_class: Any = None
        self.function: Any = None
        self.written: Callable[..., Any] | None = None  # see `in_place`

    def _layout(self, rule: Rule | None) -> Rule | None:
        """The rule of the results' layout: if none was declared, that of operators of this kind."""
        if rule is not BY_KIND:
            return rule
        return ELEMENTWISE if self.ufunc or self.tangent == POINTWISE else None

    @functools.cached_property
    def forward(self) -> Callable[..., Any]:
        """The kernel with its results laid out in memory as PyTorch's."""
        return self.kernel if self.layout is None else settled(self.kernel, self.layout)

    @functools.cached_property
    def quick(self) -> Any:
        """The ufunc with its results laid out likewise, if there is one."""
        return self.ufunc and (settled(self.ufunc, self.layout) if self.layout else self.ufunc)

    @property
    def differentiable(self) -> bool:
        return bool(self.formulas)

    @property
    def left_to_fallback(self) -> bool:
        """Whether PyTorch records the operator, of any dtype, only to refuse its gradients."""
        return self.node_name == "NotImplemented"

    def formula_for(self, name: str) -> Formula | None:
        for formula in self.formulas:
            if name in formula.wrt:
                return formula
        return None

    def arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return positional arguments in declaration order, with defaults filled in."""
        if not kwargs and len(args) == len(self.params):
            return tuple(args)
        positional = len(self.params) - len(self.keyword_names)
        if len(args) > positional:
            raise TypeError(
                f"{self.label}() takes {positional} positional arguments but {len(args)} were given"
            )
        values = list(args)
        for param in self.params[len(args) :]:
            name = param.public_name if param.public_name in kwargs else param.name
            if name in kwargs:
                values.append(kwargs.pop(name))
            elif param.default is not REQUIRED:
                values.append(param.default)
            else:
                raise TypeError(
                    f'{self.label}() missing 1 required positional arguments: "{param.public_name}"'
                )
        if kwargs:
            unknown = next(iter(kwargs))
            raise TypeError(f"{self.label}() got an unexpected keyword argument '{unknown}'")
        return tuple(values)

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.kernel) or ""

    @property
    def __signature__(self) -> inspect.Signature:
        """The public signature; `inspect` finds it here through the function's `__wrapped__`."""
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(each.public_name, kinds[each.keyword_only], default=each.default)
            for each in self.params
        ]
        if self.out:
            parameters.append(inspect.Parameter("out", kinds[1], default=None))
        return inspect.Signature(parameters)

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call the operator's kernel or function with arguments in declaration order."""
        if not self.keyword_names:
            return function(*arguments)
        count = len(self.params) - len(self.keyword_names)
        keywords = dict(zip(self.keyword_names, arguments[count:], strict=True))
        return function(*arguments[:count], **keywords)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


class InPlace(Op):
    """The same entry as its in-place function shows it: without `out=`."""

    def __init__(self, entry: Op) -> None:
        self.__dict__ = entry.__dict__

    @property
    def __signature__(self) -> inspect.Signature:
        shown = super().__signature__
        return shown.replace(
            parameters=[each for each in shown.parameters.values() if each.name != "out"]
        )


registry: dict[str, Op] = {}
# The files of kernels and formulas, which may pass arrays to operators (D5).
files_of_declarations: set[str] = set()
# Names of composite functions (written in terms of operators), for documentation and tests.
composites: dict[str, Callable[..., Any]] = {}
# All of them by name, even those that are not public: the profiler shows them, and hears of those
# that are declared while it is on.
named_composites: list[tuple[str, Callable[..., Any]]] = []
composite_watchers: list[Callable[[str, Callable[..., Any]], None]] = []
# What their public forms try first.
quick_ways: dict[Callable[..., Any], str] = {}
# Tensor methods that the operators provide: name -> function; `ops` puts them on the class.
methods: dict[str, Callable[..., Any]] = {}

# Globals of all generated code; `compiler` puts its helpers here.
NAMESPACE: dict[str, Any] = {"__name__": "taper.opdef.generated"}


def _stub_template(*args: Any, **kwargs: Any) -> Any:
    return first_use("@name@", args)(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def lazy_function(entry: Op, variant: str = "") -> Any:
    """Return a function that is compiled when it is first called.

    `compiler` then gives this very object its real `__code__`, so that everybody who imported it
    calls the compiled code from then on.  This saves 0.3 ms an operator at import.
    """
    code = _stub_template.__code__
    label = f"{entry.name}:{variant}"
    consts = tuple(label if each == "@name@" else each for each in code.co_consts)
    code = code.replace(co_consts=consts, co_name=entry.name, co_qualname=entry.name)
    function: Any = types.FunctionType(code, NAMESPACE, entry.name)
    function.__doc__ = entry.kernel.__doc__
    function.__module__ = "taper"
    function.__wrapped__ = entry  # `inspect.signature` looks here
    entry.lazy_functions[variant] = function
    return function


def op(
    *,
    name: str | None = None,
    label: str | None = None,
    node: str | None = None,
    promote: str | None = None,
    tangent: Any = None,
    view: bool = False,
    inplace: bool | str = False,
    inplace_name: str | None = None,
    out: bool | Callable[[Any, Any], None] = False,
    upcast: bool | str = False,
    outputs: tuple[str, ...] = ("result",),
    many_outputs: bool = False,
    unpromoted: tuple[str, ...] = (),
    saved_sizes: dict[str, tuple[int, ...]] | None = None,
    check: Callable[[Any, Sequence[Any]], None] | None = None,
    change_complex: Callable[[list[Any]], None] | None = None,
    numbers: bool = False,
    complex_gradient: bool = True,
    signatures: tuple[str, ...] = (),
    nondifferentiable: tuple[int, ...] = (),
    returns: Any = None,
    ufunc: Any = None,
    layout: Rule | None = BY_KIND,
    public: bool = True,
    method: bool = True,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operator; the decorated kernel is replaced by the public function.

    name               if it differs from the kernel's
    label              PyTorch's name of the function in error texts, if it differs from `name`
    node               name of the node class; default: CamelCase of the name + "Backward0"
    promote            SAME, FLOAT or None (the kernel sees the tensors as they are)
    tangent            LINEAR, MULTILINEAR, POINTWISE, or set later by `@tangent_of`
    view               the kernel returns a view of its first parameter
    inplace            True: there is the method `name_`, which writes the result into the first
                       parameter; FUNCTION: and a function of that name
    out                there is `out=`; a function of the destination's array and the result's
                       may refuse what the usual rules for `out=` allow
    unpromoted         tensors that `promote` leaves alone (conditions, indices)
    saved_sizes        {"weight": (0,)}: of the saved `weight_shape` the node shows that length,
                       as `_saved_weight_sym_argsize_0`
    check              called with the common dtype and the operands (arrays and numbers) where
                       they are not all float32; raises where PyTorch refuses a dtype
    change_complex     called with the list of the operands, in their common dtype, if that is
                       complex; may replace what the ufunc gets
    numbers            the first tensor may be a Python number, too
    complex_gradient   whether PyTorch records the operator if the result is complex
    signatures         PyTorch's overloads, if there are several: what its TypeError lists
    upcast             float16 and bfloat16 are computed in float32 and rounded once;
                       WITH_NUMBERS: only if the second operand is a number, or a 0-d tensor of
                       another dtype, which is not rounded then
    outputs            names of the outputs, if there are several
    many_outputs       the kernel returns a list whose length depends on the input (split)
    nondifferentiable  numbers of outputs that carry no gradient
    returns            a class (named tuple) to wrap several outputs in
    ufunc              the NumPy ufunc that the kernel is while its plain parameters have their
                       defaults; called without the Python function
    layout             a rule of `layouts` for how the results lie in memory, where what the kernel
                       gives for operands that are not row-major is not PyTorch's; None: as the
                       kernel gives them.  By default ELEMENTWISE for a ufunc and for what is
                       POINTWISE, else None
    public, method     whether it shows in the `taper` namespace and on Tensor
    """
    options = dict(locals())

    def declare(kernel: Callable[..., Any]) -> Any:
        entry = Op(kernel, **options)
        if entry.name in registry:
            raise DeclarationError(f"operator {entry.name} is declared twice")
        registry[entry.name] = entry
        declared.append(entry.name)
        files_of_declarations.add(kernel.__code__.co_filename)
        entry.node_name = entry.node_name or camel_case(entry.name) + "Backward0"
        function = lazy_function(entry)
        function.op = entry
        entry.function = function
        if entry.method:
            methods[entry.name] = function
        if entry.inplace:
            methods[entry.inplace_name] = inplace_function(function)
        if entry.inplace == FUNCTION:
            inplace_as_function(entry.inplace_name)
        return function

    return declare


def inplace_function(function: Any) -> Callable[..., Any]:
    """Return the operator as a function that writes its result into its first argument."""
    entry: Op = function.op
    if "inplace" not in entry.lazy_functions:
        in_place = lazy_function(entry, "inplace")
        in_place.__name__ = in_place.__qualname__ = entry.inplace_name
        in_place.__doc__ = f"In-place version of `{entry.label}`."
        in_place.__wrapped__ = InPlace(entry)
    found: Callable[..., Any] = entry.lazy_functions["inplace"]
    return found


def method_of(function: Any, name: str) -> Any:
    """Return an operator's function as a method: an object of its own, as in PyTorch.

    `__torch_function__` is told which of the two was called.
    """
    entry: Any = getattr(function, "__wrapped__", None)
    if not isinstance(entry, Op):
        return function
    base = "inplace" if isinstance(entry, InPlace) else ""
    if base not in entry.lazy_functions or entry.lazy_functions[base] is not function:
        return function
    variant = f"{base}.{name}"
    if variant not in entry.lazy_functions:
        method: Any = lazy_function(entry, variant)
        method.__name__ = method.__qualname__ = function.__name__
        method.__doc__ = function.__doc__
        method.__dict__.update(function.__dict__)
    return entry.lazy_functions[variant]


def operator_method(function: Any, name: str) -> Any:
    """Return a Python operator's method: NotImplemented if the other is no operand."""
    return lazy_function(function.op, name)


def derivative(
    function: Any, wrt: str | tuple[str, ...], real: Callable[..., Any] | None = None
) -> Callable[[Any], Any]:
    """Declare the gradient of an operator with respect to one or several of its tensors.

    `real` is a ufunc that does the same on real arrays, where it saves two calls (0.15 us).
    """
    entry: Op = function.op

    def declare(formula: Callable[..., Any]) -> Callable[..., Any]:
        names = (wrt,) if isinstance(wrt, str) else wrt
        entry.formulas.append(Formula(entry, formula, names, real))
        entry.wrt.update(names)
        files_of_declarations.add(formula.__code__.co_filename)
        return formula

    return declare


def tangent_of(function: Any) -> Callable[[Any], Any]:
    """Declare a forward-mode rule: a function of `<tensor>_t` (tangents), parameters and results.

    A tangent that an input lacks arrives as None.
    """
    entry: Op = function.op

    def declare(rule: Callable[..., Any]) -> Callable[..., Any]:
        entry.tangent = rule
        return rule

    return declare


def composite(
    *,
    method: bool = True,
    public: bool = True,
    name: str | None = None,
    arrays: bool = False,
    numpy_names: bool = False,
    quick: str = "",
) -> Any:
    """Register a function that is written in terms of operators, and the method of that name.

    arrays       it makes, reads or draws arrays itself, so that transforms (`func`) must see the
                 call
    numpy_names  it takes `axis` for `dim` and `keepdims` for `keepdim`; costs 0.15 us a call, so
                 that functions which are called often have a parameter `axis` instead
    quick        an expression of its parameters that the public form evaluates first: a call of the
                 native module that gives the result of a usual call, and None of any other (see
                 `guards`)
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        label = name or function.__name__
        if name:
            function.__qualname__ = name  # Python's errors about arguments show it
        if arrays:
            function = seen_whole(label, function)
        if numpy_names:
            function = with_numpy_names(function)
        if quick:
            quick_ways[function] = quick
        named_composites.append((label, function))
        declared.append(label)
        for watch in composite_watchers:
            watch(label, function)
        if public:
            composites[label] = function
            if label.endswith("_"):
                _show_example_of_twin(label)
        if method:
            methods[label] = function
        return function

    return declare


def alias(name: str, function: Callable[..., Any], inplace_function: bool = True) -> None:
    """Give an operator or composite another name: function, method and in-place method.

    PyTorch may lack the in-place function under the other name (`torch.absolute_`).
    """
    original = function.__name__
    composites[name] = function
    for ending in ("", "_"):
        if original + ending in methods:
            methods[name + ending] = methods[original + ending]
    if inplace_function and original + "_" in composites:
        composites[name + "_"] = composites[original + "_"]


def inplace_as_function(name: str) -> None:
    """Offer the method `name`, which writes in place, as a function too."""
    composites[name] = methods[name]
    _show_example_of_twin(name)


def _show_example_of_twin(name: str) -> None:
    """Give an in-place function without an example that of its twin that does not write.

    The example must be one whose results have the dtype and the shape of the input.
    """
    function: Any = composites[name]
    twin: Any = composites.get(name[:-1]) or registry.get(name[:-1])
    if twin is None or ">>>" in (function.__doc__ or ""):
        return
    text = (twin.kernel if isinstance(twin, Op) else twin).__doc__ or ""
    before, prompt, example = text.partition(">>> import taper")
    indent = before[before.rfind("\n") + 1 :]
    called = example.replace(f"taper.{name[:-1]}(", f"taper.{name}(")
    function.__doc__ = f"{function.__doc__}\n\n{indent}{prompt}{called}"


def camel_case(name: str) -> str:
    """Return `LogSoftmax` for `log_softmax`, `Log1P` for `log1p`: PyTorch's names of nodes."""
    words = [word[:1].upper() + word[1:] for word in name.strip("_").split("_")]
    text = "".join(words)
    result = []
    for position, letter in enumerate(text):
        after_digit = position and text[position - 1].isdigit()
        result.append(letter.upper() if after_digit else letter)
    return "".join(result)
