"""Forward kinematics alone: where the joints are when each is turned by so much, beside NumPy, torch and MuJoCo, on one core.

All do the same tree, the same bones and the same turns. Each begins with turns of the kind that it likes best, in the layout
that it likes best, and writes into memory that is there already; the rotations of the outermost joints, which turn nothing,
are left out.

- posegen: its own kernels `turn_rotation` and `place_child` over rows of frames, a sequence at a time, float32;
- NumPy: stacks of matrices, multiplied level by level of the tree, float32;
- torch by matrices: the same with `torch.matmul`; torch by rows: whole rows of frames, multiplied and added in place, joint by
  joint; both float32, in inference mode, on one thread;
- MuJoCo: `mj_kinematics` in C, called through its address from a compiled loop, so that Python costs it nothing. It knows
  only double precision and quaternions, and also finds where bodies have their mass.

``python -m benchmarks.kinematics`` prints nanoseconds a pose as JSON, each the best of several numbers of poses at a time.
"""
