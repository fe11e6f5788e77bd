"""Whose memory an operator may write: what PyTorch refuses of `out=` and in place (M1)."""

import pytest

import taper

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
    "a single memory location. Please clone() the tensor before performing the operation."
)

# Answers of PyTorch 2.13; `x` is arange(6.), `i` [1, 2, 0], `m` [True, False].
REFUSED = """
x[x > 0] = x
x[taper.tensor([1, 2])] = x[:2]
x[taper.tensor([1, 2])] = x[4:]
i[i] = 7
i[i] = i
x[1:].add_(x[:-1])
x.add_(x[:1])
x[1:].copy_(x[:-1])
x[1:] = x[:-1]
x.index_add_(0, i, x[:3])
x.index_copy_(0, i, x[:3])
x.scatter_(0, i, x[1:4])
x.scatter_add_(0, i, x[:3])
x.scatter_reduce_(0, i, x[1:4], "sum")
x.put_(i, x[:3])
i.scatter_(0, i, 3)
i.index_fill_(0, i, 3)
i.put_(i, taper.arange(3))
taper.gather(x, 0, i, out=x[:3])
taper.gather(i, 0, i, out=i)
taper.index_select(x, 0, i, out=x[:3])
taper.index_select(taper.arange(3), 0, i, out=i)
taper.take(x, i, out=x[:3])
taper.take(taper.arange(3), i, out=i)
taper.cat([x, x], out=x)
taper.cat([x[:2], x[4:]], out=x[:4])
taper.masked_select(x, x > 2, out=x)
taper.masked_select(m, m, out=m)
taper.kthvalue(x, 2, out=(x[0], taper.tensor(0)))
taper.add(x[1:], 1, out=x[:-1])
taper.exp(x[1:], out=x[:-1])
taper.cumsum(x[1:], 0, out=x[:-1])
taper.sort(x[1:], out=(x[:-1], taper.empty(5, dtype=taper.long)))
taper.where(x[1:] > 0, x[1:], x[1:], out=x[:-1])
taper.index_copy(x[:3], 0, i, x[3:], out=x[3:])
taper.outer(x[:2], x[:3], out=x.view(2, 3))
taper.kron(x[:2], x[:3], out=x)
taper.cross(x[:3], x[3:], 0, out=x[:3])
""".strip().split("\n")

ALLOWED = """
x.add_(x)
x.mul_(x[:])
x.copy_(x)
x.masked_fill_(x > 2, x[0])
m.masked_fill_(m, False)
m[m] = False
x[::2].add_(x[1::2])
x[:3].add_(x[3:])
taper.exp(x, out=x)
taper.add(x, x, out=x)
taper.gather(x[:3].long(), 0, i, out=i)
taper.index_copy(x[:3], 0, i, taper.ones(3), out=x[:3])
taper.softmax(x[1:], 0, out=x[:-1])
taper.sum(x, 0, out=x[0])
taper.mm(x.view(2, 3), x.view(3, 2), out=x[:4].view(2, 2))
""".strip().split("\n")


def run(statement):
    names = {
        "taper": taper,
        "x": taper.arange(6.0),
        "i": taper.tensor([1, 2, 0]),
        "m": taper.tensor([True, False]),
    }
    exec(statement, names)
    return names


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("statement", REFUSED)
@pytest.mark.parametrize("mode", [taper.enable_grad, taper.no_grad])
def test_found_m1_memory_that_is_read_and_written_is_refused(statement, mode):
    with mode(), pytest.raises(RuntimeError) as caught:
        run(statement)
    assert str(caught.value) == SHARED


@pytest.mark.parametrize("statement", ALLOWED)
def test_found_m1_what_is_read_in_step_or_before_is_allowed(statement):
    run(statement)


def test_found_m1_a_refused_write_changes_nothing():
    x = taper.arange(4.0)
    for write in (lambda: x[1:].add_(x[:-1]), lambda: taper.cat([x[:1], x[:1]], out=x[:2])):
        with pytest.raises(RuntimeError, match="single memory location"):
            write()
    values, places = taper.empty(2), taper.empty(2, dtype=taper.float32)
    with pytest.raises(RuntimeError, match="must be of scalar type Long"):
        taper.kthvalue(taper.ones(2, 3), 1, out=(values.fill_(7), places))
    assert x.tolist() == [0, 1, 2, 3] and values.tolist() == [7, 7]


def test_found_m1_an_expanded_target_is_refused_before_its_shape_is_looked_at():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        taper.zeros(1).expand(2).add_(taper.ones(3, 2))


# --- dtypes of out= (M4, M7) -----------------------------------------------------------------

DTYPES = [
    (
        "taper.complex(x.double(), x.double(), out=c)",
        "Expected object of scalar type ComplexDouble but got scalar type ComplexFloat for "
        "argument 'out'",
    ),
    (
        "taper.aminmax(x, dim=0, out=(x[0], x[0].double()))",
        "Expected out tensor to have dtype float, but got double instead",
    ),
    (
        "taper.gather(x, 0, i, out=x[:3].double())",
        "Expected out tensor to have dtype float, but got double instead",
    ),
    (
        "taper.amax(x, 0, out=x[0].int())",
        "Expected the dtype for input and out to match, but got Float for input's dtype and Int "
        "for out's dtype.",
    ),
    (
        "taper.nonzero(x, out=taper.empty(0))",
        "nonzero: Expected out tensor to have scalar type Long but got scalar typeFloat",
    ),
    (
        "taper.mode(x, out=(x[0].double(), i[0]))",
        "expected scalar type 'Float' but got 'Double' for values output",
    ),
    (
        "taper.mode(x, out=(x[0].clone(), i[0].int()))",
        "expected scalar type 'Long' but got 'Int' for indices output",
    ),
    ("taper.abs(x, out=x.double())", "Found dtype Double but expected Float"),
    ("taper.cummax(x, 0, out=(x.double(), x.long()))", "expected scalar_type Float but found Doub"),
    ("taper.take(x, i, out=x[:3].int())", "take(): self and out expected to have the same dtype"),
    ("taper.kron(x, x, out=x.int())", "result type Float can't be cast to the desired output"),
    ("taper.diag(x, out=taper.empty(0).double())", "Expected out tensor to have dtype float, but"),
    (
        "taper.frexp(x, out=(x.double(), x.int()))",
        "torch.frexp() expects mantissa to have dtype float but got double",
    ),
]


@pytest.mark.parametrize("statement, text", DTYPES)
def test_found_m4_m7_out_has_the_dtype_that_the_operator_asks_for(statement, text):
    names = {"c": taper.empty(6, dtype=taper.complex64)}
    with pytest.raises(RuntimeError) as caught:
        exec(statement, {"taper": taper, "x": taper.arange(6.0), "i": taper.arange(3), **names})
    assert str(caught.value).startswith(text)


def test_found_m4_lists_of_tensors_are_joined_into_a_higher_dtype_only():
    with pytest.raises(TypeError, match=r"torch.cat\(\): input types can't be cast to the desired"):
        taper.cat([taper.ones(1), taper.ones(1)], out=taper.empty(2, dtype=taper.int32))
