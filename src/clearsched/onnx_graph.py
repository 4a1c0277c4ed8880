"""An ONNX graph that is being made, of students and of networks; without the package `onnx` one line says so.

Of the operators only those of `OPSET` that a runtime's CPU has in double precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError

OPSET, IR_VERSION = 18, 10


class OnnxGraph:
    """Each method adds nodes and gives the name of what comes out of them.

    Raises:
        ClearschedError: the package `onnx` is not installed.
    """

    def __init__(self) -> None:
        try:
            import onnx  # noqa: F401
        except ImportError:
            raise ClearschedError(
                "export: the package onnx writes this format and is not installed: pip install 'clearsched[onnx]'"
            ) from None
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.given: list[Any] = []
        self.told: list[Any] = []

    def model(
        self, name: str, about: Sequence[str], properties: Mapping[str, str], more: Mapping[str, int] | None = None
    ) -> bytes:
        """The finished file, checked.

        Args:
            name: of the graph.
            about: lines for a reader.
            properties: its metadata.
            more: versions of the operators of other domains, by domain.
        """
        from onnx import checker, helper

        graph = helper.make_graph(self.nodes, name, self.given, self.told, list(self.constants.values()))
        opsets = {"": OPSET, **(more or {})}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
            producer_name="clearsched",
            doc_string="\n".join(about),
        )
        model.ir_version = IR_VERSION
        helper.set_model_props(model, dict(properties))
        checker.check_model(model, full_check=True)
        found: bytes = model.SerializeToString(deterministic=True)
        return found

    def take(self, name: str, type: Any, shape: Sequence[int | str] = ()) -> str:
        """An input; names in its shape stand for sizes that vary."""
        self.given.append(_value(name, type, shape))
        return name

    def tell(self, name: str, type: Any, shape: Sequence[int | str] = ()) -> str:
        """What comes out of the node of that name is an output."""
        self.told.append(_value(name, type, shape))
        return name

    def log1p(self, size: str) -> str:
        """double of double: log(1 + x), exact for small x too, of which ONNX has no function of its own."""
        whole = self.node("Add", [self.real(1.0), size])
        ratio = self.node("Div", [size, self.node("Sub", [whole, self.real(1.0)])])
        found = self.node("Mul", [self.node("Log", [whole]), ratio])
        return self.node("Where", [self.node("Equal", [whole, self.real(1.0)]), size, found])

    def double(self, name: str) -> str:
        return self.cast(name, np.float64)

    def cast(self, name: str, to: Any) -> str:
        """The same as another type."""
        return self.node("Cast", [name], to=_type(to))

    def real(self, value: float) -> str:
        return self.constant(np.float64(value))

    def whole(self, value: int) -> str:
        return self.constant(np.int64(value))

    def constant(self, value: Any) -> str:
        """The name of a constant; equal ones are one."""
        from onnx import numpy_helper

        array = np.asarray(value)
        key = (str(array.dtype), array.tobytes(), array.shape)
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, f"constant_{len(self.constants)}")
        name: str = self.constants[key].name
        return name

    def node(self, kind: str, given: Sequence[str], name: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node; the name of what comes out of it."""
        from onnx import helper

        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(given), [name], domain=domain, **attributes))
        return name


def _value(name: str, type: Any, shape: Sequence[int | str]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, _type(type), list(shape))


def _type(type: Any) -> int:
    from onnx import helper

    found: int = helper.np_dtype_to_tensor_dtype(np.dtype(type))
    return found
