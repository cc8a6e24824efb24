"""Two texts compared by every algorithm, and a store evaluated against labels."""
