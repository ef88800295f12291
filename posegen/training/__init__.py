"""The third stage: models trained on what was generated.

:mod:`~posegen.training.train` is the stage, :mod:`~posegen.training.settings` what a user may choose, and a task is one file in
:mod:`~posegen.training.tasks`. Beneath them, by the way that data goes: :mod:`~posegen.training.clips` are what a model sees,
:mod:`~posegen.training.networks` what it is made of, :mod:`~posegen.training.hardware` what is chosen for the machine,
:mod:`~posegen.training.steps` the loop, which Lightning runs, :mod:`~posegen.training.measures` how well it does,
:mod:`~posegen.training.runs` its folder, from which a run goes on as if never stopped, and :mod:`~posegen.training.trained`
what becomes of it. :mod:`~posegen.training.generative` and :mod:`~posegen.training.sentences` are the parts of two tasks alone.
"""
