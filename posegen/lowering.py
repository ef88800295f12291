"""How a kernel that other kernels call is compiled: not to machine code, but to be a part of theirs.

numba turns each function into machine code of its own, with all that it calls, optimised again. Where a kernel calls kernels
that call kernels, the innermost is compiled once for each that is above it, and but one of the results is ever run. Here a
called kernel stays what numba made of it first; the outermost one links all of them, optimises them together, and becomes
machine code once. That takes half of the time, and gives the same bits, because no option allows arithmetic to change.

It uses numba's own way to change how a function is compiled, a `pipeline_class`, and two of its private names: which libraries
a library links, and whether it is complete.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.compiler import CompilerBase, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from posegen.collecting import no_collecting
from posegen.lowered import Lowered, keep, kept, place_of

__all__ = ["PartCompiler"]


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowering that leaves optimising and machine code to whoever calls the function."""

    _name = "posegen_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function, and tell numba what its callers must link: its own library, and all that it needs itself."""
        state.flags.no_compile = True
        lower: Any = super().run_pass
        lower(state)
        state.library._finalized = True  # Nothing is added any more; it is linked as it is.
        lowered = state.cr
        state.cr = lowered._replace(cfunc=_introduced(state, lowered.fndesc, lowered.env, _libraries(state.library)))
        return True


class PartCompiler(CompilerBase):
    """numba's compiler, with another last step, whose result is kept for other processes."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, or read what became of it when it was compiled before."""
        place = place_of(func, self.state)
        found = place and kept(place, self.state.targetctx.codegen())
        if found:
            return _compiled(self.state, found)
        compile_anew: Any = super().compile_extra
        with no_collecting():  # numba makes millions of objects
            compiled = compile_anew(func)
        if place:
            libraries = _libraries(compiled.library)
            with suppress(OSError):  # Where the cache cannot be written, each process compiles for itself.
                keep(place, Lowered(compiled.fndesc, compiled.signature, compiled.environment, libraries))
        return compiled

    def define_pipelines(self) -> list[Any]:
        """Give the usual steps, with the other one in the place of lowering."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [(_PartLowering if step is NativeLowering else step, told) for step, told in usual.passes]
        return [usual]


def _libraries(library: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([library, *library._linking_libraries]))


def _introduced(state: Any, described: Any, environment: Any, libraries: tuple[Any, ...]) -> Any:
    """Tell numba of a lowered function, and what its callers must link: its own library, and all that it needs itself."""
    # numba knows a compiled function by an object that could be called from Python. This one has no code, and never is.
    name = described.qualname
    known_by = _dynfunc.make_function(described.lookup_module(), name, name, 0, environment, libraries)
    state.targetctx.insert_user_function(known_by, described, libraries)
    return known_by


def _compiled(state: Any, lowered: Lowered) -> Any:
    """What numba's compiler would give for a function that was lowered by another process."""
    known_by = _introduced(state, lowered.described, lowered.environment, lowered.libraries)
    return compile_result(
        typing_context=state.typingctx,
        target_context=state.targetctx,
        entry_point=known_by,
        library=lowered.libraries[0],
        environment=lowered.environment,
        fndesc=lowered.described,
        signature=lowered.signature,
        objectmode=False,
        lifted=(),
        reload_init=(),
    )
