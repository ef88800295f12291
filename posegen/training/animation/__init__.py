"""Motion made by a model: how a pose is told in numbers, the network that makes them of noise, and what plants the feet."""
