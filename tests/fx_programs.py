"""Programs that are traced: functions of the package, for `test_fx.py` and its parity test."""

import math
import operator


def models(torch):
    """Return modules and functions to trace, by name."""
    nn = torch.nn
    F = nn.functional

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(torch.ones(3, 4))
            self.linear = nn.Linear(4, 5)
            self.register_buffer("buf", torch.ones(4))

        def forward(self, x):
            return self.linear(x + self.param + self.buf).clamp(min=0.0, max=1.0)

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])
            self.small = Small()
            self.unused = nn.BatchNorm1d(3)

        def forward(self, x, y=None, *, scale: float = 2.0):
            for layer in self.layers:
                x = layer(x)
            x = torch.cat([x, x], dim=0)
            rows, _ = x.shape
            x = x.view(rows, -1)[:3, ..., None, ::2]
            x = F.relu(self.small(x), inplace=True) * scale
            z = F.dropout(x.size(0) + x, 0.5, self.training)
            return {"a": z, "b": (x, [y, None]), "c": -x, "d": 2**x, "e": 1 - x, "f": x @ x.t()}

    class Constants(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(2, 3))
            self.plain = torch.ones(2)

        def forward(self, x):
            first = torch.add(x, self.kept) + self.plain + torch.ones(1)
            return torch.ones(2) * x + first, self.kept.expand(x.shape), self.kept.view(x.shape)

    def annotated(x: torch.Tensor, y: list[torch.Tensor], z: int | None = None) -> torch.Tensor:
        return torch.sum(torch.relu(x) + y[0], dim=0)

    def functions(x):
        y = torch.topk(torch.relu(x), 2).values
        y = torch.linalg.norm(torch.special.erf(y))
        y = F.softmax(F.gelu(F.linear(y, x)), dim=-1)
        y = torch.einsum("ij,jk->ik", (operator.add(y, 1), y))
        y = F.max_pool2d(torch.where(y > 0, y, 0.0), 2)
        y = F.interpolate(y, scale_factor=2.0, mode="bilinear")
        y = F.layer_norm(F.scaled_dot_product_attention(y, y, y), (3,))
        y = torch.split(torch.stack((y, y)), 2)[0]
        y = torch.flatten(F.adaptive_avg_pool2d(F.conv2d(y, y), (1, 1)), 1)
        y = torch.norm(torch.unique(F.pad(F.embedding(y, y), (1, 2))))
        return abs(y), ~(y == 2), y // 2, y.T, y.to(torch.float32), math.sqrt(2), y * float("inf")

    return {
        "Small": Small(),
        "Nested": Nested(),
        "Constants": Constants(),
        "Sequential": nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())),
        "annotated": annotated,
        "functions": functions,
        "names": lambda input, list, x_1: torch.neg(input) + list + x_1,
        "starred": lambda x, *rest, **options: x + rest[0] + options["a"],
        "shapes": lambda x: torch.zeros(x.shape) + torch.arange(x.shape[0]),
    }


def graph_edits(torch):
    """Return programs that change graphs; each returns a text."""
    fx = torch.fx

    def insert():
        traced = fx.symbolic_trace(lambda x: torch.relu(x).neg())
        for node in traced.graph.nodes:
            if node.target is torch.relu:
                with traced.graph.inserting_after(node):
                    new = traced.graph.call_function(torch.tanh, (node,))
                node.replace_all_uses_with(new)
                new.args = (node,)
        traced.graph.lint()
        traced.recompile()
        return traced.code

    def replace():
        traced = fx.symbolic_trace(lambda x: torch.relu(x) + torch.relu(torch.relu(x)))
        found = fx.replace_pattern(
            traced, lambda x: torch.relu(x), lambda x: torch.tanh(torch.sigmoid(x))
        )
        return f"{found}\n{traced.code}"

    def transform():
        class Smooth(fx.Transformer):
            def call_function(self, target, args, kwargs):
                if target is torch.relu:
                    return torch.sigmoid(*args, **kwargs)
                return super().call_function(target, args, kwargs)

        traced = fx.symbolic_trace(lambda x: torch.relu(x).neg() + 1)
        return Smooth(traced).transform().code

    def clean():
        traced = fx.symbolic_trace(lambda x: (torch.relu(x), x + 2)[1])
        return f"{traced.graph.eliminate_dead_code()}\n{traced.graph}"

    def by_hand():
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.placeholder("y", type_expr=int, default_value=4)
        graph.call_function(operator.iadd, (x, y))
        graph.call_function(operator.setitem, (x, 0, y))
        part = graph.call_function(operator.getitem, (x, slice(y, None)))
        graph.call_function(getattr, (part, "1a"))
        graph.call_module("m.0.w", (graph.get_attr("a.0.b"),), {"k": 1})
        graph.output((graph.call_function(math.sqrt, (part,)), [x]))
        return graph.python_code("self").src + str(graph)

    def nested():
        places = {"t": {"a": fx.PH, "b": [fx.PH]}}
        return fx.symbolic_trace(lambda x, t: x + t["a"] + t["b"][0], concrete_args=places).code

    def flag():
        function = lambda x, flag: x if flag else -x  # noqa: E731
        return fx.symbolic_trace(function, concrete_args={"flag": True}).code

    def readable():
        # A module of the program itself, as `import_module` of both packages finds it.
        import importlib

        name = f"{torch.__name__}.fx.passes.shape_prop"
        traced = fx.symbolic_trace(lambda x: torch.relu(x).sum(0).long())
        importlib.import_module(name).ShapeProp(traced).propagate(torch.ones(2, 3))
        metas = [node.meta["tensor_meta"] for node in traced.graph.nodes]
        return traced.print_readable(print_output=False) + str(metas)

    return [insert, replace, transform, clean, by_hand, nested, flag, readable]


def mistakes(torch):
    """Return programs that raise."""
    fx = torch.fx

    def erase_used():
        graph = fx.symbolic_trace(lambda x: torch.relu(x).neg()).graph
        graph.erase_node(list(graph.nodes)[1])

    def other_graph():
        x = fx.Graph().placeholder("x")
        graph = fx.Graph()
        graph.call_function(torch.relu, (x,))
        graph.lint()

    def order():
        graph = fx.symbolic_trace(lambda x: torch.relu(x).neg()).graph
        nodes = list(graph.nodes)
        nodes[1].args = (nodes[2],)
        graph.lint()

    def kind():
        fx.Graph().create_node("nope", "foo")

    def target():
        graph = fx.Graph()
        graph.call_function("relu", (graph.placeholder("x"),))

    def change_list():
        graph = fx.Graph()
        x = graph.placeholder("x")
        graph.call_function(torch.cat, ([x, x],)).args[0].append(1)

    def missing():
        graph = fx.Graph()
        graph.output(graph.call_module("foo", (graph.placeholder("x"),)))
        fx.GraphModule({}, graph)

    def no_argument():
        fx.Interpreter(fx.symbolic_trace(lambda x: x)).run()

    return [
        erase_used,
        other_graph,
        order,
        kind,
        target,
        change_list,
        missing,
        no_argument,
        lambda: fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x),
        lambda: fx.symbolic_trace(lambda x: [each for each in x]),
        lambda: fx.symbolic_trace(lambda x: len(x)),
        lambda: fx.symbolic_trace(lambda x: range(x.size(0))),
        lambda: fx.wrap(3),
        lambda: fx.wrap("len"),
        lambda: fx.GraphModule(3, fx.Graph()),
    ]
