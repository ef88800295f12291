"""Compile a kernel that other kernels call only once, as a part of its outermost caller.

numba optimises and emits machine code for every function, together with everything that it calls, so that the innermost of
nested kernels is compiled once for each kernel above it. Here a called kernel is only lowered to LLVM code; the outermost
kernel links all of them and is compiled once. Measured on 2 cores: a cold start takes 78 s instead of 250 s. The results are
the same bits, because no option allows arithmetic to change.

This is the only file that uses numba's internals. It is imported only for the versions that it was tested with; see
:func:`posegen.foundations.kernels.is_linked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import base, typed_passes, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_NEEDLESS = {
    *(untyped_passes.WithLifting, untyped_passes.InlineClosureLikes, untyped_passes.RewriteSemanticConstants),
    *(untyped_passes.DeadBranchPrune, untyped_passes.RewriteDynamicRaises, untyped_passes.MakeFunctionToJitFunction),
    *(untyped_passes.FindLiterallyCalls, untyped_passes.LiteralUnroll, untyped_passes.LiteralPropagationSubPipelinePass),
    *(typed_passes.InlineOverloads, typed_passes.NopythonRewrites, typed_passes.NoPythonSupportedFeatureValidation),
    *(typed_passes.AnnotateTypes, typed_passes.DumpParforDiagnostics),
}


def link_into_callers(kernel: Any, compile_with: Callable[..., Any]) -> None:
    """Make kernels that call `kernel` link its lowered code instead of compiling it.

    Parameters
    ----------
    kernel : numba dispatcher
    compile_with : callable
        Called with numba options; returns another dispatcher of the same function.
    """
    part = cache(lambda: compile_with(no_cpython_wrapper=True, pipeline_class=_PartCompiler))
    any_value: Any = numba.types.unliteral

    def call_template(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        # If a caller passes a constant, numba would compile the kernel again for that value.
        return part().get_call_template(tuple(map(any_value, args)), {name: any_value(kind) for name, kind in named.items()})

    kernel.part = part
    kernel.get_call_template = call_template
    kernel.get_overload = lambda signature: part().get_overload(signature)


@contextmanager
def remembering() -> Iterator[None]:
    """Inside this context, numba types each operation once and asks for the size of each type once.

    It would type an operation anew wherever it sees it, and compile a module of LLVM for each size. Of 54 processor seconds for
    the kernels of the default config, this saves 11.
    """
    function_type: Any = numba.types.Function
    target: Any = base.BaseContext
    calls, sizes = dict[Any, Any](), dict[Any, Any]()
    type_call, size_of = function_type.get_call_type, target.get_abi_sizeof

    def remembered_call(function: Any, context: Any, args: Any, named: Any) -> Any:
        if named:
            return type_call(function, context, args, named)
        key = function, tuple(args)
        if key not in calls:
            calls[key] = type_call(function, context, args, named)
        return calls[key]

    def remembered_size(context: Any, kind: Any) -> Any:
        key = str(kind)
        if key not in sizes:
            sizes[key] = size_of(context, kind)
        return sizes[key]

    function_type.get_call_type, target.get_abi_sizeof = remembered_call, remembered_size
    try:
        yield
    finally:
        function_type.get_call_type, target.get_abi_sizeof = type_call, size_of


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower a function without emitting machine code."""

    _name = "posegen_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        lower: Any = super().run_pass
        lower(state)
        library, lowered = state.library, state.cr
        library._finalized = True  # callers link it as it is
        libraries = tuple(dict.fromkeys([library, *library._linking_libraries]))
        # numba identifies a compiled function by a callable object. This one has no machine code and is never called.
        described = lowered.fndesc
        name = described.qualname
        stub = _dynfunc.make_function(described.lookup_module(), name, name, 0, lowered.env, libraries)
        state.targetctx.insert_user_function(stub, described, libraries)
        state.cr = lowered._replace(cfunc=stub)
        return True


class _PartCompiler(CompilerBase):
    """The default nopython compiler without the steps that change nothing in a kernel, and with `_PartLowering` as last step.

    A kernel has no closures, array expressions or branches on types. One that needs such a step does not compile.
    """

    def define_pipelines(self) -> list[Any]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps = [(_PartLowering if step is NativeLowering else step, reason) for step, reason in usual.passes]
        usual.passes = [(step, reason) for step, reason in steps if step not in _NEEDLESS]
        return [usual]
