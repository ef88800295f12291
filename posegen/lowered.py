"""Lowered kernels on disk: what numba makes of a called kernel first is kept, and no other process makes it again.

Inferring types and lowering take four fifths of the time of compiling, and each process that calls another kernel than those
before it would do it once more for all that this one calls.

A file, written and read as numba does it with its own, tells of one kernel for one set of types. It names the kernel's module,
and those that must be linked with it, by their content.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import uuid
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile
from numba.core.environment import lookup_environment

from posegen.kernel_cache import cache_folder

__all__ = ["Lowered", "keep", "kept", "place_of"]

GLOBALS_OF_THIS_PROCESS = "numba.dynamic.globals"
ENVIRONMENT = "_ZN08NumbaEnv"
_SAME_SOURCES = _KEY = "lowered"


class Lowered(NamedTuple):
    """A lowered kernel: what numba knows of it, and the libraries that its callers link, its own first."""

    described: Any
    signature: Any
    environment: Any
    libraries: tuple[Any, ...]


_CONTENTS: dict[Any, str] = {}
"""How the files of the modules of libraries are named."""


def _name_functions_like_no_other_process() -> None:
    # numba tells functions of the same name apart by counting them, and those of several processes are linked here.
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(6), "little"))


_name_functions_like_no_other_process()
os.register_at_fork(after_in_child=_name_functions_like_no_other_process)


def place_of(function: Any, state: Any) -> Any:
    """Where a kernel is kept for the types that numba is about to compile it for; None if it may not be."""
    # The folder is named by the sources of posegen, so that others' kernels are not kept there, nor those within functions.
    if not function.__module__.startswith("posegen.") or function.__closure__ is not None:
        return None
    written = (function.__module__, function.__qualname__, function.__code__.co_firstlineno)
    types = [kind.key for kind in state.args]
    machine = (sys.implementation.cache_tag, state.flags.summary(), state.targetctx.codegen().magic_tuple())
    digest = hashlib.sha256(repr((written, types, machine)).encode()).hexdigest()[:32]
    # A file for each: numba's caches know no locks, and several kernels may be kept at once.
    return IndexDataCacheFile(str(_folder()), digest, _SAME_SOURCES)


def kept(place: Any, codegen: Any) -> Lowered | None:
    """Read a lowered kernel, if it was kept."""
    told = place.load(_KEY)
    if told is None:
        return None
    described, signature, environment, environments, modules = told
    try:
        libraries = tuple(_read(codegen, *module) for module in modules)
    except (FileNotFoundError, EOFError):
        return None
    libraries[0].posegen_keeps = environments  # which numba knows only as long as somebody holds them
    return Lowered(described, signature, environment, libraries)


def keep(place: Any, lowered: Lowered) -> None:
    """Keep a lowered kernel for other processes, unless it says what only this one knows."""
    if any(library._reload_init for library in lowered.libraries):
        return
    names = {name for library in lowered.libraries for name in _variables(library)}
    if any(name.startswith(GLOBALS_OF_THIS_PROCESS) for name in names):
        return
    found = [lookup_environment(name) for name in sorted(names) if name.startswith(ENVIRONMENT)]
    environments = [environment for environment in found if environment is not None]
    described = lowered.described
    described.typemap = described.calltypes = None  # as numba does it where it caches: nobody asks for them again
    _folder().mkdir(parents=True, exist_ok=True)
    modules = [(library.name, _write(library)) for library in lowered.libraries]
    place.save(_KEY, (described, lowered.signature, lowered.environment, environments, modules))


def _folder() -> Path:
    return cache_folder() / "lowered"


def _module_file(content: str) -> Path:
    return _folder() / f"{content}.bc"


@cache
def _read(codegen: Any, name: str, content: str) -> Any:
    # Once only, so that no module is linked twice where several kernels need it.
    bitcode = _module_file(content).read_bytes()
    if _digest(bitcode) != content:
        msg = f"{_module_file(content)} is not whole"  # as after a loss of power
        raise EOFError(msg)
    library = codegen.create_library(name)
    library._shared_module = llvm.parse_bitcode(bitcode)
    library._finalized = True
    _CONTENTS[library] = content
    return library


def _write(library: Any) -> str:
    if library not in _CONTENTS:
        bitcode = library._get_module_for_linking().as_bitcode()
        content = _digest(bitcode)
        # Several processes may write the same module at the same time.
        temporary = _module_file(f"{content}.{uuid.uuid4().hex}")
        temporary.write_bytes(bitcode)
        temporary.replace(_module_file(content))
        _CONTENTS[library] = content
    return _CONTENTS[library]


def _digest(bitcode: bytes) -> str:
    return hashlib.sha256(bitcode).hexdigest()[:32]


@cache
def _variables(library: Any) -> tuple[str, ...]:
    return tuple(variable.name for variable in library._get_module_for_linking().global_variables)
