"""`torch.compile` looks at no code of the backend: a collective that C++ calls under a compiled frame would
be compiled, too, and no process group of Python's can be."""

from types import FunctionType

from torch._C._dynamo import eval_frame  # not torch._dynamo, which takes seconds to import


def leave_alone(*classes: type) -> None:
    """Run these classes' functions, and whatever they call, as they are.

    Torch's own business: a torch that does it otherwise goes on without, and compiled models fail there.
    """
    if not hasattr(eval_frame, "set_code_exec_strategy"):
        return
    skip = eval_frame._FrameAction.SKIP
    strategy = eval_frame._FrameExecStrategy(skip, skip)
    for function in (each for kind in classes for each in vars(kind).values()):
        if isinstance(function, FunctionType):
            eval_frame.set_code_exec_strategy(function.__code__, strategy)
