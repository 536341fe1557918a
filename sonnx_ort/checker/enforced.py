"""Checks that an enforced model is its original plus guards, and what the guards hold.

A guard passes an operand on, or fails:

    flag -> Where(flag, Shape(A), [-code]) -> Reshape(A, .) -> A

After a node may stand what sets the signs of zeros, which gives the result of the node otherwise.

A shape with a negative number other than -1 fails in ONNX Runtime, so whoever reads the copy of A
knows what the flag says. Flags are compared as expressions of the values of the original.
"""

from collections.abc import Sequence, Set

import onnx
from onnx import AttributeProto, GraphProto, NodeProto

from sonnx_ort.checker.additions import require_bounded
from sonnx_ort.checker.expressions import NOTHING, Cases, Expressions, Facts, Tree, conjunction
from sonnx_ort.checker.graphs import (
    claimed_shapes,
    graphs_of,
    on_the_way,
    read_for,
    require_claim,
    with_unique_names,
)
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.names import needed, with_original_names
from sonnx_ort.checker.strict_reading import defined_in, elements_of, strict
from sonnx_ort.facts.sizes import Rejected, Size, require
from sonnx_ort.guards.guard import OLDEST_FORMAT, OPERATORS
from sonnx_ort.guards.zeros import SIGNED
from sonnx_ort.profile.element_type import ElementType

_SCALAR = "scalar"
_ELEMENTWISE = frozenset(
    [
        *("Add", "And", "Cast", "Equal", "Floor", "Greater", "IsNaN", "Less", "Mul", "Neg"),
        *("Not", "Or", "Sub", "Where"),
    ]
)


class Enforced:
    """An enforced model beside its original."""

    def __init__(self, original: Model, enforced: onnx.ModelProto) -> None:
        """Compare the models.

        Raises:
            Rejected: They differ in something else than guards.
        """
        self._original = original
        self._proto, _ = with_unique_names(strict(enforced))
        self._values = {n for g in graphs_of(original.proto.graph) for n in defined_in(g)}
        self._returned = [value.name for value in self._proto.graph.output]
        self._proto, checked = with_original_names(self._proto, self._values)
        self._reads: dict[str, dict[str, None]] = {}
        self._added: dict[str, NodeProto] = {}
        self._evaluated: dict[str, tuple[Tree, Cases]] = {}
        self._twins: dict[str, NodeProto] = {}
        one, other = original.proto, self._proto
        self._signless = {
            name: node
            for graph in graphs_of(one.graph)
            for node in graph.node
            for name in node.output
            if node.op_type in SIGNED and not node.domain
        }
        require(not one.functions and not other.functions, "functions are not compared")
        graphs = [*graphs_of(one.graph), *graphs_of(other.graph)]
        used = {"", *(node.domain for graph in graphs for node in graph.node)}
        versions = [_opset(model, used) for model in (one, other)]
        require(versions[0] == versions[1], "the versions of the opset differ")
        for graph in graphs_of(other.graph):
            for node in graph.node:
                if not self._values.intersection(node.output):
                    self._accept_added(node)
        enforcing = max(one.ir_version, OLDEST_FORMAT)
        expected = [enforcing] if self._added else [enforcing, one.ir_version]
        found = other.ir_version
        require(found in expected, f"the version of the format is {found}, not {enforcing}")
        self._claims = claimed_shapes(other.graph)
        for copy, name in checked.items():
            # A copy that a graph returns has the declaration of the value.
            self._claims.setdefault(name, []).extend(self._claims.pop(copy, ()))
        self._loops = loops = {n for n, node in self._added.items() if node.op_type == "Loop"}
        nodes = [node for graph in graphs_of(other.graph) for node in graph.node]
        # Of what a Loop has hidden no shape is known from what is in front of it.
        in_sight = (node for node in nodes if loops.isdisjoint(node.output))
        self._read = dict(read_for(in_sight))
        self._needed = needed(other.graph, loops)
        self._trusted: set[str] = set()
        self._open: set[str] = set()
        self._reasons: dict[str, str] = {}
        # ONNX Runtime holds what is declared of inputs, and facts rest on it.
        declared = [[value.type for value in model.graph.input] for model in (one, other)]
        require(declared[0] == declared[1], "the inputs are declared differently")
        self._compare_claims()
        for node in self._added.values():
            require_bounded(node, lambda name: self._evaluate(name)[0])
        self._compare_graphs(one.graph, other.graph)

    def facts_of(self, output: str) -> Cases:
        """What holds if the node of this output of the original runs.

        Raises:
            Rejected: It may not run, because nothing reads an element of it.
        """
        node = self._twins[output]
        require(output in self._needed, f"nothing but Shapes reads '{output}': it may not run")
        return conjunction(self._evaluate(name)[1] for name in node.input)

    def reads_of(self, value: str) -> Sequence[str]:
        """What nodes and outputs read in place of a value of the original: it, or copies."""
        return list(self._reads.get(value, ()))

    def facts_after(self, name: str) -> Cases:
        """What holds if a copy of a value is read.

        Raises:
            Rejected: It may not be computed, because nothing reads an element of it.
        """
        computed = name in self._needed or name not in self._added
        require(computed, f"nothing but Shapes reads '{name}': it may not be computed")
        return self._evaluate(name)[1]

    def _accept_added(self, node: NodeProto) -> None:
        known = not node.domain and node.op_type in OPERATORS
        require(known, f"a {'.'.join(filter(None, (node.domain, node.op_type)))} was added")
        # What nothing can read is no guard, and an omitted operand is no copy.
        require(all(node.output), f"a {node.op_type} without a result was added")
        self._added.update(dict.fromkeys(node.output, node))

    def _compare_graphs(self, one: GraphProto, other: GraphProto) -> None:
        inputs = [[value.name for value in graph.input] for graph in (one, other)]
        require(inputs[0] == inputs[1], f"the inputs {inputs[0]} became {inputs[1]}")
        self._compare_outputs(one, other)
        types = [[_typed(value) for value in (*g.input, *g.output)] for g in (one, other)]
        require(types[0] == types[1], "the types of inputs or outputs differ")
        stored = [
            {each.name: each.SerializeToString(deterministic=True) for each in g.initializer}
            for g in (one, other)
        ]
        require(stored[0] == stored[1], "the initializers differ")
        require(not one.sparse_initializer and not other.sparse_initializer, "a tensor is sparse")
        twins = {tuple(node.output): node for node in other.node}
        for node in one.node:
            outputs = tuple(node.output)
            require(outputs in twins, f"the {node.op_type} of {[*outputs]} is gone")
            self._compare_nodes(node, twins.pop(outputs))
        added = [node for node in twins.values() if not set(node.output) <= self._added.keys()]
        require(not added, f"nodes with outputs {[list(node.output) for node in added]} were added")

    def _compare_outputs(self, one: GraphProto, other: GraphProto) -> None:
        """A graph may return copies: its outputs are read by their places."""
        names = [[value.name for value in graph.output] for graph in (one, other)]
        whole = one is self._original.proto.graph
        text = f"the outputs {names[0]} became {self._returned if whole else names[1]}"
        same = names[0] == self._returned if whole else len(names[0]) == len(names[1])
        require(same, text)
        for wanted, given in zip(*names, strict=True):
            self._require_copy(given, wanted, text)

    def _compare_nodes(self, one: NodeProto, other: NodeProto) -> None:
        name = f"the {one.op_type} of {list(one.output)}"
        require((one.domain, one.op_type) == (other.domain, other.op_type), f"{name} is another")
        require(_attributes(one) == _attributes(other), f"{name} has other attributes")
        bodies, others = (
            {each.name: each.g for each in node.attribute if each.HasField("g")}
            for node in (one, other)
        )
        for key, body in bodies.items():
            self._compare_graphs(body, others[key])
        self._twins.update(dict.fromkeys(one.output, other))
        require(len(one.input) == len(other.input), f"{name} has other operands")
        for wanted, given in zip(one.input, other.input, strict=True):
            self._require_copy(given, wanted, f"{name} reads '{given}', not '{wanted}'")

    def _require_copy(self, given: str, wanted: str, text: str) -> None:
        try:
            tree, _ = self._evaluate(given)
        except Rejected as error:
            raise Rejected(f"{text}: {error}") from error
        reason = self._reasons.get(given, "they are different values")
        require(tree == ("value", wanted), f"{text}: {reason}")
        self._reads.setdefault(wanted, {})[given] = None

    def _compare_claims(self) -> None:
        """Reject claims of shapes that the original does not make and that are not established."""
        before = claimed_shapes(self._original.proto.graph)
        for name, claims in self._claims.items():
            require(name not in self._added, f"'{name}' is declared")
            for sizes in claims if name in self._values else ():
                if not any(_is_weaker(sizes, claim) for claim in before.get(name, ())):
                    known = self._original.knows("shape", name)
                    require(known, f"'{name}' is newly declared as {sizes}")
                    require_claim(name, sizes, self._shape(name))

    def _trust(self, value: str) -> None:
        """Reject a value on whose way the file claims a shape that is not established.

        ONNX Runtime believes such claims where it computes a Shape.
        """
        found = on_the_way(value, self._read, self._trusted)
        for name in found:
            for sizes in self._claims.get(name, ()):
                require_claim(name, sizes, self._shape(name))
        self._trusted.update(found)

    def _evaluate(self, name: str) -> tuple[Tree, Cases]:
        """A value as an expression, and what holds if it is read."""
        if name not in self._evaluated:
            require(name not in self._open, f"'{name}' is computed from itself")
            self._open.add(name)
            try:
                self._evaluated[name] = self._tree_and_cases(name)
            finally:
                self._open.remove(name)
        return self._evaluated[name]

    def _tree_and_cases(self, name: str) -> tuple[Tree, Cases]:
        node = self._added.get(name)
        if node is None:
            return ("value", name), [NOTHING]
        copy = self._signed(node) or self._copied(node, name)
        if copy is not None:
            return copy
        try:
            return self._calculated(node)
        except Rejected as error:
            raise Rejected(self._reasons.get(name, str(error))) from error

    def _calculated(self, node: NodeProto) -> tuple[Tree, Cases]:
        if node.op_type == "Constant":
            (attribute,) = node.attribute
            require(attribute.name == "value", "a constant is no tensor")
            array = elements_of(attribute.t)
            elements = tuple(array.ravel().tolist())
            return ("constant", str(array.dtype), array.shape, elements), [NOTHING]
        require(node.op_type != "If", "an If is no decision")
        if node.op_type == "Shape":
            self._trust(node.input[0])
        operands = [self._evaluate(name) for name in node.input]
        tree = (node.op_type, _attributes(node), *(tree for tree, _ in operands))
        if node.op_type == "Shape" and node.input[0] not in self._loops:
            # ONNX Runtime may know the shape, and then computes nothing in front of it.
            return tree, [NOTHING]
        return tree, conjunction(alternatives for _, alternatives in operands)

    def _copied(self, node: NodeProto, output: str) -> tuple[Tree, Cases] | None:
        """The operand that a node copies: it hides its shape, or gives it that of a decision."""
        if node.op_type == "Loop":
            count, _ = self._evaluate(node.input[0])
            require(count[0] == "constant" and count[3] == (0,), "a Loop is no copy")
            return self._evaluate(node.input[2 + list(node.output).index(output)])
        if node.op_type != "Reshape":
            return None
        tree, alternatives = self._evaluate(node.input[0])
        try:
            cases = self._decided(node.input[1])
        except Rejected as reason:
            self._reasons[output] = str(reason)
            return None
        own = ("Shape", (), tree)
        for base, facts in cases:
            equal = {("Equal", (), base, own), ("Equal", (), own, base)}
            compared = equal & facts.kept and self.equal_ranks(base, own, facts)
            if base != own and not compared and not self._is_known_equal(base, own):
                self._reasons[output] = "its shape may differ from that of the decision"
                return None
        return tree, conjunction([alternatives, [facts for _, facts in cases]])

    def _signed(self, node: NodeProto) -> tuple[Tree, Cases] | None:
        """The result of a node of the original to which a node gives the signs of its zeros."""
        for name in node.input if node.op_type in {"Where", "Mul"} else ():
            before = self._signless.get(name)
            if before is None:
                continue
            tree, alternatives = self._calculated(node)
            set_signs, operands = SIGNED[before.op_type], [("value", n) for n in before.input]
            forms = (
                set_signs(Expressions(self._original.version), ("value", name), operands, kind)
                for kind in (ElementType.FLOAT, ElementType.DOUBLE)
            )
            # As texts: -0 and 0 are equal as numbers.
            if repr(tree) in map(repr, forms):
                return ("value", name), alternatives
            self._reasons[node.output[0]] = f"'{name}' gets other signs of zeros"
        return None

    def _is_known_equal(self, one: Tree, other: Tree) -> bool:
        match (one, other):
            case (("Shape", (), ("value", a)), ("Shape", (), ("value", b))):
                known = all(self._original.knows("shape", name) for name in (a, b))
                return known and self._shape(a) == self._shape(b)
        return False

    def _decided(self, name: str) -> list[tuple[Tree, Facts]]:
        """The shape that a decision gives where it passes, and what holds then, in each case."""
        node = self._added.get(name, NodeProto())
        match node.op_type:
            case "Shape":
                tree, alternatives = self._evaluate(name)
                return [(tree, facts) for facts in alternatives]
            case "Identity":
                return self._decided(node.input[0])
            case "Where":
                return self._cases_of_where(node)
            case "If":
                return self._cases_of_if(node)
            case "Reshape":
                return self._held_by_rank(node)
        raise Rejected("it is no decision")

    def _cases_of_where(self, node: NodeProto) -> list[tuple[Tree, Facts]]:
        flag, alternatives = self._evaluate(node.input[0])
        kept = self._is_code(node.input[2])
        require(kept or self._is_code(node.input[1]), "it is no decision")
        flags = frozenset({flag})
        passed = Facts(kept=flags) if kept else Facts(broken=flags)
        found = []
        for base, facts in self._decided(node.input[1 if kept else 2]):
            for alternative in alternatives:
                length = self._length(flag, facts | alternative)
                # With a flag of no elements, nothing is left of a shape.
                fits = length in (_SCALAR, 1, self._length(base, facts | alternative))
                require(length is not None and fits, "the flag may have another length")
                held = passed
                if not self._has_elements(base):
                    # It has no place for a code. Then another shape of equal rank has none, too.
                    equal = (flag for flag in passed.kept if flag[:3] == ("Equal", (), base))
                    both = facts | alternative
                    held = Facts(frozenset(f for f in equal if self.equal_ranks(base, f[3], both)))
                found.append((base, facts | held | alternative))
        return found

    def _cases_of_if(self, node: NodeProto) -> list[tuple[Tree, Facts]]:
        flag, alternatives = self._evaluate(node.input[0])
        cases = []
        for attribute in node.attribute:
            outputs = attribute.g.output
            require(len(outputs) == 1, "it is no decision")
            passed = Facts(frozenset({flag})) if attribute.name == "then_branch" else NOTHING
            for base, facts in self._decided(outputs[0].name):
                cases += [(base, facts | passed | alternative) for alternative in alternatives]
        return cases

    def _held_by_rank(self, node: NodeProto) -> list[tuple[Tree, Facts]]:
        """A shape that is read after a decision about its own shape."""
        found = []
        for base, facts in self._decided(node.input[0]):
            for rank, held in self._decided(node.input[1]):
                require(rank == ("Shape", (), base), "it is no decision")
                found.append((base, facts | held))
        return found

    def _is_code(self, name: str) -> bool:
        node = self._added.get(name, NodeProto())
        tree, _ = self._evaluate(name) if node.op_type == "Constant" else ((), [])
        match tree:
            case ("constant", "int64", (1,), (int(code),)):
                return code < -1
        return False

    def _has_elements(self, shape: Tree) -> bool:
        """Whether the shape of a value is a vector with elements, so that it can hold a code."""
        match shape:
            case ("Shape", (), ("Shape", *_)):
                return True
            case ("Shape", (), ("value", name)):
                return bool(self.known_rank(name))
        return False

    def _length(self, tree: Tree, facts: Facts) -> object:
        """The number of elements of a vector; a shape of which it is the rank; None if unknown."""
        shape: Sequence[Size] | None = None
        match tree:
            case ("Shape", (), ("Shape", *_)):
                shape = [1]
            case ("Shape", (), ("value", name)):
                rank = self.known_rank(name)
                return tree if rank is None else rank
            case ("value", name) if self._original.knows("shape", name):
                shape = self._shape(name)
            case ("constant", _, dims, _):
                shape = dims
            case ("ReduceMin" | "ReduceMax" | "ReduceSum", (("keepdims", 0),), _):
                return _SCALAR
            case ("Gather", (("axis", 0),), _, indices):
                return self._length(indices, facts)
            case _ if tree[0] in _ELEMENTWISE:
                return self._length_of_each(tree, facts)
        if shape is None or len(shape) > 1:
            return None
        return shape[0] if shape else _SCALAR

    def _length_of_each(self, tree: Tree, facts: Facts) -> object:
        found = dict.fromkeys(self._length(operand, facts) for operand in tree[2:])
        lengths = [length for length in found if length != _SCALAR]
        equal = len(tree) == 4 and self.equal_ranks(tree[2], tree[3], facts)
        if equal:
            return self._length(tree[2], facts)
        if len(lengths) < 2:
            return next(iter(lengths), _SCALAR)
        longer = [length for length in lengths if length != 1]
        return longer[0] if len(longer) == 1 else None

    def _shape(self, name: str) -> tuple[Size, ...]:
        shape: tuple[Size, ...] = self._original.known("shape", name)
        return shape

    def known_rank(self, name: str) -> int | None:
        """The established rank of a value of the original; None if there is none."""
        return len(self._shape(name)) if self._original.knows("shape", name) else None

    def equal_ranks(self, one: Tree, other: Tree, facts: Facts) -> bool:
        """Whether two shapes are known to have as many sizes, so that Equal compares each."""
        match (one, other):
            case (("Shape", (), ("Shape", *_)), ("Shape", (), ("Shape", *_))):
                return True
            case (("Shape", (), ("value", a)), ("Shape", (), ("value", b))):
                rank = self.known_rank(a)
                if rank is not None and rank == self.known_rank(b):
                    return True
        ranks = [("Shape", (), one), ("Shape", (), other)]
        return bool({("Equal", (), *ranks), ("Equal", (), *ranks[::-1])} & facts.kept)


def _opset(model: onnx.ModelProto, used: Set[str]) -> list[tuple[str, int]]:
    """The versions of the domains that nodes have."""
    entries = (entry for entry in model.opset_import if entry.domain in used)
    return sorted((entry.domain, entry.version) for entry in entries)


def _is_weaker(sizes: Sequence[int | None], claim: Sequence[int | None]) -> bool:
    """Whether one claim says nothing that another does not say."""
    pairs = zip(sizes, claim, strict=False)
    return len(sizes) == len(claim) and all(size in (None, own) for size, own in pairs)


def _typed(value: onnx.ValueInfoProto) -> bytes:
    """The type of a value without its shape."""
    kind = onnx.TypeProto()
    kind.CopyFrom(value.type)
    kind.tensor_type.ClearField("shape")
    return bytes(kind.SerializeToString(deterministic=True))


def _attributes(node: NodeProto) -> Tree:
    """The attributes of a node without its bodies, in the order of their names."""
    found = []
    for each in sorted(node.attribute, key=lambda attribute: attribute.name):
        if each.type == AttributeProto.INT:
            found.append((each.name, each.i))
        elif each.type == AttributeProto.GRAPH:
            found.append((each.name, "a body"))
        else:
            found.append((each.name, each.SerializeToString(deterministic=True)))
    return tuple(found)
