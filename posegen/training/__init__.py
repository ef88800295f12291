"""The third stage: train models on generated motion.

:mod:`~posegen.training.train` is the entry point, :mod:`~posegen.training.settings` defines what a user may set, and each
module of :mod:`~posegen.training.tasks` is one task. :mod:`~posegen.training.setup` opens task, data and initial model,
:mod:`~posegen.training.data` reads clips, :mod:`~posegen.training.encoder` holds the network that tasks share,
:mod:`~posegen.training.hardware` chooses device and micro-batch, :mod:`~posegen.training.loop` trains,
:mod:`~posegen.training.measures` evaluates, and :mod:`~posegen.training.run_folder` reads and writes the folder of a run.
Trained models are stored, used and exported by :mod:`~posegen.training.trained_models`, and generate motion in
:mod:`~posegen.training.animate`.
"""
