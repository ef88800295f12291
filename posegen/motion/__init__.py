"""Motion: joints, action labels and contacts of planned scenes, as pure functions of arrays without I/O."""
