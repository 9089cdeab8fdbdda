"""As much of libyang's Python binding as sonic-yang-mgmt uses to load models and to check a CONFIG_DB.

SONiC builds that binding with patches of its own against a C library that is no wheel. Here `oopt_gnpy_libyang`, whose
wheel has libyang inside, parses the models and judges the data; what that does not show, the tree of the schema, is
read from the same files by `pyang`. Written from what sonic-yang-mgmt calls.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import oopt_gnpy_libyang as library
import pyang.context
import pyang.error
import pyang.repository

_CHOICES = ("choice", "case")
_BUILTIN = "string"


class LibyangError(Exception):
    """Models that are none, or data that they refuse.

    Attributes:
        violations: path and sentence of each.
    """

    def __init__(self, violations: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{message} ({path})" for path, message in violations))
        self.violations = violations


class IOType:
    """Where a module is."""

    FILEPATH = "file"


class Type:
    """The type of a leaf."""

    LEAFREF = "leafref"

    def __init__(self, statement: Any) -> None:
        self._statement = statement

    def basename(self) -> str:
        """The built-in type that it is derived from."""
        found = self._statement.i_type_spec
        return found.name if found else _BUILTIN

    base = basename


class SNode:
    """A node of the schema, without the statements `uses` and `augment`: what they bring is there."""

    CONTAINER, LEAF, LEAFLIST, LIST, CHOICE, CASE = "container", "leaf", "leaf-list", "list", "choice", "case"

    def __init__(self, statement: Any) -> None:
        self._statement = statement

    def name(self) -> str:
        """As in CONFIG_DB."""
        return str(self._statement.arg)

    def children(self, types: Sequence[str] = ()) -> Iterator[SNode]:
        """Nodes of these kinds, those of all cases of a choice among them; none named: of all kinds."""
        for statement in self._statement.i_children:
            if statement.keyword in _CHOICES:
                yield from SNode(statement).children(types)
            elif statement.keyword in _NODES and (not types or statement.keyword in types):
                yield _NODES[statement.keyword](statement)


class SContainer(SNode):
    """A container."""


class SChoice(SNode):
    """A choice; `children` never yields one."""


class SLeaf(SNode):
    """A leaf."""

    def type(self) -> Type:
        """Its type."""
        return Type(self._statement.search_one("type"))

    def defaults(self) -> list[str]:
        """What it is where CONFIG_DB has nothing."""
        return [found.arg for found in self._statement.search("default")]


class SLeafList(SLeaf):
    """A list of values."""


class SList(SNode):
    """A list of rows."""

    def keys(self) -> Iterator[SLeaf]:
        """What a row's key consists of."""
        return (SLeaf(statement) for statement in self._statement.i_key)


_NODES: dict[str, type[SNode]] = {
    SNode.CONTAINER: SContainer, SNode.LEAF: SLeaf, SNode.LEAFLIST: SLeafList, SNode.LIST: SList}


class Module(SNode):
    """A module: its children are those at the top."""


class DNode:
    """Data that the models accept."""

    def free(self) -> None:
        """Nothing is held."""


class Context:
    """Modules, and data that they judge."""

    _FLAGS: ClassVar[Any] = library.ContextOptions.NoYangLibrary | library.ContextOptions.DisableSearchCwd
    _PARSE: ClassVar[Any] = (library.ParseOptions.Strict | library.ParseOptions.NoState
                             | library.ParseOptions.JsonStringDataTypes)
    _VALIDATE: ClassVar[Any] = library.ValidationOptions.NoState | library.ValidationOptions.MultiError

    def __init__(self, folder: str) -> None:
        """`folder` has what a module imports."""
        library.set_log_options(library.LogOptions.Store)
        self._context = library.Context(folder, self._FLAGS)
        self._schema = pyang.context.Context(pyang.repository.FileRepository(folder))
        self._texts: dict[str, str] = {}
        self._is_compiled = False

    def parse_module(self, path: str, kind: str, form: str) -> Module:
        """Load a module from its file, in YANG.

        Raises:
            LibyangError: it is none.
        """
        try:
            name = self._context.parse_module(Path(path), library.SchemaFormat.YANG).name
        except library.Error as error:
            raise self._error(path, error) from error
        self._schema.add_module(path, Path(path).read_text(encoding="utf-8"))
        self._is_compiled = False
        return self._module(name)

    def get_module(self, name: str) -> Module | None:
        """A module with its tree; None where it is not loaded.

        Raises:
            LibyangError: the tree of a module cannot be read.
        """
        if not self._is_compiled:
            self._compile()
        return self._module(name) if self._schema.get_module(name) else None

    def parse_data_mem(self, data: str, form: str, no_state: bool, strict: bool, json_string_datatypes: bool) -> DNode:
        """Judge data in JSON, where numbers may be strings; state and what is in no model is refused.

        Raises:
            LibyangError: not accepted.
        """
        self._context.clean_all_errors()
        try:
            self._context.parse_data(data, library.DataFormat.JSON, self._PARSE, self._VALIDATE)
        except library.Error as error:
            raise self._error("", error) from error
        return DNode()

    def destroy(self) -> None:
        """Nothing is held."""

    def _module(self, name: str) -> Module:
        return Module(self._schema.get_module(name))

    def _compile(self) -> None:
        self._schema.validate()
        wrong = [(str(place), pyang.error.err_to_str(tag, arguments)) for place, tag, arguments in self._schema.errors
                 if pyang.error.is_error(pyang.error.err_level(tag))]
        if wrong:
            raise LibyangError(wrong)
        self._is_compiled = True

    def _error(self, path: str, error: Exception) -> LibyangError:
        found = [(problem.data_path or problem.schema_path or path, " ".join(problem.message.split()))
                 for problem in self._context.errors() if problem.level == library.LogLevel.Error]
        return LibyangError(found or [(path, str(error))])
