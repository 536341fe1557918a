"""What the page of a report is shown of, in tests with a browser and without."""

MADE = """
    (float[n, 3] x, float[3] y, int32[2] i, int32[2] j, float[k] w)
        => (float[?, ?] z, int32[2] q, float[k] d) {
        [relu] r = Softplus(x)
        [ratio] z = Div(r, y)
        [quotient] q = Div(i, j)
        [difference] d = Sub(w, w)
        [sum] s = Add(w, w)
    }"""
"""Violated, decided in runs, proved, not asked for and of no rule: a node of each."""
