"""Trees of containers: keys, registered classes, texts; the expected values are PyTorch's."""

import collections
import dataclasses
import enum
import json
import sys

import pytest

from taper.utils import _pytree as pytree

Named = collections.namedtuple("Named", "x y")


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: object
    y: object = None


@pytest.fixture
def registered():
    """Registers what a test names, and forgets it afterwards."""
    known = dict(pytree.SUPPORTED_NODES)
    written = dict(pytree.SUPPORTED_SERIALIZED_TYPES)
    names = dict(pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE)
    yield pytree
    for table, before in (
        (pytree.SUPPORTED_NODES, known),
        (pytree.SUPPORTED_SERIALIZED_TYPES, written),
        (pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE, names),
    ):
        table.clear()
        table.update(before)


def test_paths_name_each_leaf():
    tree = {"a": [1, (2, 3)], "b": Named(4, 5)}
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [pytree.keystr(path) for path, _ in pairs] == [
        "['a'][0]",
        "['a'][1][0]",
        "['a'][1][1]",
        "['b'].x",
        "['b'].y",
    ]
    assert [pytree.key_get(tree, path) for path, _ in pairs] == [1, 2, 3, 4, 5]
    assert repr(pairs[3][0]) == "(MappingKey(key='b'), GetAttrKey(name='x'))"
    assert spec == pytree.tree_structure(tree)
    assert pytree.SequenceKey(1) == pytree.SequenceKey(1) != pytree.MappingKey(1)
    assert len({pytree.MappingKey("a"), pytree.MappingKey("a")}) == 1


def test_map_with_path():
    found = pytree.tree_map_with_path(lambda path, a, b: (path, a, b), [1, {"q": 2}], [3, {"q": 4}])
    first, second = pytree.SequenceKey(0), pytree.SequenceKey(1)
    assert found == [((first,), 1, 3), {"q": ((second, pytree.MappingKey("q")), 2, 4)}]


def test_paths_need_keys(registered):
    class Plain:
        pass

    registered.register_pytree_node(Plain, lambda _: ([1], None), lambda *_: Plain())
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn for type: .*Plain"):
        pytree.tree_flatten_with_path(Plain())
    with pytest.raises(NotImplementedError, match="No registered serialization name for .*Plain"):
        pytree.treespec_dumps(pytree.tree_structure(Plain()))


def test_node_types():
    assert pytree._get_node_type(Named(1, 2)) is collections.namedtuple
    assert [pytree._get_node_type(each) for each in (1, [1], None)] == [int, list, type(None)]
    assert pytree._dict_flatten({"a": 1}) == ([1], ["a"])
    assert pytree._dict_flatten_with_keys({"a": 1}) == ([(pytree.MappingKey("a"), 1)], ["a"])
    assert pytree._list_flatten([1]) == ([1], None)
    assert isinstance(pytree.tree_structure(1), pytree.LeafSpec)


LEAF = {"type": None, "context": None, "children_spec": []}


@pytest.mark.parametrize(
    ("tree", "name", "context"),
    [
        ([1], "builtins.list", "null"),
        ((1,), "builtins.tuple", "null"),
        ({"a": 1}, "builtins.dict", '["a"]'),
        (collections.OrderedDict(a=1), "collections.OrderedDict", '["a"]'),
        (collections.deque([1], maxlen=3), "collections.deque", "3"),
        (
            collections.defaultdict(list, {"a": 1}),
            "collections.defaultdict",
            {
                "default_factory_module": "builtins",
                "default_factory_name": "list",
                "dict_context": ["a"],
            },
        ),
        (
            {Colour.RED: 1},
            "builtins.dict",
            json.dumps([{"__enum__": True, "fqn": f"{__name__}:Colour", "name": "RED"}]),
        ),
    ],
)
def test_structures_as_texts(tree, name, context):
    spec = pytree.tree_structure(tree)
    text = pytree.treespec_dumps(spec)
    written = {"type": name, "context": context, "children_spec": [LEAF]}
    assert json.loads(text) == [1, written]
    assert pytree.treespec_loads(text) == spec


def test_named_tuples_in_texts_need_a_name(registered):
    spec = pytree.tree_structure(Named(1, 2))
    with pytest.raises(NotImplementedError, match="Can't serialize TreeSpec of namedtuple class"):
        pytree.treespec_dumps(spec)
    registered._register_namedtuple(Named, serialized_type_name="tests.Named")
    text = pytree.treespec_dumps(spec)
    assert json.loads(text)[1]["context"] == "tests.Named"
    assert pytree.treespec_loads(text).unflatten([3, 4]) == Named(3, 4)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("[2, {}]", ValueError, r"Unknown protocol 2. Available protocols: \[1\]"),
        (
            '[1, {"type": "foo", "context": "null", "children_spec": []}]',
            NotImplementedError,
            "Deserializing foo in pytree is not registered.",
        ),
    ],
)
def test_wrong_texts(text, error, said):
    with pytest.raises(error, match=said):
        pytree.treespec_loads(text)


def test_a_text_imports_nothing():
    context = {
        "default_factory_module": "this",
        "default_factory_name": "s",
        "dict_context": [],
    }
    written = {"type": "collections.defaultdict", "context": context, "children_spec": []}
    with pytest.raises(ValueError, match="this is not imported"):
        pytree.treespec_loads(json.dumps([1, written]))
    assert "this" not in sys.modules


def test_contexts_that_json_does_not_know():
    with pytest.raises(TypeError, match="Unable to serialize context"):
        pytree.treespec_dumps(pytree.tree_structure({object(): 1}))
    with pytest.raises(TypeError, match="instance of PyTreeSpec but got item of type <class 'str'"):
        pytree.treespec_dumps("x")


def test_dataclasses(registered):
    registered.register_dataclass(Point)
    leaves, spec = pytree.tree_flatten(Point(1, 2))
    assert (leaves, spec.context) == ([1, 2], [["x", "y"], []])
    assert pytree.treespec_pprint(spec) == "Point(x=*, y=*)"
    assert pytree.tree_flatten(Point(1))[1].context == [["x"], ["y"]]
    assert pytree.tree_map(lambda each: each + 1, Point(1)) == Point(2)
    assert pytree.tree_leaves_with_path(Point(1))[0][0] == (pytree.GetAttrKey("x"),)
    with pytest.warns(UserWarning, match="is already registered as pytree node. Overwriting"):
        registered.register_dataclass(Point, field_names=["x"], drop_field_names=["y"])
    assert pytree.tree_leaves(Point(1, 2)) == [1]


@pytest.mark.parametrize(
    ("cls", "names", "said"),
    [
        (int, None, "as it is not a dataclass"),
        (Point, ["x"], "Missing fields in `field_names`: {'y'}"),
        (Point, ["x", "y", "q"], "Unexpected fields in `field_names`: {'q'}"),
    ],
)
def test_wrong_dataclasses(cls, names, said):
    with pytest.raises(ValueError, match=said):
        pytree.register_dataclass(cls, field_names=names)


def test_constants(registered):
    class Mode(str):
        pass

    registered.register_constant(Mode)
    spec = pytree.tree_structure([Mode("fast"), 1])
    assert pytree.treespec_pprint(spec) == "['fast', *]"
    assert pytree._is_constant_holder(spec.child(0)) and not pytree._is_constant_holder(spec)
    assert pytree._retrieve_constant(spec.child(0)) == "fast"
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(type("Same", (), {}))
    with pytest.raises(TypeError, match="non-default `__hash__`"):
        pytree.register_constant(list)


def test_structures_by_hand():
    leaf = pytree.treespec_leaf()
    assert pytree.treespec_tuple([leaf]) == pytree.tree_structure((1,))
    assert pytree.treespec_dict({"a": leaf}, b=leaf) == pytree.tree_structure({"a": 1, "b": 2})
    with pytest.raises(ValueError, match=r"Expected a tuple of TreeSpec values, got: \[1\]."):
        pytree.treespec_tuple([1])
    assert pytree.arg_tree_leaves(1, [2], a=3) == [1, 2, 3]
