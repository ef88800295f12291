"""The whole road: generate, embed, train, evaluate, one stage after another, each skipped where its result stands."""
