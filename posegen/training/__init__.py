"""The third stage: models trained on what was generated.

Lightning runs the loop (:mod:`~posegen.training.loop`). Ours are what a model sees (:mod:`~posegen.training.features`, cached
by :mod:`~posegen.training.cache`), the choices for the machine (:mod:`~posegen.training.machine`), checkpoints from which a run
goes on as if never stopped (:mod:`~posegen.training.checkpoints`), and tasks, each one file (:mod:`~posegen.training.tasks`).
"""
