"""Speed of forward kinematics alone, compared with NumPy, torch and MuJoCo on one core.

All implementations compute the same tree, bones and rotations. Each starts from rotations in its preferred representation and
layout and writes to allocated memory. The rotations of the outermost joints, which have no children, are omitted.

- posegen: its kernels `compose_rotations` and `place_child` over rows of frames, one sequence at a time, float32;
- NumPy: stacks of matrices, multiplied level by level of the tree, float32;
- torch by matrices: the same with `torch.matmul`; torch by rows: whole rows of frames, multiplied and added in place, joint by
  joint; both float32, in inference mode, on one thread;
- MuJoCo: `mj_kinematics` in C, called through its address from a compiled loop, without Python overhead. It has double
  precision and quaternions only, and also computes the centres of mass.

``python -m benchmarks.kinematics`` prints nanoseconds per pose as JSON, each at the best of several batch sizes.
"""
