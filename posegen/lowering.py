"""How a kernel that other kernels call is compiled: not to machine code, but to be a part of theirs.

numba turns each function into machine code of its own, with all that it calls, optimised again. Where a kernel calls kernels
that call kernels, the innermost is compiled once for each that is above it, and but one of the results is ever run. Here a
called kernel stays what numba made of it first; the outermost one links all of them, optimises them together, and becomes
machine code once. That takes half of the time, and gives the same bits, because no option allows arithmetic to change.

It uses numba's own way to change how a function is compiled, a `pipeline_class`, and two of its private names: which libraries
a library links, and whether it is complete.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

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
        library, lowered = state.library, state.cr
        library._finalized = True  # Nothing is added any more; it is linked as it is.
        # numba knows a compiled function by an object that could be called from Python. This one has no code, and never is.
        name = lowered.fndesc.qualname
        known_by = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, name, 0, lowered.env, (library,))
        state.targetctx.insert_user_function(known_by, lowered.fndesc, [library, *library._linking_libraries])
        state.cr = lowered._replace(cfunc=known_by)
        return True


class PartCompiler(CompilerBase):
    """numba's compiler, with another last step."""

    def define_pipelines(self) -> list[Any]:
        """Give the usual steps, with the other one in the place of lowering."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [(_PartLowering if step is NativeLowering else step, told) for step, told in usual.passes]
        return [usual]
