"""What every stage uses: arrays, errors, random numbers, kernels, the skeleton, the machine, words of messages."""
